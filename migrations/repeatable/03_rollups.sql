-- Rollups, updated in the transaction of every change.

create or replace function gmsi.summable(number double precision) returns double precision
  language sql immutable parallel safe return
  case when abs(number) < 1e-60 then 0 when abs(number) <= 1e6 then number end;
comment on function gmsi.summable(double precision) is 'A number as the rollups count it: null if it is too large to be a score, and 0 if it is almost 0. Otherwise a sum could overflow or underflow, which is an error and would stop the load.';

-- Recomputes the hours of a series from first_hour to last_hour, and their days. Sums that stay the same are not written.
-- With may_shrink, hours that lost their last headline are removed.
-- Runs with the rights of the user who changes headlines, so that user needs the right to write rollups, too.
create or replace function gmsi.roll_up(
  in_country text, in_topic text, in_match_type text, first_hour timestamptz, last_hour timestamptz, may_shrink boolean
) returns bigint
  -- A plan over all partitions looks expensive. Without these settings, PostgreSQL would make a new plan for each page, or compile
  -- it, which takes a quarter of a second. The generic plan chooses its partitions when it runs.
  language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  begins timestamptz := first_hour;
  ends timestamptz := last_hour + interval '1 hour';
  -- The origin for date_bin, which is faster here: date_trunc and "at time zone" look up the zone for each row.
  midnight constant timestamptz := '1900-01-01 00:00+00';
  hours bigint;
  days bigint;
