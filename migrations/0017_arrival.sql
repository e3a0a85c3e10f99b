-- The version of the model that scored a headline, loads in which the service rescored many, and how late headlines arrive.

select gmsi.add_feed_column('headlines', 'model_version', 'text', 'Version of the model that scored the headline, if the service sends one.'),
       gmsi.add_feed_column('ticker_headlines', 'model_version', 'text', 'Version of the model that scored the headline, if the service sends one.'),
       gmsi.add_feed_column('macro_headlines', 'model_version', 'text', 'Version of the model that scored the headline, if the service sends one.'),
       gmsi.add_feed_column('ticker_event_headlines', 'model_version', 'text', 'Version of the model that scored the headline, if the service sends one.');

-- Small, because revisions are stored in the order of known_to.
create index headline_revisions_by_time on gmsi.headline_revisions using brin (known_to);

create view gmsi.rescorings as
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
comment on view gmsi.rescorings is 'Loads in which the service had given many headlines new scores: at least 100, and more than a quarter of those that were known before the load and that it met again. The service has changed its model then, or corrected scores; the news is the same. The replaced versions are in gmsi.headline_revisions.';
comment on column gmsi.rescorings.load_id is 'The load, as in gmsi.loads.';
comment on column gmsi.rescorings.command is 'backfill, sync or import.';
comment on column gmsi.rescorings.job is 'Name of the job file, without its ending; empty for an import.';
comment on column gmsi.rescorings.started_at is 'Start of the load.';
comment on column gmsi.rescorings.headlines is 'Headlines that got new scores.';
comment on column gmsi.rescorings.known_headlines is 'Headlines that the load met and that were known before, with or without new scores.';
comment on column gmsi.rescorings.first_published_at is 'Publication time of the oldest of them.';
comment on column gmsi.rescorings.last_published_at is 'Publication time of the newest of them.';
comment on column gmsi.rescorings.old_model_version is 'Model versions of the replaced scores; null if the service sends none.';
comment on column gmsi.rescorings.new_model_version is 'Model versions of the new scores, from one headline of each page; null if the service sends none.';

create view gmsi.arrival_delays as
select source, count(*) as headlines, percentile_cont(0.5) within group (order by first_seen_at - published_at) as p50,
       percentile_cont(0.99) within group (order by first_seen_at - published_at) as p99
from gmsi.headlines
where not is_backfilled
  -- What was published before the first load was not awaited.
  and published_at > greatest(now() - interval '30 days', (select min(started_at) from gmsi.loads where feed = 'gmsi-headlines'))
group by source;
comment on view gmsi.arrival_delays is 'How long after its publication a headline arrives in this warehouse, by source: of headlines published in the last 30 days, after the first load began, that are not backfilled: only these were seen when they came. A delay has three parts: of the service, of the time until the next sync, and of up to an hour if the service rounds publication times down.';
comment on column gmsi.arrival_delays.source is 'Publisher; null for headlines without one.';
comment on column gmsi.arrival_delays.headlines is 'Number of headlines, retracted ones included; each country, topic and match type counts.';
comment on column gmsi.arrival_delays.p50 is 'Median of first_seen_at - published_at.';
comment on column gmsi.arrival_delays.p99 is 'The time within which 99% of them arrived.';

do $$
begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), '''index_daily'',',
                  '''index_daily'', ''rescorings'', ''arrival_delays'',');
end $$;
