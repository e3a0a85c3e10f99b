-- Rollups: what the headlines of each hour and day add up to, kept in the transaction of every change.

create table gmsi.sentiment_hourly (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  hour timestamptz not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision not null,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision not null generated always as (sentiment_sum / headline_count) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, hour)
);
comment on table gmsi.sentiment_hourly is 'What the headlines of an hour add up to, for each model: the components that the service''s own index feed has (gmsi.gmsi_index). An hour without headlines has no row; retracted headlines do not count.';
comment on column gmsi.sentiment_hourly.country is 'Country.';
comment on column gmsi.sentiment_hourly.topic is 'Topic.';
comment on column gmsi.sentiment_hourly.match_type is 'Match type that the headlines were asked for with.';
comment on column gmsi.sentiment_hourly.sentiment_type is 'Model: directional or semantic_sentiment, as the service calls them.';
comment on column gmsi.sentiment_hourly.hour is 'Begin of the hour (UTC).';
comment on column gmsi.sentiment_hourly.headline_count is 'Headlines with a score of this model.';
comment on column gmsi.sentiment_hourly.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.sentiment_hourly.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.sentiment_hourly.sentiment_std is 'Standard deviation of their scores (of the population: 0 for one headline).';
comment on column gmsi.sentiment_hourly.probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_hourly.weighted_sum is 'Sum of score times topic_probability.';
comment on column gmsi.sentiment_hourly.sentiment_mean is 'Mean score: sentiment_sum / headline_count.';
comment on column gmsi.sentiment_hourly.weighted_mean is 'Mean score weighted by topic_probability: weighted_sum / probability_sum; null if no headline has a probability.';

create table gmsi.sentiment_daily (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  day date not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision not null,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision not null generated always as (sentiment_sum / headline_count) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, day)
);
comment on table gmsi.sentiment_daily is 'The same as gmsi.sentiment_hourly for each day (UTC).';
comment on column gmsi.sentiment_daily.country is 'Country.';
comment on column gmsi.sentiment_daily.topic is 'Topic.';
comment on column gmsi.sentiment_daily.match_type is 'Match type that the headlines were asked for with.';
comment on column gmsi.sentiment_daily.sentiment_type is 'Model: directional or semantic_sentiment, as the service calls them.';
comment on column gmsi.sentiment_daily.day is 'Day (UTC).';
comment on column gmsi.sentiment_daily.headline_count is 'Headlines with a score of this model.';
comment on column gmsi.sentiment_daily.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.sentiment_daily.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.sentiment_daily.sentiment_std is 'Standard deviation of their scores (of the population: 0 for one headline).';
comment on column gmsi.sentiment_daily.probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_daily.weighted_sum is 'Sum of score times topic_probability.';
comment on column gmsi.sentiment_daily.sentiment_mean is 'Mean score: sentiment_sum / headline_count.';
comment on column gmsi.sentiment_daily.weighted_mean is 'Mean score weighted by topic_probability: weighted_sum / probability_sum; null if no headline has a probability.';
-- Questions about all series over a few days; the key serves those about some series over any time.
create index sentiment_daily_by_day on gmsi.sentiment_daily (day);

create function gmsi.summable(number double precision) returns double precision
  language sql immutable parallel safe return
  case when abs(number) < 1e-60 then 0 when abs(number) <= 1e6 then number end;
comment on function gmsi.summable(double precision) is 'A number as the rollups count it. What is so large that it can be no score is left out (null), and what is as good as 0 is 0: a sum that overflows or underflows would be an error, and stop the load.';

-- Sums up the hours of a series from first_hour to last_hour again, and their days. Sums that stay the same are not written.
-- Hours that lost their last headline are removed, if rows may have gone.
create function gmsi.roll_up(
  in_country text, in_topic text, in_match_type text, first_hour timestamptz, last_hour timestamptz, may_shrink boolean
) returns bigint
  -- A plan over all partitions looks expensive enough to be compiled, which takes a quarter of a second a page.
  language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  begins timestamptz := first_hour;
  ends timestamptz := last_hour + interval '1 hour';
  hours bigint;
  days bigint;
