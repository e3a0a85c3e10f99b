-- How completely days are loaded, and the sums of days.

create or replace function gmsi.state_of(
  days daterange, covered datemultirange, settling datemultirange, partial datemultirange, has_rows boolean
) returns text language sql immutable parallel safe return
  case when covered @> days then 'covered'
       when covered + settling @> days then 'settling'
       when has_rows or days && (covered + settling + partial) then 'partial'
       else 'not loaded' end;
comment on function gmsi.state_of(daterange, datemultirange, datemultirange, datemultirange, boolean) is 'How completely some days of a series are loaded, in the words that all views use. covered: completely loaded and settled. settling: completely loaded as of the last sync, but some of the days were not over then or may still change. partial: some headlines are loaded, others may be missing. not loaded: nothing is loaded.';

-- The facts of each day, from the ledger alone: when it was first loaded, and whole (asked after its end). They are minima, so a false
-- time of the future gives way to the next right one.
create or replace function gmsi.day_facts(of_series integer[], asked daterange) returns table (
  series_id integer, day date, loaded_at timestamptz, whole_at timestamptz
) language sql stable parallel safe rows 10000
begin atomic
  select r.series_id, r.first_day + n, min(r.completed_at), min(r.completed_at) filter (where r.first_day + n < r.asked_on)
  from gmsi.readings r
  cross join lateral generate_series(greatest(0, lower(asked) - r.first_day), least(r.last_day, upper(asked) - 1) - r.first_day) as n
  where r.series_id = any(of_series) and r.is_whole and r.last_day >= lower(asked)
  group by 1, 2;
end;
comment on function gmsi.day_facts(integer[], daterange) is 'For each loaded day of some series (gmsi.series): when a whole reading (gmsi.readings) of it was first here, and the first that was asked after the end of the day.';

create or replace function gmsi.days_at(of_series integer, moment timestamptz, out covered datemultirange, out settling datemultirange)
  language sql stable parallel safe
begin atomic
  select coalesce(range_agg(daterange(first_day, least(last_day + 1, settled_before))) filter (where settled_before > first_day), '{}'),
         coalesce(range_agg(daterange(first_day, last_day, '[]')), '{}')
  from gmsi.readings r where r.series_id = of_series and r.is_whole and r.completed_at <= moment;
end;
comment on function gmsi.days_at(integer, timestamptz) is 'The days of a series that were covered at a past moment, and those that were loaded, settled or not.';

create or replace function gmsi.derive_days(of_series integer) returns table (
  series_id integer, touched datemultirange, loaded datemultirange, whole datemultirange, covered datemultirange,
  watch_here timestamptz, watch_on date, watch_from date, updated_at timestamptz
) language sql stable rows 1
begin atomic
  select of_series, coalesce(range_agg(daterange(first_day, last_day, '[]')), '{}'),
         coalesce(range_agg(daterange(first_day, last_day, '[]')) filter (where is_whole), '{}'),
         coalesce(range_agg(daterange(first_day, least(last_day + 1, asked_on))) filter (where is_whole and asked_on > first_day), '{}'),
         coalesce(range_agg(daterange(first_day, least(last_day + 1, settled_before))) filter (where is_whole and settled_before > first_day), '{}'),
         min(completed_at) filter (where watches),
         (array_agg(asked_on order by completed_at, reading_id) filter (where watches))[1],
         (array_agg(settled_before order by completed_at, reading_id) filter (where watches))[1],
         max(completed_at) filter (where is_first)
  from gmsi.readings r
  cross join lateral (select source = 'w' and is_whole and settled_before > '-infinity' and last_day >= settled_before as watches) as of_watch
  where r.series_id = of_series;
end;
comment on function gmsi.derive_days(integer) is 'The row of gmsi.series_days that follows from the readings of a series. The check ledger-cache compares them.';

-- Where a sync begins: on the first day since the watch that is not covered, at the latest on the first unsettled day. Without a watch,
-- where the covered days end, such as those of imported files.
create or replace function gmsi.sync_from(watch_from date, covered datemultirange, unsettled date) returns date
  language sql immutable parallel safe return
  case when watch_from is null then least(upper(covered), unsettled)
       when watch_from < unsettled then coalesce(lower(datemultirange(daterange(watch_from, unsettled)) - coalesce(covered, '{}')), unsettled)
       else unsettled end;
