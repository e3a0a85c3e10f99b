-- For analysts: rollups, updated in the transaction of every change; which days are loaded; how the loads went.

create table gmsi.hourly_sums (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  hour timestamptz not null,
  all_count integer not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision generated always as (sentiment_sum / nullif(headline_count, 0)) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, hour)
);
comment on table gmsi.hourly_sums is 'The rows of gmsi.sentiment_hourly.';
comment on column gmsi.hourly_sums.hour is 'Start of the hour (UTC).';

create table gmsi.daily_sums (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  day date not null,
  all_count integer not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision generated always as (sentiment_sum / nullif(headline_count, 0)) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, day)
);
comment on table gmsi.daily_sums is 'The rows of gmsi.sentiment_daily.';
comment on column gmsi.daily_sums.day is 'Day (UTC).';
-- For queries about all series over a few days. The primary key serves queries about some series over any time.
create index daily_sums_by_day on gmsi.daily_sums (day);

-- The rollups as analysts read them: the sums, and whether their days are whole.

create function gmsi.state_of(
  days daterange, covered datemultirange, settling datemultirange, partial datemultirange, has_rows boolean
) returns text language sql immutable parallel safe return
  case when covered @> days then 'covered'
       when covered + settling @> days then 'settling'
       when has_rows or days && (covered + settling + partial) then 'partial'
       else 'not loaded' end;
comment on function gmsi.state_of(daterange, datemultirange, datemultirange, datemultirange, boolean) is 'How completely some days of a series are loaded, in the words that all views use. covered: completely loaded and settled. settling: completely loaded as of the last sync, but some of the days were not over then or may still change. partial: some headlines are loaded, others may be missing. not loaded: nothing is loaded.';

-- Plain SQL without "set", so that PostgreSQL inlines it.
create function gmsi.series_days(feed text, country text, topic text, ticker text, match_type text, variant text)
  returns table (first_day date, last_day date, covered datemultirange, settling datemultirange, partial datemultirange)
  language sql stable parallel safe rows 1 as $$
  select least(lower(covered), first_day), greatest(upper(covered) - 1, last_day), coalesce(covered, '{}'),
         coalesce(settling, '{}'), coalesce(partial, '{}')
  from (
    select min(w.first_day) as first_day, max(w.last_day) as last_day,
           range_agg(w.days) filter (where w.state = 'drained' and w.last_day >= w.first_unsettled) as settling,
           range_agg(w.days) filter (where w.state <> 'drained' and (w.state = 'draining' or w.pages > 0 or w.is_compared)) as partial,
           (select c.days from gmsi.coverage c
            where c.feed = series_days.feed and c.country = series_days.country and c.topic = series_days.topic
              and c.ticker = series_days.ticker and c.match_type = series_days.match_type and c.variant = series_days.variant) as covered
    from gmsi.windows w
    where w.feed = series_days.feed and w.country = series_days.country and w.topic = series_days.topic
      and w.ticker = series_days.ticker and w.match_type = series_days.match_type and w.variant = series_days.variant
  ) as asked
$$;
comment on function gmsi.series_days(text, text, text, text, text, text) is 'Returns the first and last day (UTC) that was ever requested for a series (null if none was), and its covered, settling and partly loaded days, for gmsi.state_of.';

create view gmsi.sentiment_hourly as
  select s.*, gmsi.state_of(daterange((s.hour at time zone 'UTC')::date, (s.hour at time zone 'UTC')::date, '[]'),
                            d.covered, d.settling, d.partial, true) as state
  from gmsi.hourly_sums s
  left join lateral gmsi.series_days('gmsi-headlines', s.country, s.topic, '', s.match_type, '') as d on true;
comment on view gmsi.sentiment_hourly is 'Sums over the headlines of each hour, for each model, with the same components as the service''s own index feed (gmsi.gmsi_index). An hour without headlines has no row; retracted headlines do not count.';

create view gmsi.sentiment_daily as
  select s.*, gmsi.state_of(daterange(s.day, s.day, '[]'), d.covered, d.settling, d.partial, true) as state
  from gmsi.daily_sums s
  left join lateral gmsi.series_days('gmsi-headlines', s.country, s.topic, '', s.match_type, '') as d on true;
