-- What was known when: which window brought each version, what the service no longer returns, and the table as it stood.

alter table gmsi.headlines add column window_id bigint;
alter table gmsi.headline_revisions add column window_id bigint;
alter table gmsi.ticker_headlines add column window_id bigint;
alter table gmsi.ticker_events add column window_id bigint;
alter table gmsi.ticker_event_headlines add column window_id bigint;
alter table gmsi.ticker_index add column window_id bigint;
alter table gmsi.gmsi_index add column window_id bigint;
alter table gmsi.ticker_event_metrics add column window_id bigint;
alter table gmsi.event_query_metrics add column window_id bigint;
comment on column gmsi.headlines.window_id is 'Window that brought this version; null if it came by the live feed or out of rejected_records, or before this column was there.';
comment on column gmsi.headline_revisions.window_id is 'Window that brought this version; null if it came by the live feed or out of rejected_records, or before this column was there.';
comment on column gmsi.ticker_headlines.window_id is 'Window that brought this version; null if it came by the live feed or out of rejected_records.';
comment on column gmsi.ticker_events.window_id is 'Window that brought this version; null if it came out of rejected_records.';
comment on column gmsi.ticker_event_headlines.window_id is 'Window that brought this version; null if it came out of rejected_records.';
comment on column gmsi.ticker_index.window_id is 'Window that brought this version; null if it came by the live feed or out of rejected_records.';
comment on column gmsi.gmsi_index.window_id is 'Window that brought this version; null if it came by the live feed or out of rejected_records.';
comment on column gmsi.ticker_event_metrics.window_id is 'Window that brought this version; null if it came out of rejected_records.';
comment on column gmsi.event_query_metrics.window_id is 'Window that brought this version; null if it came out of rejected_records.';

-- Retraction: a window that is drained again compares what it meets with what is here.

alter table gmsi.windows
  add column is_compared boolean not null default false,
  add column rows_retracted bigint not null default 0;
comment on column gmsi.windows.is_compared is 'True if rows of its days were here when this drain began: at its end, those that it has not met are marked retracted.';
comment on column gmsi.windows.rows_retracted is 'Rows that this drain, at its end, found the service not to return any more.';
alter table gmsi.loads add column rows_retracted bigint not null default 0;
comment on column gmsi.loads.rows_retracted is 'Rows that the service was found not to return any more.';

create table gmsi.drain_sightings (
  window_id bigint not null references gmsi.windows on delete cascade,
  page integer not null,
  row_times timestamptz[] not null,
  row_ids uuid[] not null,
  primary key (window_id, page)
);
comment on table gmsi.drain_sightings is 'The rows that compared windows have met so far, a page each; gone with the end of the drain.';
comment on column gmsi.drain_sightings.window_id is 'Window.';
comment on column gmsi.drain_sightings.page is 'Number of the page in this drain, from 0.';
comment on column gmsi.drain_sightings.row_times is 'Times of the rows on it.';
comment on column gmsi.drain_sightings.row_ids is 'Ids of the same rows.';

create table gmsi.live_sightings (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null,
  match_type text not null,
  variant text not null,
  row_time timestamptz not null,
  row_id uuid not null,
  primary key (feed, country, topic, ticker, match_type, variant, row_time, row_id)
);
comment on table gmsi.live_sightings is 'Rows that a live feed has brought and the historical feed has not confirmed yet. While the live feed still reaches them, a historical answer without them retracts nothing: it may lag behind.';
comment on column gmsi.live_sightings.feed is 'Feed.';
comment on column gmsi.live_sightings.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.live_sightings.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.live_sightings.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.live_sightings.match_type is 'Match type of the series.';
comment on column gmsi.live_sightings.variant is 'Further parameters of the series; empty if there are none.';
comment on column gmsi.live_sightings.row_time is 'Time of the row.';
comment on column gmsi.live_sightings.row_id is 'Id of the row.';

-- The plan is made when the first, perhaps empty, statement fires it: a nested loop would then meet thousands of rows. If PostgreSQL up
-- to 17 cannot do without one, the plan looks so expensive that it is compiled, which takes longer than the query.
create or replace function gmsi.keep_headline_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $$
declare
  is_read_again boolean := current_setting('gmsi.reading_again', true) = 'on';