comment on function gmsi.sync_from(date, datemultirange, date) is 'The first day that a sync of a series drains, of its watch_from and covered days (gmsi.series_days) and the first day that is not settled.';

-- The brake on retractions (Page''s CUSUM). A reading that withdraws more than a tenth of the rows of its days adds what is above that;
-- any other takes off a tenth of at most two rows, so that no busy series pays for many quiet ones.
create or replace function gmsi.loss(held bigint, gone bigint) returns double precision language sql immutable parallel safe return
  case when gone > 0.1 * held then gone - 0.1 * held else -0.1 * least(held, 2) end;
comment on function gmsi.loss(bigint, bigint) is 'What a reading that withdraws some of the rows of its days adds to gmsi.losses.';

create or replace function gmsi.losses(of_feed text) returns double precision language sql stable
begin atomic
  select coalesce(max(sum), 0)
  from (
    select sum(case when is_accepted then 0 else gmsi.loss(rows_held, rows_gone) end) over (order by completed_at desc, reading_id desc) as sum
    from (select r.* from gmsi.readings r join gmsi.series s using (series_id)
          -- Older ones may be deleted.
          where r.rows_held > 0 and s.feed = of_feed and r.completed_at > now() - interval '30 days'
          order by r.completed_at desc limit 1000) as recent
  ) as sums;
end;
comment on function gmsi.losses(text) is 'How many more rows of a feed its latest readings have withdrawn than is usual: the worst sum of gmsi.loss over the last readings in a row, of the last 30 days and 1,000 at most. A window that would make it more than 10 fails.';

create or replace function gmsi.losses_with(of_feed text, held bigint, gone bigint) returns double precision
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Most readings: no lock, no look.
  if gmsi.loss(held, gone) <= 0 then
    return 0;
  end if;
  perform gmsi.wait_for_turn('retractions of ' || of_feed);
  return gmsi.losses(of_feed) + gmsi.loss(held, gone);
end $$;
comment on function gmsi.losses_with(text, bigint, bigint) is 'What gmsi.losses becomes with one more reading. Readings that withdraw more than is usual wait here for each other.';

-- Nobody needs a reading that is older than this, was first for no day, is not the last of any of its days, and among those of recent days
-- neither the last poll of its series nor the last with news. It must have a successor of the same kind, as questions about windows
-- pass over files.
create or replace function gmsi.compact(older_than interval, part integer, parts integer) returns bigint language sql set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from gmsi.readings r
    using (
      select r.reading_id from gmsi.series s join gmsi.readings r using (series_id)
      where s.series_id % parts = part and not r.is_first and r.completed_at < now() - older_than and r.source <> 'f'
        and (not r.is_whole or exists (
          -- Most lie within one newer reading, which is found at once. No window is longer; this bounds what is read of the index.
          select from gmsi.readings n
          where n.series_id = r.series_id and n.is_whole and n.source = 'w' and n.asked_at > r.asked_at and n.first_day <= r.first_day
            and n.last_day between r.last_day and r.last_day + 400
        ) or datemultirange(daterange(r.first_day, r.last_day, '[]')) <@ (
          select range_agg(daterange(n.first_day, n.last_day, '[]')) from gmsi.readings n
          where n.series_id = r.series_id and n.is_whole and n.source = 'w' and n.asked_at > r.asked_at and n.first_day <= r.last_day
            and n.last_day between r.first_day and r.last_day + 400))
        and (r.last_day < r.settled_before or exists (
          select from gmsi.readings n
          where n.series_id = r.series_id and n.asked_at > r.asked_at and n.last_day >= n.settled_before
            and (r.rows_inserted + r.rows_changed = 0 or n.rows_inserted + n.rows_changed > 0)
            and (not r.is_whole or r.last_day < r.asked_on or n.is_whole and n.source = 'w' and n.last_day >= n.asked_on)))
      for update of r skip locked
    ) as unneeded
    where r.reading_id = unneeded.reading_id
    returning 1)
  select count(*) from gone
