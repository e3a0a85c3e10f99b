-- How completely days are loaded, and the sums of days.

create or replace function gmsi.state_of(
  days daterange, covered datemultirange, settling datemultirange, partial datemultirange, has_rows boolean
) returns text language sql immutable parallel safe return
  case when covered @> days then 'covered'
       when covered + settling @> days then 'settling'
       when has_rows or days && (covered + settling + partial) then 'partial'
       else 'not loaded' end;
comment on function gmsi.state_of(daterange, datemultirange, datemultirange, datemultirange, boolean) is 'How completely some days of a series are loaded, in the words that all views use. covered: completely loaded and settled. settling: completely loaded as of the last sync, but some of the days were not over then or may still change. partial: some headlines are loaded, others may be missing. not loaded: nothing is loaded.';

-- Parsed when it is created, and without "set", so that PostgreSQL inlines it and looks no name up when it runs.
create or replace function gmsi.series_days(feed text, country text, topic text, ticker text, match_type text, variant text)
  returns table (first_day date, last_day date, covered datemultirange, settling datemultirange, partial datemultirange)
  language sql stable parallel safe rows 1
begin atomic
  select least(lower(asked.covered), asked.first_day), greatest(upper(asked.covered) - 1, asked.last_day),
         coalesce(asked.covered, '{}'), coalesce(asked.settling, '{}'), coalesce(asked.partial, '{}')
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
  ) as asked;
end;
comment on function gmsi.series_days(text, text, text, text, text, text) is 'Returns the first and last day (UTC) that was ever requested for a series (null if none was), and its covered, settling and partly loaded days, for gmsi.state_of.';

create or replace view gmsi.sentiment_hourly as
  select s.country, s.topic, s.match_type, s.sentiment_type, s.hour, s.all_count, s.headline_count, s.sentiment_sum, s.sentiment_abs_sum,
         s.sentiment_std, s.probability_sum, s.weighted_sum, s.sentiment_mean, s.weighted_mean,
         gmsi.state_of(daterange((s.hour at time zone 'UTC')::date, (s.hour at time zone 'UTC')::date, '[]'),
                            d.covered, d.settling, d.partial, true) as state
  from gmsi.hourly_sums s
  left join lateral gmsi.series_days('gmsi-headlines', s.country, s.topic, '', s.match_type, '') as d on true;

create or replace view gmsi.sentiment_daily as
  select s.country, s.topic, s.match_type, s.sentiment_type, s.day, s.all_count, s.headline_count, s.sentiment_sum, s.sentiment_abs_sum,
         s.sentiment_std, s.probability_sum, s.weighted_sum, s.sentiment_mean, s.weighted_mean,
         gmsi.state_of(daterange(s.day, s.day, '[]'), d.covered, d.settling, d.partial, true) as state
  from gmsi.daily_sums s
  left join lateral gmsi.series_days('gmsi-headlines', s.country, s.topic, '', s.match_type, '') as d on true;

create or replace view gmsi.coverage_by_day as
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

create or replace view gmsi.coverage_gaps as
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

create or replace view gmsi.sentiment_by_day as
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

create or replace view gmsi.index_daily as
select feed, subject, coalesce(topic, '') as topic, match_type, variant,
       ((hour_ends_at - interval '1 hour') at time zone 'UTC')::date as day, count(*)::integer as hours,
       (sum(headline_count) filter (where has_both))::bigint as headline_count,
       sum(sentiment_sum) filter (where has_both) as sentiment_sum,
       case when bool_and(headline_count = 0 or sentiment_abs_sum is not null) filter (where has_both)
         then sum(sentiment_abs_sum) filter (where has_both) end as sentiment_abs_sum,
       sum(sentiment_sum) filter (where has_both)
         / nullif(sum(headline_count) filter (where has_both), 0)::float8 as sentiment_mean
from (
  select feed, subject, topic, match_type, variant, hour_ends_at, retracted_at, headline_count, sums.*,
         headline_count is not null and (headline_count = 0 or sums.sentiment_sum is not null) as has_both
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
  cross join lateral (
    select gmsi.summable(hours.sentiment_sum) as sentiment_sum, gmsi.summable(hours.sentiment_abs_sum) as sentiment_abs_sum
  ) as sums
) as hours
where retracted_at is null
group by 1, 2, 3, 4, 5, 6;

create or replace view gmsi.rescorings as
select l.load_id, l.command, l.job, l.started_at, replaced.headlines, known.headlines as known_headlines,
       replaced.first_published_at, replaced.last_published_at, replaced.old_model_version, replaced.new_model_version
from gmsi.loads l
cross join lateral (
  select l.records - l.rows_inserted - l.records_rejected - l.records_outside as headlines
) as known
cross join lateral (
  select sum(page.headlines)::bigint as headlines, min(page.first_published_at) as first_published_at,
         max(page.last_published_at) as last_published_at, string_agg(distinct page.model_version, ', ') as old_model_version,
         string_agg(distinct next.model_version, ', ') as new_model_version
  from (
    -- The versions that a page replaced have one known_to, so one of its rows shows which load it was.
    select country, topic, match_type, known_to, model_version, count(*) as headlines, min(published_at) as first_published_at,
           max(published_at) as last_published_at
    from gmsi.headline_revisions
    -- The totals of a killed load, and so its end, lack its last seconds.
    where reason = 'rescored' and known_to between l.started_at and coalesce(l.finished_at, l.updated_at) + interval '1 hour'
    group by 1, 2, 3, 4, 5
  ) as page
  cross join lateral (
    select h.load_id, h.model_version from gmsi.headlines h
    where (h.country, h.topic, h.match_type, h.published_at, h.changed_at)
        = (page.country, page.topic, page.match_type, page.first_published_at, page.known_to)
    union all
    select r.load_id, r.model_version from gmsi.headline_revisions r
    where (r.country, r.topic, r.match_type, r.published_at, r.known_from)
        = (page.country, page.topic, page.match_type, page.first_published_at, page.known_to)
    limit 1
  ) as next
  where next.load_id = l.load_id
) as replaced
-- No load changed fewer rows than it rescored, so most loads are omitted before their revisions are read.
where l.feed = 'gmsi-headlines' and l.rows_changed >= 100 and l.rows_changed * 4 > known.headlines
  and replaced.headlines >= 100 and replaced.headlines * 4 > known.headlines;

create or replace view gmsi.arrival_delays as
select source, count(*) as headlines, percentile_cont(0.5) within group (order by first_seen_at - published_at) as p50,
       percentile_cont(0.99) within group (order by first_seen_at - published_at) as p99
from gmsi.headlines
where not is_backfilled
  -- What was published before the first load was not awaited.
  and published_at > greatest(now() - interval '30 days', (select min(started_at) from gmsi.loads where feed = 'gmsi-headlines'))
group by source;