begin
  -- A sum must include the rows of the transaction that held this lock before. The next statement takes its snapshot after this wait.
  perform gmsi.wait_for_turn(format('rollups of %s|%s|%s', in_country, in_topic, in_match_type));

  with held as materialized (
    select sentiment_type, hour from gmsi.hourly_sums
    where country = in_country and topic = in_topic and match_type = in_match_type
      and sentiment_type in ('directional', 'semantic_sentiment') and hour >= begins and hour < ends
  ), scored as (
    select date_bin(interval '1 hour', published_at, midnight) as hour, published_at, headline_id,
           gmsi.summable(directional_score) as directional, gmsi.summable(semantic_score) as semantic,
           coalesce(gmsi.summable(topic_probability), 0) as probability
    from gmsi.headlines
    where country = in_country and topic = in_topic and match_type = in_match_type
      and published_at >= begins and published_at < ends and retracted_at is null
    -- Without this, each number is computed again for each of its sums.
    offset 0
  ), hourly as (
    select hour, count(*) as all_count,
           -- Always in the same order: otherwise sums of the same numbers differ in their last digits.
           count(directional) as directional_count,
           sum(directional order by published_at, headline_id) as directional_sum,
           sum(abs(directional) order by published_at, headline_id) as directional_abs_sum,
           stddev_pop(directional order by published_at, headline_id) as directional_std,
           sum(probability order by published_at, headline_id) filter (where directional is not null)
             as directional_probability_sum,
           sum(directional * probability order by published_at, headline_id) as directional_weighted_sum,
           count(semantic) as semantic_count,
           sum(semantic order by published_at, headline_id) as semantic_sum,
           sum(abs(semantic) order by published_at, headline_id) as semantic_abs_sum,
           stddev_pop(semantic order by published_at, headline_id) as semantic_std,
           sum(probability order by published_at, headline_id) filter (where semantic is not null)
             as semantic_probability_sum,
           sum(semantic * probability order by published_at, headline_id) as semantic_weighted_sum
    from scored group by hour
  ), fresh as materialized (
    select model.sentiment_type, hour, all_count, model.headline_count, coalesce(model.sentiment_sum, 0) as sentiment_sum,
           coalesce(model.sentiment_abs_sum, 0) as sentiment_abs_sum, model.sentiment_std,
           coalesce(model.probability_sum, 0) as probability_sum, coalesce(model.weighted_sum, 0) as weighted_sum,
           (model.sentiment_type, hour) in (select held.sentiment_type, held.hour from held) as is_held
    from hourly
    cross join lateral (values
      ('directional', directional_count, directional_sum, directional_abs_sum, directional_std,
       directional_probability_sum, directional_weighted_sum),
      ('semantic_sentiment', semantic_count, semantic_sum, semantic_abs_sum, semantic_std,
       semantic_probability_sum, semantic_weighted_sum)
    ) as model (sentiment_type, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum,
                weighted_sum)
  ), written as (
    -- Most hours of a page are new, and "on conflict" costs twice as much. The lock above keeps others from inserting them.
    insert into gmsi.hourly_sums (
      country, topic, match_type, sentiment_type, hour, all_count, headline_count,
      sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
    select in_country, in_topic, in_match_type, sentiment_type, hour, all_count, headline_count,
           sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum
    from fresh where not is_held
    returning 1
  ), rewritten as (
    insert into gmsi.hourly_sums as kept (
      country, topic, match_type, sentiment_type, hour, all_count, headline_count,
      sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
    select in_country, in_topic, in_match_type, sentiment_type, hour, all_count, headline_count,
           sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum
    from fresh where is_held
    on conflict (country, topic, match_type, sentiment_type, hour) do update set
      all_count = excluded.all_count, headline_count = excluded.headline_count, sentiment_sum = excluded.sentiment_sum,
      sentiment_abs_sum = excluded.sentiment_abs_sum, sentiment_std = excluded.sentiment_std,
      probability_sum = excluded.probability_sum, weighted_sum = excluded.weighted_sum
    where (kept.all_count, kept.headline_count, kept.sentiment_sum, kept.sentiment_abs_sum, kept.sentiment_std, kept.probability_sum,
           kept.weighted_sum)
      is distinct from (excluded.all_count, excluded.headline_count, excluded.sentiment_sum, excluded.sentiment_abs_sum,
                        excluded.sentiment_std, excluded.probability_sum, excluded.weighted_sum)
    returning 1
  ), removed as (
    delete from gmsi.hourly_sums as kept
    where may_shrink and kept.country = in_country and kept.topic = in_topic and kept.match_type = in_match_type
      and kept.hour >= begins and kept.hour < ends
      and (kept.sentiment_type, kept.hour) not in (select fresh.sentiment_type, fresh.hour from fresh)
    returning 1
  )
  select (select count(*) from written) + (select count(*) from rewritten) + (select count(*) from removed) into hours;

  begins := date_trunc('day', first_hour, 'UTC');
  ends := date_trunc('day', last_hour, 'UTC') + interval '1 day';
  -- One pass, and "not in" below: before the first ANALYZE, a join or "not exists" is planned as a nested loop over whole years.
  with hourly as (
    select sentiment_type, date_bin(interval '1 day', hour, midnight) as begins_at, hour, all_count, headline_count,
           sentiment_abs_sum, sentiment_std, sentiment_mean, probability_sum, weighted_sum,
           sum(headline_count) over whole_day as day_count, sum(sentiment_sum) over whole_day as day_sum
    from gmsi.hourly_sums
    where country = in_country and topic = in_topic and match_type = in_match_type
      and sentiment_type in ('directional', 'semantic_sentiment') and hour >= begins and hour < ends
    window whole_day as (partition by sentiment_type, date_bin(interval '1 day', hour, midnight) order by hour
                         rows between unbounded preceding and unbounded following)
  ), fresh as materialized (
    select sentiment_type, (begins_at at time zone 'UTC')::date as day, sum(all_count) as all_count, day_count, day_sum,
           sum(sentiment_abs_sum order by hour) as sentiment_abs_sum,
           -- From the variance within each hour, and the distance of each hour's mean from the day's.
           sqrt(sum(headline_count * (sentiment_std ^ 2 + (sentiment_mean - day_sum / nullif(day_count, 0)) ^ 2) order by hour)
             / nullif(day_count, 0)) as sentiment_std,
           sum(probability_sum order by hour) as probability_sum, sum(weighted_sum order by hour) as weighted_sum
    from hourly group by sentiment_type, begins_at, day_count, day_sum
  ), written as (
    insert into gmsi.daily_sums as kept (
      country, topic, match_type, sentiment_type, day, all_count, headline_count,
      sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
    select in_country, in_topic, in_match_type, fresh.* from fresh
    on conflict (country, topic, match_type, sentiment_type, day) do update set
      all_count = excluded.all_count, headline_count = excluded.headline_count, sentiment_sum = excluded.sentiment_sum,
      sentiment_abs_sum = excluded.sentiment_abs_sum, sentiment_std = excluded.sentiment_std,
      probability_sum = excluded.probability_sum, weighted_sum = excluded.weighted_sum
    where (kept.all_count, kept.headline_count, kept.sentiment_sum, kept.sentiment_abs_sum, kept.sentiment_std, kept.probability_sum,
           kept.weighted_sum)
      is distinct from (excluded.all_count, excluded.headline_count, excluded.sentiment_sum, excluded.sentiment_abs_sum,
                        excluded.sentiment_std, excluded.probability_sum, excluded.weighted_sum)
    returning 1
  ), removed as (
    delete from gmsi.daily_sums as kept
    where may_shrink and kept.country = in_country and kept.topic = in_topic and kept.match_type = in_match_type
      and kept.day >= (begins at time zone 'UTC')::date and kept.day < (ends at time zone 'UTC')::date
      and (kept.sentiment_type, kept.day) not in (select fresh.sentiment_type, fresh.day from fresh)
    returning 1
  )
  select (select count(*) from written) + (select count(*) from removed) into days;
  return hours + days;
end $$;
comment on function gmsi.roll_up(text, text, text, timestamptz, timestamptz, boolean) is 'Recomputes some hours of a series in sentiment_hourly, and their days in sentiment_daily. Returns how many rows it wrote or removed.';

create or replace function gmsi.roll_up_changes() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Each kind of statement has its own transition tables; the others do not exist. The series are sorted, because roll_up
  -- locks them and a different order could deadlock.
  if tg_op = 'INSERT' then
    perform gmsi.roll_up(country, topic, match_type, date_trunc('hour', first, 'UTC'), date_trunc('hour', last, 'UTC'), false)
    from (select country, topic, match_type, min(published_at) as first, max(published_at) as last
          from new_rows group by 1, 2, 3 order by 1, 2, 3) as touched;
  elsif tg_op = 'UPDATE' then
    perform gmsi.roll_up(country, topic, match_type, date_trunc('hour', first, 'UTC'), date_trunc('hour', last, 'UTC'), true)
    from (select country, topic, match_type, min(published_at) as first, max(published_at) as last
          from (select country, topic, match_type, published_at from old_rows
                union all select country, topic, match_type, published_at from new_rows) as changed
          group by 1, 2, 3 order by 1, 2, 3) as touched;
  elsif tg_op = 'DELETE' then
    perform gmsi.roll_up(country, topic, match_type, date_trunc('hour', first, 'UTC'), date_trunc('hour', last, 'UTC'), true)
    from (select country, topic, match_type, min(published_at) as first, max(published_at) as last
          from old_rows group by 1, 2, 3 order by 1, 2, 3) as touched;
  else
    truncate gmsi.hourly_sums, gmsi.daily_sums;
  end if;
  return null;
end $$;
comment on function gmsi.roll_up_changes() is 'Updates the rollups in the transaction of every change to gmsi.headlines, whoever makes it. A statement-level trigger: one call per page.';

create or replace trigger roll_up_inserts after insert on gmsi.headlines
  referencing new table as new_rows for each statement execute function gmsi.roll_up_changes();
create or replace trigger roll_up_updates after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows for each statement execute function gmsi.roll_up_changes();
create or replace trigger roll_up_deletes after delete on gmsi.headlines
  referencing old table as old_rows for each statement execute function gmsi.roll_up_changes();
create or replace trigger roll_up_truncates after truncate on gmsi.headlines for each statement execute function gmsi.roll_up_changes();

create or replace function gmsi.series_to_roll_up(from_day date default null, to_day date default null)
  returns table (country text, topic text, match_type text, first_hour timestamptz, last_hour timestamptz)
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select country, topic, match_type, min(hour), max(hour)
  from (
    select country, topic, match_type, date_trunc('hour', unnest(array[min(published_at), max(published_at)]), 'UTC') as hour
    from gmsi.headlines
    where (from_day is null or published_at >= from_day::timestamp at time zone 'UTC')
      and (to_day is null or published_at < (to_day + 1)::timestamp at time zone 'UTC')
    group by 1, 2, 3
    union all
    -- Also hours that no longer have headlines.
    select country, topic, match_type, hour from gmsi.hourly_sums
    where (from_day is null or hour >= from_day::timestamp at time zone 'UTC')
      and (to_day is null or hour < (to_day + 1)::timestamp at time zone 'UTC')
    union all
    select country, topic, match_type, day::timestamp at time zone 'UTC' from gmsi.daily_sums
    where (from_day is null or day >= from_day) and (to_day is null or day <= to_day)
  ) as held
  group by 1, 2, 3 order by 1, 2, 3
$$;
comment on function gmsi.series_to_roll_up(date, date) is 'The series that have headlines or rollups on some days (all by default), with their first and last hour on these days.';

create or replace function gmsi.rebuild_rollups(from_day date default null, to_day date default null) returns bigint
  language sql set search_path = pg_catalog, pg_temp as $$
  select coalesce(sum(gmsi.roll_up(country, topic, match_type, first_hour, last_hour, true)), 0)::bigint
  from gmsi.series_to_roll_up(from_day, to_day)
$$;
comment on function gmsi.rebuild_rollups(date, date) is 'Recomputes the rollups of some days (all by default) from gmsi.headlines, and removes those without headlines. Returns how many rows were wrong. Runs in one transaction, so loads wait; gmsi check --repair rollups does the same one series at a time, so that loads can continue.';