$$;
comment on function gmsi.compact(interval, integer, integer) is 'Deletes readings that no conclusion needs any more, of a part of the series.';

-- Requested days and begun ones of each series: the cache and the queue, no history.
create or replace view gmsi.series_states as
  select s.series_id, s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant,
         least(lower(c.touched), q.first_day) as first_day, greatest(upper(c.touched) - 1, q.last_day) as last_day,
         coalesce(c.covered, '{}') as covered, coalesce(c.loaded, '{}') as settling,
         coalesce(c.touched, '{}') + coalesce(q.begun, '{}') as partial, c.watch_here
  from gmsi.series s
  left join gmsi.series_days c using (series_id)
  left join lateral (
    select min(w.first_day) as first_day, max(w.last_day) as last_day,
           range_agg(w.days) filter (where w.state = 'draining' or w.pages > 0) as begun
    from gmsi.queue w where w.series_id = s.series_id
  ) as q on true;

-- Parsed when it is created, and without "set", so that PostgreSQL inlines it and looks no name up when it runs.
create or replace function gmsi.series_days(feed text, country text, topic text, ticker text, match_type text, variant text)
  returns table (first_day date, last_day date, covered datemultirange, settling datemultirange, partial datemultirange)
  language sql stable parallel safe rows 1
begin atomic
  select s.first_day, s.last_day, coalesce(s.covered, '{}'), coalesce(s.settling, '{}'), coalesce(s.partial, '{}')
  from (select) as one
  left join gmsi.series_states s
    on s.feed = series_days.feed and s.country = series_days.country and s.topic = series_days.topic
      and s.ticker = series_days.ticker and s.match_type = series_days.match_type and s.variant = series_days.variant;
end;
comment on function gmsi.series_days(text, text, text, text, text, text) is 'Returns the first and last day (UTC) that was ever requested for a series (null if none was), and its covered, settling and partly loaded days, for gmsi.state_of.';

create or replace function gmsi.cause_of(cause text, days daterange, loaded datemultirange) returns text
  language sql immutable parallel safe return case when cause = 'refused' and range_merge(loaded) >> days then 'too old' else cause end;
comment on function gmsi.cause_of(text, daterange, datemultirange) is 'Why a window was not loaded (gmsi.queue.cause); too old if it was refused and all loaded days of its series are younger.';

create or replace view gmsi.windows as
  select w.window_id, s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant, w.first_day, w.last_day, w.days, w.state, w.load_id,
         w.request_start, w.request_end, w.page_size, w.next_token, w.asked_at as drain_started_at, w.settled_before as first_unsettled,
         w.is_compared, w.pages, w.records, w.rows_inserted, w.rows_changed, w.rows_retracted, w.records_rejected, w.records_outside,
         w.rows_met, w.attempts, w.refused_with, w.cause, w.last_error, w.planned_at, w.left_at as finished_at, false as is_accepted
  from gmsi.queue w join gmsi.series s using (series_id)
  union all
  select r.reading_id, s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant, r.first_day, r.last_day,
         daterange(r.first_day, r.last_day, '[]'), 'drained', r.load_id, null, null, null, null, r.asked_at, r.settled_before,
         r.rows_held > 0, r.pages, r.records, r.rows_inserted, r.rows_changed, r.rows_retracted, r.records_rejected, r.records_outside,
         r.rows_met, null, null, null, null, null, r.completed_at, r.is_accepted
  from gmsi.readings r join gmsi.series s using (series_id)
  where r.source = 'w' and r.is_whole;

create or replace view gmsi.coverage as
  select s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant, c.covered as days, c.updated_at
  from gmsi.series s join gmsi.series_days c using (series_id)
  where not isempty(c.covered);

create or replace view gmsi.watched as
  select s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant, each.day::date as day, f.whole_at as watched_from
  from gmsi.series s join gmsi.series_days c using (series_id)
  cross join lateral generate_series(c.watch_on::timestamp, (now() at time zone 'UTC')::date, interval '1 day') as each (day)
  left join lateral gmsi.day_facts(array[s.series_id], daterange(c.watch_on, (now() at time zone 'UTC')::date, '[]')) as f on f.day = each.day::date
  where c.watch_on is not null;