begin
  insert into gmsi.headline_revisions (
    headline_id, country, topic, match_type, published_at, headline, language, source, url, topic_probability,
    directional_positive, directional_neutral, directional_negative, directional_score,
    semantic_positive, semantic_neutral, semantic_negative, semantic_score,
    extra, first_seen_at, known_from, known_to, retracted_at, is_backfilled, load_id, window_id, reason)
  select o.headline_id, o.country, o.topic, o.match_type, o.published_at, o.headline, o.language, o.source, o.url,
         o.topic_probability, o.directional_positive, o.directional_neutral, o.directional_negative,
         o.directional_score, o.semantic_positive, o.semantic_neutral, o.semantic_negative, o.semantic_score,
         o.extra, o.first_seen_at, o.changed_at, n.changed_at, o.retracted_at, o.is_backfilled, o.load_id, o.window_id,
         case
           when is_read_again then 'read again'
           when o.retracted_at is null and n.retracted_at is not null then 'retracted'
           when o.retracted_at is not null and n.retracted_at is null then 'returned'
           when (o.headline, o.language, o.source) is distinct from (n.headline, n.language, n.source)
             then 'text changed'
           when (o.topic_probability, o.directional_positive, o.directional_neutral, o.directional_negative,
                 o.directional_score, o.semantic_positive, o.semantic_neutral, o.semantic_negative, o.semantic_score)
             is distinct from
                (n.topic_probability, n.directional_positive, n.directional_neutral, n.directional_negative,
                 n.directional_score, n.semantic_positive, n.semantic_neutral, n.semantic_negative, n.semantic_score)
             then 'rescored'
           else 'other'
         end
  from old_rows o
  join new_rows n using (country, topic, match_type, published_at, headline_id)
  where n.changed_at > o.changed_at;
  return null;
end $$;

alter table gmsi.revisions drop constraint revisions_reason_check,
  add constraint revisions_reason_check check (reason in ('changed', 'retracted', 'returned', 'read again'));
comment on column gmsi.revisions.reason is 'Why it was replaced: changed (by the service), retracted, returned (after having been retracted), or read again (a replay filled columns from extra; the service changed nothing).';

create or replace function gmsi.keep_row_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $$
declare
  id text := tg_argv[0];
  key text := (select string_agg(format('%I', a), ', ') from unnest(tg_argv[1:]) as a);
  is_read_again boolean := coalesce(current_setting('gmsi.reading_again', true) = 'on', false);
begin
  execute format(
    'insert into gmsi.revisions (table_name, row_id, series, version, known_from, known_to, reason)
     select %L, o.%I, (select jsonb_object_agg(k, to_jsonb(o) -> k) from unnest(%L::text[]) as k), to_jsonb(o), o.changed_at, n.changed_at,
            case when %L::boolean then ''read again''
                 when o.retracted_at is null and n.retracted_at is not null then ''retracted''
                 when o.retracted_at is not null and n.retracted_at is null then ''returned''
                 else ''changed'' end
     from old_rows o join new_rows n using (%s, %I) where n.changed_at > o.changed_at',
    tg_table_name, id, tg_argv[1:], is_read_again, key, id);
  return null;
end $$;

-- Plain SQL: PostgreSQL reads it as part of the query around it, so the filters of that query reach the indexes.
create function gmsi.headlines_as_of(moment timestamptz) returns setof gmsi.headlines
  language sql stable parallel safe rows 100000 as $$
  select h.* from gmsi.headlines h where h.changed_at <= moment
  union all
  select r.headline_id, r.country, r.topic, r.match_type, r.published_at, r.headline, r.language, r.source, r.url,
         r.topic_probability, r.directional_positive, r.directional_neutral, r.directional_negative,
         r.directional_score, r.semantic_positive, r.semantic_neutral, r.semantic_negative, r.semantic_score,
         r.extra, r.first_seen_at, r.known_from, r.retracted_at, r.is_backfilled, r.load_id, r.window_id
  from gmsi.headline_revisions r where r.known_from <= moment and r.known_to > moment