begin
  -- A sum must see the rows of the transaction that summed before it: the next statement takes its snapshot after this wait.
  -- One of 1,024 locks: one transaction cannot hold a lock for each series (error 53200, at some 8,000).
  perform pg_advisory_xact_lock(hashtext('gmsi.roll_up'),
                                hashtext(format('%s|%s|%s', in_country, in_topic, in_match_type)) & 1023);

  with scored as (
    select date_trunc('hour', published_at, 'UTC') as hour, published_at, headline_id,
           gmsi.summable(directional_score) as directional, gmsi.summable(semantic_score) as semantic,
           coalesce(gmsi.summable(topic_probability), 0) as probability
    from gmsi.headlines
    where country = in_country and topic = in_topic and match_type = in_match_type
      and published_at >= begins and published_at < ends and retracted_at is null
  ), hourly as (
    select hour,
           -- In one order: otherwise sums of the same numbers differ in their last digits.
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
    select model.sentiment_type, hour, model.headline_count, model.sentiment_sum, model.sentiment_abs_sum,
           model.sentiment_std, model.probability_sum, model.weighted_sum
    from hourly
    cross join lateral (values
      ('directional', directional_count, directional_sum, directional_abs_sum, directional_std,
       directional_probability_sum, directional_weighted_sum),
      ('semantic_sentiment', semantic_count, semantic_sum, semantic_abs_sum, semantic_std,
       semantic_probability_sum, semantic_weighted_sum)
    ) as model (sentiment_type, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum,
                weighted_sum)
    where model.headline_count > 0
  ), written as (
    insert into gmsi.sentiment_hourly as kept (
      country, topic, match_type, sentiment_type, hour, headline_count,
      sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
    select in_country, in_topic, in_match_type, fresh.* from fresh
    on conflict (country, topic, match_type, sentiment_type, hour) do update set
      headline_count = excluded.headline_count, sentiment_sum = excluded.sentiment_sum,
      sentiment_abs_sum = excluded.sentiment_abs_sum, sentiment_std = excluded.sentiment_std,
      probability_sum = excluded.probability_sum, weighted_sum = excluded.weighted_sum
    where (kept.headline_count, kept.sentiment_sum, kept.sentiment_abs_sum, kept.sentiment_std, kept.probability_sum,
           kept.weighted_sum)
      is distinct from (excluded.headline_count, excluded.sentiment_sum, excluded.sentiment_abs_sum,
                        excluded.sentiment_std, excluded.probability_sum, excluded.weighted_sum)
    returning 1
  ), removed as (
    delete from gmsi.sentiment_hourly as kept
    where may_shrink and kept.country = in_country and kept.topic = in_topic and kept.match_type = in_match_type
      and kept.hour >= begins and kept.hour < ends
      and (kept.sentiment_type, kept.hour) not in (select fresh.sentiment_type, fresh.hour from fresh)
    returning 1
  )
  select (select count(*) from written) + (select count(*) from removed) into hours;

  begins := date_trunc('day', first_hour, 'UTC');
  ends := date_trunc('day', last_hour, 'UTC') + interval '1 day';
  -- One pass, with not in below: a join or not exists is a nested loop over whole years while nothing is analyzed yet.
  with hourly as (
    select sentiment_type, (hour at time zone 'UTC')::date as day, hour, headline_count, sentiment_abs_sum, sentiment_std,
           sentiment_mean, probability_sum, weighted_sum,
           sum(headline_count) over whole_day as day_count, sum(sentiment_sum) over whole_day as day_sum
    from gmsi.sentiment_hourly
    where country = in_country and topic = in_topic and match_type = in_match_type and hour >= begins and hour < ends
    window whole_day as (partition by sentiment_type, (hour at time zone 'UTC')::date order by hour
                         rows between unbounded preceding and unbounded following)
  ), fresh as materialized (
    select sentiment_type, day, day_count, day_sum, sum(sentiment_abs_sum order by hour) as sentiment_abs_sum,
           -- The spread within the hours, and that of the hours' means around the day's.
           sqrt(sum(headline_count * (sentiment_std ^ 2 + (sentiment_mean - day_sum / day_count) ^ 2) order by hour)
             / day_count) as sentiment_std,
           sum(probability_sum order by hour) as probability_sum, sum(weighted_sum order by hour) as weighted_sum
    from hourly group by sentiment_type, day, day_count, day_sum
  ), written as (
    insert into gmsi.sentiment_daily as kept (
      country, topic, match_type, sentiment_type, day, headline_count,
      sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
    select in_country, in_topic, in_match_type, fresh.* from fresh
    on conflict (country, topic, match_type, sentiment_type, day) do update set
      headline_count = excluded.headline_count, sentiment_sum = excluded.sentiment_sum,
      sentiment_abs_sum = excluded.sentiment_abs_sum, sentiment_std = excluded.sentiment_std,
      probability_sum = excluded.probability_sum, weighted_sum = excluded.weighted_sum
    where (kept.headline_count, kept.sentiment_sum, kept.sentiment_abs_sum, kept.sentiment_std, kept.probability_sum,
           kept.weighted_sum)
      is distinct from (excluded.headline_count, excluded.sentiment_sum, excluded.sentiment_abs_sum,
                        excluded.sentiment_std, excluded.probability_sum, excluded.weighted_sum)
    returning 1
  ), removed as (
    delete from gmsi.sentiment_daily as kept
    where may_shrink and kept.country = in_country and kept.topic = in_topic and kept.match_type = in_match_type
      and kept.day >= (begins at time zone 'UTC')::date and kept.day < (ends at time zone 'UTC')::date
      and (kept.sentiment_type, kept.day) not in (select fresh.sentiment_type, fresh.day from fresh)
    returning 1
  )
  select (select count(*) from written) + (select count(*) from removed) into days;
  return hours + days;
end $$;
revoke execute on function gmsi.roll_up(text, text, text, timestamptz, timestamptz, boolean) from public;
comment on function gmsi.roll_up(text, text, text, timestamptz, timestamptz, boolean) is 'Sums up some hours of a series again in sentiment_hourly, and their days in sentiment_daily. Returns how many of their rows it wrote or removed.';

create function gmsi.roll_up_changes() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- Each kind of statement has its own transition tables; the others do not exist.
  changed text := case tg_op
    when 'INSERT' then 'new_rows'
    when 'DELETE' then 'old_rows'
    else '(select country, topic, match_type, published_at from old_rows
           union all select country, topic, match_type, published_at from new_rows) as changed' end;
  touched record;
begin
  if tg_op = 'TRUNCATE' then
    truncate gmsi.sentiment_hourly, gmsi.sentiment_daily;
    return null;
  end if;
  for touched in execute
    'select country, topic, match_type, min(published_at) as first, max(published_at) as last
     from ' || changed || ' group by 1, 2, 3 order by 1, 2, 3'
  loop
    perform gmsi.roll_up(touched.country, touched.topic, touched.match_type, date_trunc('hour', touched.first, 'UTC'),
                         date_trunc('hour', touched.last, 'UTC'), tg_op <> 'INSERT');
  end loop;
  return null;
end $$;
comment on function gmsi.roll_up_changes() is 'Keeps the rollups right in the transaction of every change to gmsi.headlines, whoever makes it. Statement-level: one call a page.';

create trigger roll_up_inserts after insert on gmsi.headlines
  referencing new table as new_rows for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_updates after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_truncates after truncate on gmsi.headlines for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_deletes after delete on gmsi.headlines
  referencing old table as old_rows for each statement execute function gmsi.roll_up_changes();

create function gmsi.series_to_roll_up(from_day date default null, to_day date default null)
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
    -- Also hours that have no headlines any more.
    select country, topic, match_type, hour from gmsi.sentiment_hourly
    where (from_day is null or hour >= from_day::timestamp at time zone 'UTC')
      and (to_day is null or hour < (to_day + 1)::timestamp at time zone 'UTC')
    union all
    select country, topic, match_type, day::timestamp at time zone 'UTC' from gmsi.sentiment_daily
    where (from_day is null or day >= from_day) and (to_day is null or day <= to_day)
  ) as held
  group by 1, 2, 3 order by 1, 2, 3
$$;
comment on function gmsi.series_to_roll_up(date, date) is 'The series that have headlines or rollups on some days (all by default), with their first and last hour there.';

create function gmsi.rebuild_rollups(from_day date default null, to_day date default null) returns bigint
  language sql set search_path = pg_catalog, pg_temp as $$
  select coalesce(sum(gmsi.roll_up(country, topic, match_type, first_hour, last_hour, true)), 0)::bigint
  from gmsi.series_to_roll_up(from_day, to_day)
$$;
revoke execute on function gmsi.rebuild_rollups(date, date) from public;
comment on function gmsi.rebuild_rollups(date, date) is 'Sums up the rollups of some days (all by default) again from gmsi.headlines, and removes those without headlines. Returns how many rows were wrong. One transaction: gmsi rollup --rebuild does the same series by series, and lets loads pass.';

select gmsi.rebuild_rollups();