create or replace view gmsi.sentiment_hourly as
  select s.country, s.topic, s.match_type, s.sentiment_type, s.hour, s.all_count, s.headline_count, s.sentiment_sum, s.sentiment_abs_sum,
         s.sentiment_std, s.probability_sum, s.weighted_sum, s.sentiment_mean, s.weighted_mean,
         gmsi.state_of(daterange((s.hour at time zone 'UTC')::date, (s.hour at time zone 'UTC')::date, '[]'),
                       coalesce(d.covered, '{}'), coalesce(d.settling, '{}'), coalesce(d.partial, '{}'), true) as state
  from gmsi.hourly_sums s
  left join gmsi.series_states d
    on (d.feed, d.country, d.topic, d.ticker, d.match_type, d.variant) = ('gmsi-headlines', s.country, s.topic, '', s.match_type, '');

create or replace view gmsi.sentiment_daily as
  select s.country, s.topic, s.match_type, s.sentiment_type, s.day, s.all_count, s.headline_count, s.sentiment_sum, s.sentiment_abs_sum,
         s.sentiment_std, s.probability_sum, s.weighted_sum, s.sentiment_mean, s.weighted_mean,
         gmsi.state_of(daterange(s.day, s.day, '[]'), coalesce(d.covered, '{}'), coalesce(d.settling, '{}'), coalesce(d.partial, '{}'),
                       true) as state
  from gmsi.daily_sums s
  left join gmsi.series_states d
    on (d.feed, d.country, d.topic, d.ticker, d.match_type, d.variant) = ('gmsi-headlines', s.country, s.topic, '', s.match_type, '');

-- All days are made once, not once for each series, so that bounds on the day limit them. "(select true … limit 1) is not null" instead
-- of "exists", which PostgreSQL may plan as one pass over all sums.
create or replace view gmsi.coverage_by_day as
  select s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant, each.day::date as day,
         gmsi.state_of(daterange(each.day::date, each.day::date, '[]'), s.covered, s.settling, s.partial,
                       s.feed = 'gmsi-headlines' and (
                         select true from gmsi.daily_sums d
                         where (d.country, d.topic, d.match_type) = (s.country, s.topic, s.match_type)
                           and d.sentiment_type = 'directional' and d.day = each.day::date limit 1) is not null) as state
  from (
    select min(first_day) as first_day, max(last_day) as last_day
    from (select lower(touched) as first_day, upper(touched) - 1 as last_day from gmsi.series_days
          union all select first_day, last_day from gmsi.queue) as requested
  ) as of_all
  cross join lateral generate_series(of_all.first_day::timestamp, of_all.last_day::timestamp, interval '1 day') as each (day)
  join gmsi.series_states s on each.day::date between s.first_day and s.last_day;

create or replace view gmsi.coverage_gaps as
  select d.feed, d.country, d.topic, d.ticker, d.match_type, d.variant,
         lower(part.days) as from_day, upper(part.days) - 1 as to_day, upper(part.days) - lower(part.days) as days,
         part.state, part.window_id, gmsi.cause_of(part.cause, part.window_days, d.settling) as cause, part.last_error
  from gmsi.series_states d
  cross join lateral unnest(datemultirange(daterange(d.first_day, d.last_day, '[]')) - d.covered) as gap
  cross join lateral (
    -- A gap is split by the windows of its days; days without a window stay as they are.
    select gap * w.days as days, w.days as window_days, w.window_id, w.state, w.cause, w.last_error
    from gmsi.queue w
    where w.series_id = d.series_id and w.days && gap
    union all
    select rest, null, null, case when d.settling @> rest then 'settling' else 'not loaded' end, null, null
    from (select datemultirange(gap) - coalesce((
      select range_agg(w.days) from gmsi.queue w where w.series_id = d.series_id and w.days && gap), '{}')) as free (days)
    cross join lateral (
      select unnest(free.days * d.settling) union all select unnest(free.days - d.settling)) as rests (rest)
  ) as part;