$$;
comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it stood at a moment: the version of each headline that this warehouse held then, the retracted ones (retracted_at is set) included. Filters on country, topic and published_at reach the indexes.';

create view gmsi.headlines_point_in_time as
  select version.*,
         greatest(published_at, known_from) as usable_from,
         case when is_backfilled and is_first then published_at else greatest(published_at, known_from) end as assumed_from
  from (
    select h.headline_id, h.country, h.topic, h.match_type, h.published_at, h.headline, h.language, h.source, h.url,
           h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
           h.directional_score, h.semantic_positive, h.semantic_neutral, h.semantic_negative, h.semantic_score,
           h.changed_at as known_from, null::timestamptz as usable_to, h.is_backfilled,
           h.changed_at = h.first_seen_at or not exists (
             select from gmsi.headline_revisions before
             where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                 = (h.country, h.topic, h.match_type, h.published_at, h.headline_id)
               and before.reason <> 'read again') as is_first,
           h.load_id, h.window_id
    from gmsi.headlines h where h.retracted_at is null
    union all
    select r.headline_id, r.country, r.topic, r.match_type, r.published_at, r.headline, r.language, r.source, r.url,
           r.topic_probability, r.directional_positive, r.directional_neutral, r.directional_negative,
           r.directional_score, r.semantic_positive, r.semantic_neutral, r.semantic_negative, r.semantic_score,
           r.known_from, r.known_to, r.is_backfilled,
           r.known_from = r.first_seen_at or not exists (
             select from gmsi.headline_revisions before
             where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                 = (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
               and before.known_to <= r.known_from and before.reason <> 'read again'),
           r.load_id, r.window_id
    from gmsi.headline_revisions r where r.retracted_at is null
  ) as version;
comment on view gmsi.headlines_point_in_time is 'Every version of every headline with the time in which it may be used: from usable_from until before usable_to. A back-test that sees only these sees nothing that nobody could have known. Versions of a headline while it was retracted are left out.';
comment on column gmsi.headlines_point_in_time.headline_id is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.country is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.topic is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.match_type is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.published_at is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.headline is 'In this version.';
comment on column gmsi.headlines_point_in_time.language is 'In this version.';
comment on column gmsi.headlines_point_in_time.source is 'In this version.';
comment on column gmsi.headlines_point_in_time.url is 'In this version.';
comment on column gmsi.headlines_point_in_time.topic_probability is 'In this version.';
comment on column gmsi.headlines_point_in_time.directional_positive is 'In this version.';
comment on column gmsi.headlines_point_in_time.directional_neutral is 'In this version.';
comment on column gmsi.headlines_point_in_time.directional_negative is 'In this version.';
comment on column gmsi.headlines_point_in_time.directional_score is 'In this version.';
comment on column gmsi.headlines_point_in_time.semantic_positive is 'In this version.';
comment on column gmsi.headlines_point_in_time.semantic_neutral is 'In this version.';
comment on column gmsi.headlines_point_in_time.semantic_negative is 'In this version.';
comment on column gmsi.headlines_point_in_time.semantic_score is 'In this version.';
comment on column gmsi.headlines_point_in_time.known_from is 'When this warehouse first held this version.';
comment on column gmsi.headlines_point_in_time.usable_to is 'When the next version replaced it, or it was found retracted; null while it stands.';
comment on column gmsi.headlines_point_in_time.is_backfilled is 'True if the headline was first loaded after the fact: nobody watched when it appeared, or with what scores.';
comment on column gmsi.headlines_point_in_time.is_first is 'True for the first version of the headline that this warehouse held, and for one that only a replay has filled since: the service had not changed it.';
comment on column gmsi.headlines_point_in_time.load_id is 'Load that wrote this version.';
comment on column gmsi.headlines_point_in_time.window_id is 'Window that brought it; null if it came by the live feed or out of rejected_records.';
comment on column gmsi.headlines_point_in_time.usable_from is 'From when on it may honestly be used: it was published and this warehouse held it.';
comment on column gmsi.headlines_point_in_time.assumed_from is 'The same for those who trust that the service had a backfilled headline, with the scores that it returned later, when it was published. An assumption: scores revised before the backfill are look-ahead.';