comment on view gmsi.sentiment_daily is 'The same as gmsi.sentiment_hourly for each day (UTC).';

do $$
declare
  part text;
  note record;
begin
  foreach part in array array['hourly', 'daily'] loop
    for note in
      select * from (values
        ('country', 'Country.'),
        ('topic', 'Topic.'),
        ('match_type', 'Match type that the headlines were requested with.'),
        ('sentiment_type', 'Model: directional or semantic_sentiment, as the service calls them. Every hour and day has a row for each.'),
        ('all_count', 'Number of all headlines, with or without a score of this model.'),
        ('headline_count', 'Number of headlines with a score of this model.'),
        ('sentiment_sum', 'Sum of their scores; 0 if there are none.'),
        ('sentiment_abs_sum', 'Sum of the absolute values of their scores.'),
        ('sentiment_std', 'Population standard deviation of their scores (0 for one headline, null for none).'),
        ('probability_sum', 'Sum of their topic_probability; headlines without one count as 0.'),
        ('weighted_sum', 'Sum of score times topic_probability.'),
        ('sentiment_mean', 'Mean score: sentiment_sum / headline_count; null if no headline has one.'),
        ('weighted_mean', 'Mean score weighted by topic_probability: weighted_sum / probability_sum; null if no headline has a probability.')
      ) as notes (name, says)
    loop
      execute format('comment on column gmsi.%I.%I is %L', part || '_sums', note.name, note.says);
      execute format('comment on column gmsi.%I.%I is %L', 'sentiment_' || part, note.name, note.says);
    end loop;
    execute format('comment on column gmsi.%I.state is %L', 'sentiment_' || part,
      'How completely the day is loaded (gmsi.state_of): covered, settling or partial. A partial day has headlines, but others may be missing: it may not even have been requested.');
  end loop;
end $$;
comment on column gmsi.sentiment_hourly.hour is 'Start of the hour (UTC).';
comment on column gmsi.sentiment_daily.day is 'Day (UTC).';

create function gmsi.summable(number double precision) returns double precision
  language sql immutable parallel safe return
  case when abs(number) < 1e-60 then 0 when abs(number) <= 1e6 then number end;
comment on function gmsi.summable(double precision) is 'A number as the rollups count it: null if it is too large to be a score, and 0 if it is almost 0. Otherwise a sum could overflow or underflow, which is an error and would stop the load.';

-- One expression of immutable functions, so that PostgreSQL inlines it. The characters are listed, because classes such as
-- [[:punct:]] depend on the database's locale. After they are removed, the cast to bytea meets no backslash. Removes hyphens within
-- words and numbers, and points that are not decimal points; then all punctuation except what distinguishes numbers: a sign before
-- a number, a point or comma within it, % and currencies. Without lookbehind, which takes four times as long.
create function gmsi.story_key(headline text) returns uuid language sql immutable parallel safe return
  encode(substring(sha256(nullif(btrim(
    regexp_replace(
      regexp_replace(
        regexp_replace(translate(lower(normalize(headline, NFKC)), U&'\2010\2011\2012\2013\2212', '-----'),
                       '\s[-—|]\s+[^-—|\s+±<>$£¥€0-9]\S*(?:\s+[^-—|\s]\S*){0,2}\s*$', '', 21),
        '([a-z0-9])-|([a-z])[.,]|[.,]{2,}', '\1\2 ', 'g'),
      '(?:[-+±<>](?![$£¥€]?\.?[0-9])|[.,](?![0-9])|[\u0001-#&-*/:;=?@[-`{-\u00a2\u00a4\u00a6-\u00b0\u00b2-\u00bf'
        || '\u2000-\u206f\u3000-\u3003\u3008-\u3020])+', ' ', 'g')), '')::bytea) for 16), 'hex')::uuid;