-- Not a join of days and sums: the conditions of a query reach both by the columns that they are grouped by, and no estimate makes
-- PostgreSQL read all sums.
create or replace view gmsi.sentiment_by_day as
  select country, names.name as country_name, topic, match_type, day, state,
         case when is_loaded then coalesce(all_count, 0) end as all_count,
         case when is_loaded then coalesce(directional_count, 0) end as directional_count,
         case when is_loaded then coalesce(directional_sum, 0) end as directional_sum,
         directional_mean,
         case when is_loaded then coalesce(directional_probability_sum, 0) end as directional_probability_sum,
         case when is_loaded then coalesce(directional_weighted_sum, 0) end as directional_weighted_sum,
         directional_weighted_mean,
         case when is_loaded then coalesce(semantic_count, 0) end as semantic_count,
         case when is_loaded then coalesce(semantic_sum, 0) end as semantic_sum,
         semantic_mean,
         case when is_loaded then coalesce(semantic_probability_sum, 0) end as semantic_probability_sum,
         case when is_loaded then coalesce(semantic_weighted_sum, 0) end as semantic_weighted_sum,
         semantic_weighted_mean
  from (
    select country, topic, match_type, day, max(state) as state, max(state) <> 'not loaded' as is_loaded,
           max(all_count) filter (where sentiment_type = 'directional') as all_count,
           max(headline_count) filter (where sentiment_type = 'directional') as directional_count,
           max(sentiment_sum) filter (where sentiment_type = 'directional') as directional_sum,
           max(sentiment_mean) filter (where sentiment_type = 'directional') as directional_mean,
           max(probability_sum) filter (where sentiment_type = 'directional') as directional_probability_sum,
           max(weighted_sum) filter (where sentiment_type = 'directional') as directional_weighted_sum,
           max(weighted_mean) filter (where sentiment_type = 'directional') as directional_weighted_mean,
           max(headline_count) filter (where sentiment_type = 'semantic_sentiment') as semantic_count,
           max(sentiment_sum) filter (where sentiment_type = 'semantic_sentiment') as semantic_sum,
           max(sentiment_mean) filter (where sentiment_type = 'semantic_sentiment') as semantic_mean,
           max(probability_sum) filter (where sentiment_type = 'semantic_sentiment') as semantic_probability_sum,
           max(weighted_sum) filter (where sentiment_type = 'semantic_sentiment') as semantic_weighted_sum,
           max(weighted_mean) filter (where sentiment_type = 'semantic_sentiment') as semantic_weighted_mean
    from (
      select country, topic, match_type, day, state, null as sentiment_type, null::integer as all_count, null::integer as headline_count,
             null::float8 as sentiment_sum, null::float8 as sentiment_mean, null::float8 as probability_sum,
             null::float8 as weighted_sum, null::float8 as weighted_mean
      from gmsi.coverage_by_day where feed = 'gmsi-headlines'
      union all
      select country, topic, match_type, day, null, sentiment_type, all_count, headline_count, sentiment_sum, sentiment_mean,
             probability_sum, weighted_sum, weighted_mean
      from gmsi.daily_sums where sentiment_type in ('directional', 'semantic_sentiment')
    ) as found
    group by country, topic, match_type, day
    -- Without days that nobody requested.
    having max(state) is not null
  ) as days
  left join gmsi.countries names using (country);

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
select source, count(*) as headlines,
       percentile_cont(0.5) within group (order by first_seen_at - coalesce(moved_from, published_at)) as p50,
       percentile_cont(0.99) within group (order by first_seen_at - coalesce(moved_from, published_at)) as p99
from gmsi.headlines
-- Without the rows that moved headlines have left behind, which are retracted.
where not is_backfilled and retracted_at is null
  -- What was published before the first load was not awaited.
  and published_at > greatest(now() - interval '30 days', (select min(started_at) from gmsi.loads where feed = 'gmsi-headlines'))
group by source;

-- One row per topic, so that a join by topic repeats nothing. A rule of another shape than guessed is shown whole.
create or replace view gmsi.topic_guide as
select topic, category, listed,
       'likely more of the topic itself, such as rising prices or tighter policy' as directional_plus,
       'likely a favourable tone' as semantic_plus,
       coalesce(classification_rule ->> 'directional', classification_rule #>> '{}') as directional_rule,
       coalesce(classification_rule ->> 'semantic_sentiment', classification_rule #>> '{}') as semantic_rule
from gmsi.topics;