comment on function gmsi.story_key(text) is 'Returns the same key for headlines that say the same. Ignores case, punctuation, spaces, the form of characters (NFKC), and the name of an outlet at the end ('' - Reuters'', '' | The Wall Street Journal'': up to three words that do not begin with a number, after at least 20 characters). Numbers keep their signs, points, percent signs and currencies: 0.3% and -0.3% are two stories. Null if there is no text. Count distinct keys within a day, country and topic: the same words on another day can be another story.';

-- Recomputes the hours of a series from first_hour to last_hour, and their days. Sums that stay the same are not written.
-- With may_shrink, hours that lost their last headline are removed.
-- Runs with the rights of the user who changes headlines, so that user needs the right to write rollups, too.
create function gmsi.roll_up(
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
  -- One of 1,024 locks, because one transaction cannot hold a lock for each series (error 53200, at about 8,000).
  perform pg_advisory_xact_lock(hashtext('gmsi.roll_up'),
                                hashtext(format('%s|%s|%s', in_country, in_topic, in_match_type)) & 1023);

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

create function gmsi.roll_up_changes() returns trigger
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
create trigger roll_up_inserts after insert on gmsi.headlines
  referencing new table as new_rows for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_updates after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_deletes after delete on gmsi.headlines
  referencing old table as old_rows for each statement execute function gmsi.roll_up_changes();
create trigger roll_up_truncates after truncate on gmsi.headlines for each statement execute function gmsi.roll_up_changes();

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

create function gmsi.rebuild_rollups(from_day date default null, to_day date default null) returns bigint
  language sql set search_path = pg_catalog, pg_temp as $$
  select coalesce(sum(gmsi.roll_up(country, topic, match_type, first_hour, last_hour, true)), 0)::bigint
  from gmsi.series_to_roll_up(from_day, to_day)
$$;
comment on function gmsi.rebuild_rollups(date, date) is 'Recomputes the rollups of some days (all by default) from gmsi.headlines, and removes those without headlines. Returns how many rows were wrong. Runs in one transaction, so loads wait; gmsi repair --rollups does the same one series at a time, so that loads can continue.';

create view gmsi.coverage_by_day as
  select feed, country, topic, ticker, match_type, variant, day::date as day,
         gmsi.state_of(daterange(day::date, day::date, '[]'), covered, settling, partial,
                       feed = 'gmsi-headlines' and exists (
                         select from gmsi.daily_sums s
                         where (s.country, s.topic, s.match_type) = (series.country, series.topic, series.match_type)
                           and s.sentiment_type = 'directional' and s.day = each.day::date)) as state
  from (
    select feed, country, topic, ticker, match_type, variant from gmsi.coverage
    union
    select feed, country, topic, ticker, match_type, variant from gmsi.windows
  ) as series
  cross join lateral gmsi.series_days(feed, country, topic, ticker, match_type, variant)
  cross join lateral generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as each (day);
comment on view gmsi.coverage_by_day is 'One row per series and day (UTC), from the first day that was ever requested to the last, with its state. Left-join it to tell a day without news from one that was never loaded. Filter by series, because there are many days.';
comment on column gmsi.coverage_by_day.day is 'Day (UTC).';
comment on column gmsi.coverage_by_day.state is 'covered, settling, partial or not loaded (gmsi.state_of).';

create view gmsi.coverage_gaps as
  select series.feed, series.country, series.topic, series.ticker, series.match_type, series.variant,
         lower(part.days) as from_day, upper(part.days) - 1 as to_day, upper(part.days) - lower(part.days) as days,
         part.state, part.window_id, part.last_error
  from (
    select feed, country, topic, ticker, match_type, variant from gmsi.coverage
    union
    select feed, country, topic, ticker, match_type, variant from gmsi.windows
  ) as series
  cross join lateral gmsi.series_days(feed, country, topic, ticker, match_type, variant) as d
  cross join lateral unnest(datemultirange(daterange(d.first_day, d.last_day, '[]')) - d.covered) as gap
  cross join lateral (
    -- A gap is split by the windows of its days; days without a window stay as they are.
    select gap * w.days as days, w.window_id, w.state, w.last_error
    from gmsi.windows w
    where (w.feed, w.country, w.topic, w.ticker, w.match_type, w.variant)
        = (series.feed, series.country, series.topic, series.ticker, series.match_type, series.variant)
      and w.days && gap and w.state <> 'drained'
    union all
    select rest, null, case when d.settling @> rest then 'settling' else 'not loaded' end, null
    from (select datemultirange(gap) - coalesce((
      select range_agg(w.days) from gmsi.windows w
      where (w.feed, w.country, w.topic, w.ticker, w.match_type, w.variant)
          = (series.feed, series.country, series.topic, series.ticker, series.match_type, series.variant)
        and w.days && gap and w.state <> 'drained'), '{}')) as free (days)
    cross join lateral (
      select unnest(free.days * d.settling) union all select unnest(free.days - d.settling)) as rests (rest)
  ) as part;
comment on view gmsi.coverage_gaps is 'Days (UTC), from the first that was ever requested to the last, that are not completely loaded and settled, with the window that is to load them.';
comment on column gmsi.coverage_gaps.from_day is 'First day of the gap (UTC).';
comment on column gmsi.coverage_gaps.to_day is 'Last day of the gap (UTC), inclusive.';
comment on column gmsi.coverage_gaps.days is 'Number of days.';
comment on column gmsi.coverage_gaps.state is 'State of the window that is to load these days (pending, draining, failed, refused). Without such a window: settling, if they are loaded and a sync loads them again, because they were not over or may still change; not loaded, if they were never requested, but days before and after them were.';
comment on column gmsi.coverage_gaps.window_id is 'That window; null if there is none.';
comment on column gmsi.coverage_gaps.last_error is 'Why its last attempt failed, if it did.';

create view gmsi.sentiment_by_day as
  select c.country, names.name as country_name, c.topic, c.match_type, c.day, c.state,
         case when c.state <> 'not loaded' then coalesce(d.all_count, 0) end as headline_count,
         case when c.state <> 'not loaded' then coalesce(d.headline_count, 0) end as directional_count,
         case when c.state <> 'not loaded' then coalesce(d.sentiment_sum, 0) end as directional_sum,
         d.sentiment_mean as directional_mean,
         case when c.state <> 'not loaded' then coalesce(d.probability_sum, 0) end as directional_probability_sum,
         case when c.state <> 'not loaded' then coalesce(d.weighted_sum, 0) end as directional_weighted_sum,
         d.weighted_mean as directional_weighted_mean,
         case when c.state <> 'not loaded' then coalesce(s.headline_count, 0) end as semantic_count,
         case when c.state <> 'not loaded' then coalesce(s.sentiment_sum, 0) end as semantic_sum,
         s.sentiment_mean as semantic_mean,
         case when c.state <> 'not loaded' then coalesce(s.probability_sum, 0) end as semantic_probability_sum,
         case when c.state <> 'not loaded' then coalesce(s.weighted_sum, 0) end as semantic_weighted_sum,
         s.weighted_mean as semantic_weighted_mean
  from gmsi.coverage_by_day c
  left join gmsi.countries names using (country)
  left join gmsi.daily_sums d
    on (d.country, d.topic, d.match_type, d.day) = (c.country, c.topic, c.match_type, c.day) and d.sentiment_type = 'directional'
  left join gmsi.daily_sums s
    on (s.country, s.topic, s.match_type, s.day) = (c.country, c.topic, c.match_type, c.day) and s.sentiment_type = 'semantic_sentiment'
  where c.feed = 'gmsi-headlines';
comment on view gmsi.sentiment_by_day is 'One row per country, topic, match type and day (UTC), without gaps, with both models: from the first day that was ever requested to the last. Filter by country and topic, because there are many days. A mean over several days is sum(directional_sum) / sum(directional_count), not the mean of directional_mean.';
comment on column gmsi.sentiment_by_day.country is 'Country.';
comment on column gmsi.sentiment_by_day.country_name is 'Its name, as the service lists it; null if it lists none.';
comment on column gmsi.sentiment_by_day.topic is 'Topic.';
comment on column gmsi.sentiment_by_day.match_type is 'Match type that the headlines were requested with.';
comment on column gmsi.sentiment_by_day.day is 'Day (UTC).';
comment on column gmsi.sentiment_by_day.state is 'How completely the day is loaded (gmsi.state_of): covered; settling, if it may still change; partial, if headlines may be missing; not loaded: then counts, sums and means are null.';
comment on column gmsi.sentiment_by_day.headline_count is 'Number of headlines, with or without scores: 0 if the day is loaded and had none.';
comment on column gmsi.sentiment_by_day.directional_count is 'Number of headlines with a directional score.';
comment on column gmsi.sentiment_by_day.directional_sum is 'Sum of their directional scores.';
comment on column gmsi.sentiment_by_day.directional_mean is 'Mean directional score: directional_sum / directional_count; null if no headline has one.';
comment on column gmsi.sentiment_by_day.directional_probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_by_day.directional_weighted_sum is 'Sum of directional score times topic_probability.';
comment on column gmsi.sentiment_by_day.directional_weighted_mean is 'Mean directional score weighted by topic_probability: directional_weighted_sum / directional_probability_sum.';
comment on column gmsi.sentiment_by_day.semantic_count is 'Number of headlines with a semantic score.';
comment on column gmsi.sentiment_by_day.semantic_sum is 'Sum of their semantic scores.';
comment on column gmsi.sentiment_by_day.semantic_mean is 'Mean semantic score: semantic_sum / semantic_count; null if no headline has one.';
comment on column gmsi.sentiment_by_day.semantic_probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_by_day.semantic_weighted_sum is 'Sum of semantic score times topic_probability.';
comment on column gmsi.sentiment_by_day.semantic_weighted_mean is 'Mean semantic score weighted by topic_probability: semantic_weighted_sum / semantic_probability_sum.';

-- Plain SQL without "set", as headlines_as_of, so that PostgreSQL inlines it. Adds and subtracts in UTC, so that a day has 24 hours
-- in every time zone of a session.
create function gmsi.signal_at(
  moment timestamptz, country text, topic text, over interval default '1 day', match_type text default 'COMBINED',
  sentiment_type text default 'directional', assume_backfilled boolean default false,
  rounding text default 'second, some on the hour'
) returns table (
  state text, headline_count integer, witnessed_count integer, sentiment_sum double precision,
  sentiment_abs_sum double precision, sentiment_std double precision, sentiment_mean double precision,
  weighted_mean double precision)
  language sql stable parallel safe rows 1 as $$
  select case
           when has_omitted then 'backfilled'
           when d.last_day is not null or has_rows then gmsi.state_of(
             daterange(least((moment at time zone 'UTC' - over)::date, (moment at time zone 'UTC')::date),
                       (moment at time zone 'UTC' - interval '1 microsecond')::date, '[]'),
             d.covered, d.settling, d.partial, has_rows)
           when not exists (select from gmsi.topics t where t.topic = signal_at.topic) then 'unknown topic'
           when not exists (select from gmsi.countries c where c.country = signal_at.country) then 'unknown country'
           else 'series not loaded' end,
         sums.headline_count, sums.witnessed_count, sums.sentiment_sum, sums.sentiment_abs_sum, sums.sentiment_std,
         sums.sentiment_mean, sums.weighted_mean
  from (
    select coalesce(bool_or(is_omitted), false) as has_omitted, count(*) > 0 as has_rows,
           count(score)::int as headline_count, (count(score) filter (where was_held))::int as witnessed_count,
           coalesce(sum(score), 0) as sentiment_sum, coalesce(sum(abs(score)), 0) as sentiment_abs_sum,
           stddev_pop(score) as sentiment_std, avg(score) as sentiment_mean,
           sum(score * probability) / nullif(sum(probability) filter (where score is not null), 0) as weighted_mean
    from (
      select is_omitted, was_held, coalesce(gmsi.summable(topic_probability), 0) as probability,
             case when not is_omitted then gmsi.summable(case signal_at.sentiment_type
               when 'directional' then directional_score
               when 'semantic_sentiment' then semantic_score
               -- A misspelt name must fail with an error that shows it, not return 0 headlines.
               else ('no sentiment_type: ' || signal_at.sentiment_type)::double precision end) end as score
      from (
        -- Headlines that were not backfilled are known since this warehouse first stored them. Omits those that came over a year
        -- late, so that PostgreSQL does not have to read every month.
        select v.published_at, v.headline_id, v.directional_score, v.semantic_score, v.topic_probability,
               false as is_omitted, true as was_held
        from gmsi.headlines_point_in_time v
        where v.country = signal_at.country and v.topic = signal_at.topic and v.match_type = signal_at.match_type
          and not v.is_backfilled and v.published_at <= moment
          and v.first_seen_at <= v.published_at + interval '8784 hours'
          and v.published_at > (moment at time zone 'UTC' - over - interval '8784 hours') at time zone 'UTC'
          and greatest(v.published_at, v.first_seen_at) > (moment at time zone 'UTC' - over) at time zone 'UTC'
          and greatest(v.published_at, v.first_seen_at) <= moment
          and v.usable_from <= moment and (v.usable_to is null or v.usable_to > moment)
        union all
        -- Backfilled headlines are assumed to be known since they were published. The bounds of published_at choose partitions.
        select v.published_at, v.headline_id, v.directional_score, v.semantic_score, v.topic_probability,
               not assume_backfilled, v.first_seen_at <= moment
        from gmsi.headlines_point_in_time v
        where v.country = signal_at.country and v.topic = signal_at.topic and v.match_type = signal_at.match_type
          and v.is_backfilled and v.published_at <= moment
          and v.published_at > (moment at time zone 'UTC' - over - interval '24 hours') at time zone 'UTC'
          and gmsi.published_by(v.published_at, rounding) > (moment at time zone 'UTC' - over) at time zone 'UTC'
          and gmsi.published_by(v.published_at, rounding) <= moment
          and case when v.is_first then v.assumed_from is not null else v.usable_from <= moment end
          and (v.usable_to is null or v.usable_to > moment)
      ) as versions
      -- Always in the same order: otherwise sums of the same numbers differ in their last digits.
      order by published_at, headline_id
    ) as known
  ) as sums
  cross join lateral gmsi.series_days('gmsi-headlines', country, topic, '', match_type, '') as d
$$;
comment on function gmsi.signal_at(timestamptz, text, text, interval, text, text, boolean, text) is 'Sums over the headlines of a country and topic that became known in the time "over" (a day by default) before a moment: after moment - over, up to and including moment. So moments that are "over" apart count each headline once. Each headline counts in the version that this warehouse held at that moment; headlines that were retracted by then do not count. A headline became known when it was published and stored in this warehouse; one that was stored over a year (8,784 hours) late never counts. A headline that was loaded by a backfill or an import counts only with assume_backfilled, from its publication, gmsi.published_by(published_at, rounding). witnessed_count is the number of headlines that the warehouse held at that moment. Sums and means are as in gmsi.sentiment_daily. Without headlines, headline_count is 0, the means are null, and state says why. covered, settling, partial, not loaded: how completely the days are loaded now (gmsi.state_of), so 0 headlines on covered days mean that there was no news. backfilled: headlines of this time do not count, because a backfill or an import loaded them. unknown topic, unknown country: never loaded, and not in gmsi.topics or gmsi.countries. series not loaded: never requested. For a moment more than gmsi.as_of_delay() ago, counts, sums and means never change; with assume_backfilled, they change if a later load adds backfilled headlines, or a repair completes some. For a table of moments, use cross join lateral.';

-- The service's indices by day.

create view gmsi.index_daily as
select feed, subject, coalesce(topic, '') as topic, match_type, variant,
       ((hour_ends_at - interval '1 hour') at time zone 'UTC')::date as day, count(*)::integer as hours,
       sum(headline_count)::bigint as headline_count, sum(gmsi.summable(sentiment_sum)) as sentiment_sum,
       sum(gmsi.summable(sentiment_abs_sum)) as sentiment_abs_sum,
       sum(gmsi.summable(sentiment_sum)) / nullif(sum(headline_count), 0)::float8 as sentiment_mean
from (
  select 'gmsi-index' as feed, country as subject, topic, match_type, variant,
         hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
  from gmsi.gmsi_index
  union all
  select 'regional-index', country_name, topic, match_type, variant,
         hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
  from gmsi.regional_index
  union all
  select 'global-index', 'World', topic, match_type, variant,
         hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
  from gmsi.global_index
  union all
  select 'ticker-index', ticker, topic, coalesce(record_match_type, match_type), variant,
         hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
  from gmsi.ticker_index
) as hours
where retracted_at is null
group by 1, 2, 3, 4, 5, 6;
comment on view gmsi.index_daily is 'The hourly indices of the service by day (UTC): the hours that the feeds gmsi-index, regional-index, global-index and ticker-index sent, added up. Filter by feed, subject, match_type and variant: each combination is a series. An hour is of the day in which it began; if the service did not say how it stamps hours (hour_stamp is unknown), they are taken as stamped at their beginning.';
comment on column gmsi.index_daily.feed is 'The feed of the index.';
comment on column gmsi.index_daily.subject is 'Country (gmsi-index), name of the country (regional-index), World (global-index) or ticker (ticker-index).';
comment on column gmsi.index_daily.topic is 'Topic, empty if the record has none.';
comment on column gmsi.index_daily.match_type is 'Match type: for a ticker that of the record if it has one, else the one that was requested.';
comment on column gmsi.index_daily.variant is 'Further parameters of the request, as name=value&name=value.';
comment on column gmsi.index_daily.day is 'Day (UTC).';
comment on column gmsi.index_daily.hours is 'Hours that the service sent.';
comment on column gmsi.index_daily.headline_count is 'Number of headlines.';
comment on column gmsi.index_daily.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.index_daily.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.index_daily.sentiment_mean is 'Mean of their scores, null without headlines.';

-- Named moments.

create table gmsi.moments (
  name text primary key check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
  at timestamptz not null,
  note text,
  taken_at timestamptz not null default now(),
  taken_by text not null
);
comment on table gmsi.moments is 'Moments that have a name, so that an answer as of one can be asked for again (gmsi snapshot). Nothing but gmsi snapshot --remove deletes one.';
comment on column gmsi.moments.name is 'Name; a name is never moved to another moment.';
comment on column gmsi.moments.at is 'The moment, in whole milliseconds.';
comment on column gmsi.moments.note is 'What it is for, as --note says; null if it was not said.';
comment on column gmsi.moments.taken_at is 'When it was named.';
comment on column gmsi.moments.taken_by is 'Host and process id, and the version of the program; as in gmsi.loads.';

-- Immutable, so that a query gets the moment as a constant: otherwise it would be looked up again for each row, or keep
-- PostgreSQL from using the indexes. A name never moves, so only a session that has planned with a name since removed is wrong.
create function gmsi.moment(name text) returns timestamptz
  language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  found_at timestamptz := (select m.at from gmsi.moments m where m.name = moment.name);
begin
  if found_at is null then
    raise exception 'no moment is named %', moment.name using errcode = 'no_data_found', hint = 'gmsi snapshot lists them.';
  end if;
  return found_at;
end $$;
comment on function gmsi.moment(text) is 'The moment of a name (gmsi snapshot), for the functions …_as_of: gmsi.headlines_as_of(gmsi.moment(''paper-2026'')). Fails if no moment has that name.';

-- The comments that the tables and views with a series share.

do $$
declare
  found record;
begin
  for found in
    select relation, shared.*
    from (values
      ('feed', 'Feed.'),
      ('country', 'Country of the series; empty if the feed is not by country.'),
      ('topic', 'Topic of the series; empty if the feed is not by topic.'),
      ('ticker', 'Ticker of the series; empty if the feed is not by ticker.'),
      ('match_type', 'Match type of the series.'),
      ('variant', 'Further parameters of the series, as name=value&name=value; empty if there are none.')
    ) as shared (part, says)
    cross join unnest(array['gmsi.windows', 'gmsi.coverage', 'gmsi.rejected_records', 'gmsi.live_sightings', 'gmsi.cadence',
                            'gmsi.coverage_by_day', 'gmsi.coverage_gaps']) as relation
  loop
    execute format('comment on column %s.%I is %L', found.relation, found.part, found.says);
  end loop;
end $$;
