-- The feeds' tables: rows, partitions, replaced versions, and the headlines as of a moment.

-- The only function that runs with its owner's rights, because only the owner of a table can create its partitions.
create function gmsi.ensure_month_partition(parent text, month date) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  parent_id oid := (select c.oid from pg_catalog.pg_class c
                    where c.relnamespace = 'gmsi'::regnamespace and c.relname = parent and c.relkind = 'p'
                      and c.relowner = (select r.oid from pg_catalog.pg_roles r where r.rolname = current_user));
  first_day date := date_trunc('month', month::timestamp)::date;
  part text := format('%s_%s', parent, to_char(first_day, 'YYYY_MM'));
  statistics text := (select string_agg(format('alter column %I set statistics %s', a.attname, a.attstattarget), ', ')
                      from pg_catalog.pg_attribute a
                      where a.attrelid = parent_id and a.attnum > 0 and not a.attisdropped and a.attstattarget >= 0);
  held record;
begin
  if parent_id is null then
    raise exception 'gmsi.% is no partitioned table of this warehouse', parent using errcode = 'undefined_table';
  end if;
  -- Only years that a record's time may have, so that no caller can fill the catalog with partitions.
  if month is null or month not between date '1900-01-01' and date '2100-12-31' then
    raise exception 'no partition is made for %: it is not between 1900 and 2100', coalesce(month::text, 'no month')
      using errcode = 'datetime_field_overflow';
  end if;
  -- PostgreSQL would truncate the name, and two months would get the same one.
  if octet_length(part) > 63 then
    raise exception 'the name % is too long for a table', part using errcode = 'name_too_long';
  end if;
  -- Reads pg_class, because to_regclass could answer from a stale cache after the wait for the lock.
  perform pg_advisory_xact_lock(hashtext('gmsi.ensure_month_partition'));
  if exists (select from pg_catalog.pg_class c join pg_catalog.pg_inherits i on i.inhrelid = c.oid
             where c.relnamespace = 'gmsi'::regnamespace and c.relname = part and i.inhparent = parent_id) then
    return;
  end if;
  if exists (select from pg_catalog.pg_class c where c.relnamespace = 'gmsi'::regnamespace and c.relname = part) then
    raise exception 'gmsi.% is no partition of gmsi.%: it was detached, and rows of its month are to be loaded', part, parent
      using hint = 'Attach it again, or move it to another schema.';
  end if;
  -- Attached, because "create table … partition of" would wait for every running load, and block the others meanwhile.
  -- Attaching adds identity columns, and PostgreSQL refuses a partition that already has one.
  execute format('create table gmsi.%I (like gmsi.%I including all excluding identity)', part, parent);
  if statistics is not null then
    execute format('alter table gmsi.%I %s', part, statistics);
  end if;
  execute format('alter table gmsi.%I attach partition gmsi.%I for values from (%L) to (%L)', parent, part,
                 to_char(first_day, 'YYYY-MM-DD "00:00:00+00"'),
                 to_char(first_day + interval '1 month', 'YYYY-MM-DD "00:00:00+00"'));
  for held in
    select acl.privilege_type as privilege, case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as grantee
    from pg_catalog.pg_class c cross join aclexplode(c.relacl) as acl
    where c.oid = parent_id and acl.grantee <> c.relowner
  loop
    execute format('grant %s on gmsi.%I to %s', held.privilege, part, held.grantee);
  end loop;
end $$;
comment on function gmsi.ensure_month_partition(text, date) is 'Creates the partition of a table for the month of a day, from 1900 to 2100, if it does not exist yet. Runs with the rights of its owner, so that a loading user need not own the tables.';
-- A reader must not be able to create tables with it.
revoke execute on function gmsi.ensure_month_partition(text, date) from public;

create table gmsi.headlines (
  headline_id uuid not null,
  country text not null,
  topic text not null,
  match_type text not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  topic_probability double precision,
  directional_positive double precision,
  directional_neutral double precision,
  directional_negative double precision,
  directional_score double precision,
  semantic_positive double precision,
  semantic_neutral double precision,
  semantic_negative double precision,
  semantic_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  -- Includes country and the partition column, so that the table can be distributed by country.
  primary key (country, topic, match_type, published_at, headline_id)
) partition by range (published_at);
-- When a headline that was not backfilled was first known, for gmsi.signal_at. Few rows are in it: only what syncs brought.
create index headlines_witnessed on gmsi.headlines (country, topic, match_type, (greatest(published_at, first_seen_at)))
  where not is_backfilled;
comment on table gmsi.headlines is 'The current version of each headline, one row for each country, topic and match type that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.headlines.headline_id is 'Identity: the service''s own id if a record has one, else a hash of publication time, text, source and language, else of all its content. The same headline has the same id under every country and topic, except in the last case.';
comment on column gmsi.headlines.country is 'Country that was requested.';
comment on column gmsi.headlines.topic is 'Topic that was requested.';
comment on column gmsi.headlines.match_type is 'Match type that was requested: COMBINED, DOMESTIC or INTERNATIONAL. A record''s own match type, if it has one, is in extra.';
comment on column gmsi.headlines.published_at is 'Publication time; the service may round it to the hour. Times without a zone are read as UTC.';
comment on column gmsi.headlines.headline is 'Text of the headline.';
comment on column gmsi.headlines.language is 'Language of the headline.';
comment on column gmsi.headlines.source is 'Publisher.';
comment on column gmsi.headlines.url is 'Address of the article.';
comment on column gmsi.headlines.topic_probability is 'Probability (0 to 1) that the headline belongs to the topic.';
comment on column gmsi.headlines.directional_positive is 'Directional model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.directional_neutral is 'Directional model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.directional_negative is 'Directional model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.directional_score is 'Directional score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.semantic_positive is 'Semantic model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.semantic_neutral is 'Semantic model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.semantic_negative is 'Semantic model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.semantic_score is 'Semantic score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.extra is 'Every field of the record that has no column.';
comment on column gmsi.headlines.first_seen_at is 'When this warehouse first stored the headline.';
comment on column gmsi.headlines.changed_at is 'When this warehouse first stored this version.';
comment on column gmsi.headlines.retracted_at is 'When a load found that the service no longer returns it; null while the service returns it.';
comment on column gmsi.headlines.is_backfilled is 'True if it was first loaded after the fact, by a backfill or an import: first_seen_at then says nothing about when the service published it.';
comment on column gmsi.headlines.load_id is 'Load that wrote this version.';
comment on column gmsi.headlines.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';

create table gmsi.headline_revisions (
  headline_id uuid not null,
  country text not null,
  topic text not null,
  match_type text not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  topic_probability double precision,
  directional_positive double precision,
  directional_neutral double precision,
  directional_negative double precision,
  directional_score double precision,
  semantic_positive double precision,
  semantic_neutral double precision,
  semantic_negative double precision,
  semantic_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null,
  known_from timestamptz not null,
  known_to timestamptz not null check (known_to > known_from),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  reason text not null check (reason in ('rescored', 'text changed', 'retracted', 'returned', 'read again', 'other')),
  primary key (country, topic, match_type, published_at, headline_id, known_from)
);
create index headline_revisions_witnessed
  on gmsi.headline_revisions (country, topic, match_type, (greatest(published_at, first_seen_at))) where not is_backfilled;
comment on table gmsi.headline_revisions is 'Replaced versions of headlines: each was in gmsi.headlines from known_from until known_to.';
comment on column gmsi.headline_revisions.headline_id is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.country is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.topic is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.match_type is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.published_at is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.headline is 'In this version.';
comment on column gmsi.headline_revisions.language is 'In this version.';
comment on column gmsi.headline_revisions.source is 'In this version.';
comment on column gmsi.headline_revisions.url is 'In this version.';
comment on column gmsi.headline_revisions.topic_probability is 'In this version.';
comment on column gmsi.headline_revisions.directional_positive is 'In this version.';
comment on column gmsi.headline_revisions.directional_neutral is 'In this version.';
comment on column gmsi.headline_revisions.directional_negative is 'In this version.';
comment on column gmsi.headline_revisions.directional_score is 'In this version.';
comment on column gmsi.headline_revisions.semantic_positive is 'In this version.';
comment on column gmsi.headline_revisions.semantic_neutral is 'In this version.';
comment on column gmsi.headline_revisions.semantic_negative is 'In this version.';
comment on column gmsi.headline_revisions.semantic_score is 'In this version.';
comment on column gmsi.headline_revisions.extra is 'In this version.';
comment on column gmsi.headline_revisions.first_seen_at is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.known_from is 'When this warehouse first stored this version (its changed_at).';
comment on column gmsi.headline_revisions.known_to is 'When the next version replaced it (the changed_at of that version).';
comment on column gmsi.headline_revisions.retracted_at is 'In this version; set if the headline was retracted.';
comment on column gmsi.headline_revisions.is_backfilled is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.load_id is 'Load that wrote this version.';
comment on column gmsi.headline_revisions.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, returned (after a retraction), read again (a replay filled columns from extra; the service changed nothing), or other (url or extra).';

-- No nested loops: the plan is made for the first call, which may have no rows, and a nested loop would be slow for the thousands of
-- rows of later calls. No JIT: if PostgreSQL up to 17 needs a nested loop anyway, its cost looks so high that the plan is compiled,
-- which takes longer than the query.
create function gmsi.keep_headline_revisions() returns trigger
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
comment on function gmsi.keep_headline_revisions() is 'Stores each version that an update of gmsi.headlines replaces. A statement-level trigger: one call per page, whatever the number of rows.';
create trigger keep_revisions after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_headline_revisions();

create table gmsi.revisions (
  table_name text not null,
  row_id uuid not null,
  series jsonb not null,
  version jsonb not null,
  known_from timestamptz not null,
  known_to timestamptz not null check (known_to > known_from),
  reason text not null default 'changed' check (reason in ('changed', 'retracted', 'returned', 'read again')),
  primary key (table_name, series, row_id, known_from)
);
comment on table gmsi.revisions is 'Replaced versions of the rows of all feeds'' tables except gmsi.headlines, which has gmsi.headline_revisions.';
comment on column gmsi.revisions.table_name is 'Table of the row.';
comment on column gmsi.revisions.row_id is 'Id of the row in that table.';
comment on column gmsi.revisions.series is 'The columns that identify its series, and its time.';
comment on column gmsi.revisions.version is 'The whole row in this version.';
comment on column gmsi.revisions.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.revisions.known_to is 'When the next version replaced it.';
comment on column gmsi.revisions.reason is 'Why it was replaced: changed (by the service), retracted, returned (after a retraction), or read again (a replay filled columns from extra; the service changed nothing).';

create function gmsi.keep_row_revisions() returns trigger
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
comment on function gmsi.keep_row_revisions() is 'Stores each version that an update of a feed''s table replaces.';

create table gmsi.ticker_headlines (
  ticker text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  ticker_name text,
  headline text,
  language text,
  source text,
  url text,
  topic text,
  topic_probability double precision,
  record_match_type text,
  sentiment_score double precision,
  bearish_probability double precision,
  neutral_probability double precision,
  bullish_probability double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (ticker, match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_headlines is 'The current version of each headline, one row for each ticker, match type and variant that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.ticker_headlines.ticker is 'Ticker that was requested.';
comment on column gmsi.ticker_headlines.match_type is 'Match type that was requested: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.variant is 'Further parameters of the request, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_headlines.entry_id is 'Identity: a hash of headline_id and topic: a headline can be about several topics, and has a row for each.';
comment on column gmsi.ticker_headlines.headline_id is 'The headline, as in gmsi.headlines.';
comment on column gmsi.ticker_headlines.published_at is 'Publication time. Times without a zone are read as UTC.';
comment on column gmsi.ticker_headlines.ticker_name is 'Name of the asset.';
comment on column gmsi.ticker_headlines.headline is 'Text of the headline, if the service sends it.';
comment on column gmsi.ticker_headlines.language is 'Language of the headline.';
comment on column gmsi.ticker_headlines.source is 'Publisher, if the service sends it.';
comment on column gmsi.ticker_headlines.url is 'Address of the article, if the service sends it.';
comment on column gmsi.ticker_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.ticker_headlines.topic_probability is 'Probability (0 to 1) of the topic.';
comment on column gmsi.ticker_headlines.record_match_type is 'How the headline mentions the asset, according to the record: EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.ticker_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.ticker_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.ticker_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';
comment on column gmsi.ticker_headlines.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.ticker_headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'match_type', 'variant', 'published_at');

create table gmsi.ticker_events (
  ticker text not null,
  variant text not null,
  event_id uuid not null,
  event_at timestamptz not null,
  event_name text,
  summary text,
  event_type text,
  direction text,
  impact text,
  topic text,
  extra jsonb,
  impact_number double precision generated always as (case when impact ~ '^[-+]?[0-9]*[.]?[0-9]+$' then impact::double precision end) stored,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (ticker, variant, event_at, event_id)
);
comment on table gmsi.ticker_events is 'The current version of each event of a ticker.';
comment on column gmsi.ticker_events.ticker is 'Ticker that was requested.';
comment on column gmsi.ticker_events.variant is 'Further parameters of the request, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_events.event_id is 'Identity: the service''s own id if there is one, else a hash of time, name, type and topic, else of all content.';
comment on column gmsi.ticker_events.event_at is 'Date of the event (event_date).';
comment on column gmsi.ticker_events.event_name is 'Name of the event.';
comment on column gmsi.ticker_events.summary is 'Summary.';
comment on column gmsi.ticker_events.event_type is 'Type, according to the record.';
comment on column gmsi.ticker_events.direction is 'Bullish or Bearish.';
comment on column gmsi.ticker_events.impact is 'Impact as sent: a number, or a word such as High.';
comment on column gmsi.ticker_events.topic is 'Topic.';
comment on column gmsi.ticker_events.impact_number is 'impact as a number, if it is one.';
comment on column gmsi.ticker_events.window_id is 'Window that brought this version; null if it came from rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.ticker_events
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('event_id', 'ticker', 'variant', 'event_at');

create table gmsi.ticker_event_headlines (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  event_id text,
  event_name text,
  event_at timestamptz,
  event_type text,
  topic text,
  sentiment_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (ticker, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_event_headlines is 'The current version of each headline about an event of a ticker. Partitioned by month of published_at.';
comment on column gmsi.ticker_event_headlines.ticker is 'Ticker that was requested.';
comment on column gmsi.ticker_event_headlines.variant is 'Further parameters of the request, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_event_headlines.entry_id is 'Identity: a hash of headline_id and event: a headline can be about several events, and has a row for each.';
comment on column gmsi.ticker_event_headlines.headline_id is 'The headline, as in gmsi.headlines.';
comment on column gmsi.ticker_event_headlines.published_at is 'Publication time.';
comment on column gmsi.ticker_event_headlines.headline is 'Text of the headline.';
comment on column gmsi.ticker_event_headlines.language is 'Language.';
comment on column gmsi.ticker_event_headlines.source is 'Publisher.';
comment on column gmsi.ticker_event_headlines.url is 'Address of the article.';
comment on column gmsi.ticker_event_headlines.event_id is 'Id of the event as the service sends it.';
comment on column gmsi.ticker_event_headlines.event_name is 'Name of the event.';
comment on column gmsi.ticker_event_headlines.event_at is 'Date of the event.';
comment on column gmsi.ticker_event_headlines.event_type is 'Type of the event.';
comment on column gmsi.ticker_event_headlines.topic is 'Topic.';
comment on column gmsi.ticker_event_headlines.sentiment_score is 'Sentiment, if the service sends it.';
comment on column gmsi.ticker_event_headlines.window_id is 'Window that brought this version; null if it came from rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.ticker_event_headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'variant', 'published_at');

create table gmsi.ticker_index (
  ticker text not null,
  index_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  record_index_type text,
  headline_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  hour_stamp text not null generated always as (case when variant ~ '(^|&)align_to_period_end=true(&|$)' then 'end' when variant ~ '(^|&)align_to_period_end=false(&|$)' then 'beginning' else 'unknown' end) stored,
  hour_ends_at timestamptz not null generated always as (
    case when variant ~ '(^|&)align_to_period_end=true(&|$)' then published_at else (published_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC' end) stored,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (ticker, index_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_index is 'Hourly headline sentiment of a ticker by topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.ticker_index.ticker is 'Ticker that was requested.';
comment on column gmsi.ticker_index.index_type is 'Index type that was requested: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_index.variant is 'Further parameters of the request, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_index.entry_id is 'Identity: a hash of time, topic and record_index_type.';
comment on column gmsi.ticker_index.published_at is 'The hour as the service stamps it: its beginning or its end, as hour_stamp says. An hour that is stamped at its beginning holds headlines that nobody had then.';
comment on column gmsi.ticker_index.topic is 'Topic.';
comment on column gmsi.ticker_index.record_index_type is 'Index type, according to the record.';
comment on column gmsi.ticker_index.headline_count is 'Number of headlines in the hour.';
comment on column gmsi.ticker_index.sentiment_sum is 'Sum of their scores; divided by headline_count it is the mean.';
comment on column gmsi.ticker_index.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.ticker_index.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.ticker_index.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.ticker_index
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'index_type', 'variant', 'published_at');

create table gmsi.gmsi_index (
  country text not null,
  topic text not null,
  index_type text not null,
  sentiment_type text not null,
  sparse text not null,
  align_to_period_end text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic_name text,
  headline_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  hour_stamp text not null generated always as (case when align_to_period_end = 'true' then 'end' when align_to_period_end = 'false' then 'beginning' else 'unknown' end) stored,
  hour_ends_at timestamptz not null generated always as (
    case when align_to_period_end = 'true' then published_at else (published_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC' end) stored,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (country, topic, index_type, sentiment_type, sparse, align_to_period_end, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.gmsi_index is 'Hourly headline sentiment of a country and topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.gmsi_index.country is 'Country that was requested.';
comment on column gmsi.gmsi_index.topic is 'Topic that was requested.';
comment on column gmsi.gmsi_index.index_type is 'Index type that was requested: COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.gmsi_index.sentiment_type is 'Model: directional or semantic_sentiment.';
comment on column gmsi.gmsi_index.sparse is 'Parameter of the request: true if only hours with headlines were asked for; empty if it was not sent.';
comment on column gmsi.gmsi_index.align_to_period_end is 'Parameter of the request: true if hours were to be stamped at their end, false at their beginning; empty if it was not sent.';
comment on column gmsi.gmsi_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.gmsi_index.published_at is 'The hour as the service stamps it: its beginning or its end, as hour_stamp says. An hour that is stamped at its beginning holds headlines that nobody had then.';
comment on column gmsi.gmsi_index.topic_name is 'Topic, according to the record.';
comment on column gmsi.gmsi_index.headline_count is 'Number of headlines in the hour.';
comment on column gmsi.gmsi_index.sentiment_sum is 'Sum of their scores; divided by headline_count it is the mean.';
comment on column gmsi.gmsi_index.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.gmsi_index.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.gmsi_index.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.gmsi_index
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'country', 'topic', 'index_type', 'sentiment_type', 'sparse', 'align_to_period_end', 'published_at');

create table gmsi.regional_index (
  index_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  country text not null,
  topic text,
  headline_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  extra jsonb,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  hour_stamp text not null generated always as (case when variant ~ '(^|&)align_to_period_end=true(&|$)' then 'end' when variant ~ '(^|&)align_to_period_end=false(&|$)' then 'beginning' else 'unknown' end) stored,
  hour_ends_at timestamptz not null generated always as (
    case when variant ~ '(^|&)align_to_period_end=true(&|$)' then published_at else (published_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC' end) stored,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (index_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.regional_index is 'Hourly headline sentiment of each country of a group by topic, as the service aggregates it (the regional macro index). Partitioned by month of published_at.';
comment on column gmsi.regional_index.index_type is 'Index type that was requested: COMBINED, EXPLICIT or IMPLICIT; of an archive DOMESTIC or INTERNATIONAL.';
comment on column gmsi.regional_index.variant is 'Further parameters of the request, as name=value&name=value: model, country_preset and others. An hour of a country has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.regional_index.entry_id is 'Identity: a hash of time, topic and country.';
comment on column gmsi.regional_index.published_at is 'The hour as the service stamps it: its beginning or its end, as hour_stamp says. An hour that is stamped at its beginning holds headlines that nobody had then.';
comment on column gmsi.regional_index.country is 'Name of the country, according to the record.';
comment on column gmsi.regional_index.topic is 'Topic.';
comment on column gmsi.regional_index.headline_count is 'Number of headlines in the hour.';
comment on column gmsi.regional_index.sentiment_sum is 'Sum of their scores; divided by headline_count it is the mean.';
comment on column gmsi.regional_index.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.regional_index.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.regional_index.sentiment_avg is 'Mean of their scores as the service sends it.';
comment on column gmsi.regional_index.model is 'Model that was requested: macro_1, macro_2 or macro_3; null in rows of an archive, which does not say it.';
comment on column gmsi.regional_index.window_id is 'Window that brought this version; null if it came from the live feed, rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.regional_index
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'index_type', 'variant', 'published_at');

create table gmsi.ticker_event_metrics (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  event_type text,
  topic text,
  event_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (ticker, variant, published_at, entry_id)
);
comment on table gmsi.ticker_event_metrics is 'Event sentiment metrics of a ticker, as the service aggregates them. Their fields are not documented; those without a column are in extra.';
comment on column gmsi.ticker_event_metrics.ticker is 'Ticker that was requested.';
comment on column gmsi.ticker_event_metrics.variant is 'Further parameters of the request, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_event_metrics.entry_id is 'Identity: a hash of time, event type and topic.';
comment on column gmsi.ticker_event_metrics.published_at is 'Time of the metric.';
comment on column gmsi.ticker_event_metrics.event_type is 'Event type.';
comment on column gmsi.ticker_event_metrics.topic is 'Topic.';
comment on column gmsi.ticker_event_metrics.event_count is 'Number of events.';
comment on column gmsi.ticker_event_metrics.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.ticker_event_metrics.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.ticker_event_metrics.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.ticker_event_metrics.window_id is 'Window that brought this version; null if it came from rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.ticker_event_metrics
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'variant', 'published_at');

create table gmsi.event_query_metrics (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  ticker text,
  event_type text,
  topic text,
  event_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  primary key (variant, published_at, entry_id)
);
comment on table gmsi.event_query_metrics is 'Results of the custom query for event sentiment metrics (POST /events/index/query).';
comment on column gmsi.event_query_metrics.variant is 'Which query: a hash of the body in the job file.';
comment on column gmsi.event_query_metrics.entry_id is 'Identity: a hash of time, ticker, event type and topic.';
comment on column gmsi.event_query_metrics.published_at is 'Time of the metric.';
comment on column gmsi.event_query_metrics.ticker is 'Ticker, according to the record.';
comment on column gmsi.event_query_metrics.event_type is 'Event type.';
comment on column gmsi.event_query_metrics.topic is 'Topic.';
comment on column gmsi.event_query_metrics.event_count is 'Number of events.';
comment on column gmsi.event_query_metrics.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.event_query_metrics.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.event_query_metrics.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.event_query_metrics.window_id is 'Window that brought this version; null if it came from rejected_records or an imported file.';
create trigger keep_revisions after update on gmsi.event_query_metrics
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'variant', 'published_at');

-- The columns that the tables of all feeds except gmsi-headlines have in common.
do $$
declare
  feed text;
begin
  foreach feed in array array[
    'ticker_headlines', 'ticker_events', 'ticker_event_headlines', 'ticker_index', 'gmsi_index', 'regional_index',
    'ticker_event_metrics', 'event_query_metrics']
  loop
    execute format($c$comment on column gmsi.%I.extra is 'Every field of the record that has no column.'$c$, feed);
    execute format($c$comment on column gmsi.%I.first_seen_at is 'When this warehouse first held the row.'$c$, feed);
    execute format($c$comment on column gmsi.%I.changed_at is 'When this warehouse first stored this version.'$c$, feed);
    execute format($c$comment on column gmsi.%I.retracted_at is 'When a load found that the service no longer returns it; null while the service returns it.'$c$, feed);
    execute format($c$comment on column gmsi.%I.is_backfilled is 'True if it was first loaded after the fact, by a backfill or an import.'$c$, feed);
    execute format($c$comment on column gmsi.%I.load_id is 'Load that wrote this version.'$c$, feed);
  end loop;
  foreach feed in array array['ticker_index', 'gmsi_index', 'regional_index'] loop
    execute format($c$comment on column gmsi.%I.hour_stamp is 'What published_at is: end or beginning of the hour, as the request had align_to_period_end; unknown if it had not, because the service''s own default is not known.'$c$, feed);
    execute format($c$comment on column gmsi.%I.hour_ends_at is 'When the hour is over at the latest: published_at if it is the end of the hour, else an hour later. A back-test may use the row from then on, and not before. It is at most an hour after published_at: filter by both, because the table is partitioned by published_at.'$c$, feed);
  end loop;
end $$;

-- Autovacuum analyzes a partition each time that it has grown by a tenth. With the default target, that took half of the CPU that
-- PostgreSQL spent on loading the rows; with this one, ANALYZE reads 9,000 rows instead of 30,000. It leaves out columns whose
-- statistics change no plan, but took almost half of its time on headlines. Not headline: with an index for its words, PostgreSQL has
-- to know them.
do $$
declare
  held record;
begin
  for held in
    select a.attrelid::regclass as name, string_agg(
      format('alter column %I set statistics %s', a.attname, case when a.attname in ('url', 'extra') then 0 else 30 end), ', ') as statistics
    from pg_catalog.pg_attribute a
    where a.attnum > 0 and a.attrelid in (
      select c.oid from pg_catalog.pg_class c join pg_catalog.pg_attribute e on e.attrelid = c.oid and e.attname = 'extra'
      where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p'))
    group by a.attrelid
  loop
    execute format('alter table %s %s', held.name, held.statistics);
  end loop;
end $$;

create function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval '10 seconds';
comment on function gmsi.as_of_delay() is 'For a moment longer ago than this, the answer of headlines_as_of never changes. A transaction that writes rows must commit within half of this time, or it is rolled back and tried again. If the disk is slow, the owner may replace the function: create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval ''30 seconds''.';

-- A function, because its plan is kept: written out, these settings would be planned for each page.
create function gmsi.bound_transaction() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quarter integer := 250 * least(greatest(extract(epoch from gmsi.as_of_delay()), 0.01), 1e6);
begin
  perform set_config('lock_timeout', quarter::text, true),
          set_config('statement_timeout', (2 * quarter)::text, true),
          set_config('idle_in_transaction_session_timeout', (2 * quarter)::text, true),
          set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('jit', 'off', true);
end $$;
comment on function gmsi.bound_transaction() is 'Ends the transaction that calls it if a statement or a pause takes longer than half of gmsi.as_of_delay(), or the wait for a lock longer than a quarter, because it could no longer be committed. Sent together with every beginning of a transaction that writes feed rows.';

create function gmsi.refuse_late_commit() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  took interval := clock_timestamp() - transaction_timestamp();
begin
  if took > gmsi.as_of_delay() / 2 then
    raise exception 'the transaction took % s, more than half of gmsi.as_of_delay(), which is % s',
                    round(extract(epoch from took), 1), extract(epoch from gmsi.as_of_delay())::float8
      using errcode = '25P04';
  end if;
end $$;
comment on function gmsi.refuse_late_commit() is 'Fails if the transaction is older than half of gmsi.as_of_delay(), because the changed_at of its rows is the time at which it began, and a query as of that moment may already have been answered. Sent together with every COMMIT of feed rows.';

-- Names its columns, so that a column that somebody adds to gmsi.headlines does not break it.
create function gmsi.headlines_as_of(moment timestamptz) returns table (
  headline_id uuid, country text, topic text, match_type text, published_at timestamptz,
  headline text, language text, source text, url text, topic_probability double precision,
  directional_positive double precision, directional_neutral double precision, directional_negative double precision,
  directional_score double precision, semantic_positive double precision, semantic_neutral double precision,
  semantic_negative double precision, semantic_score double precision,
  extra jsonb, first_seen_at timestamptz, changed_at timestamptz, retracted_at timestamptz,
  is_backfilled boolean, load_id bigint, window_id bigint)
  -- Plain SQL without "set", so that PostgreSQL inlines it and the filters of the query around it use the indexes.
  language sql stable parallel safe rows 100000 as $$
  select h.headline_id, h.country, h.topic, h.match_type, h.published_at, h.headline, h.language, h.source, h.url,
         h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
         h.directional_score, h.semantic_positive, h.semantic_neutral, h.semantic_negative, h.semantic_score,
         h.extra, h.first_seen_at, h.changed_at, h.retracted_at, h.is_backfilled, h.load_id, h.window_id
  from gmsi.headlines h where h.changed_at <= moment
  union all
  select r.headline_id, r.country, r.topic, r.match_type, r.published_at, r.headline, r.language, r.source, r.url,
         r.topic_probability, r.directional_positive, r.directional_neutral, r.directional_negative,
         r.directional_score, r.semantic_positive, r.semantic_neutral, r.semantic_negative, r.semantic_score,
         r.extra, r.first_seen_at, r.known_from, r.retracted_at, r.is_backfilled, r.load_id, r.window_id
  from gmsi.headline_revisions r where r.known_from <= moment and r.known_to > moment
$$;
comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it was at a moment: the version of each headline that this warehouse held then, including retracted ones (retracted_at is set). It does not have columns that somebody added to gmsi.headlines. For a moment more than gmsi.as_of_delay() ago, the answer never changes. Filters on country, topic and published_at use the indexes.';

-- The same for the other feeds, whose replaced versions are whole rows in gmsi.revisions.
do $$
declare
  name text;
begin
  foreach name in array array['ticker_headlines', 'ticker_events', 'ticker_event_headlines', 'ticker_index', 'gmsi_index',
                              'regional_index', 'ticker_event_metrics', 'event_query_metrics'] loop
    execute format(
      'create function gmsi.%1$I(moment timestamptz) returns setof gmsi.%2$I
         language sql stable parallel safe rows 100000 as $f$
         select * from gmsi.%2$I where changed_at <= moment
         union all
         select version.* from gmsi.revisions r cross join lateral jsonb_populate_record(null::gmsi.%2$I, r.version) as version
         where r.table_name = %2$L and r.known_from <= moment and r.known_to > moment $f$', name || '_as_of', name);
    execute format(
      'comment on function gmsi.%1$I(timestamptz) is %3$L', name || '_as_of', name,
      format('gmsi.%s exactly as it was at a moment, including retracted rows (retracted_at is set). For a moment more than gmsi.as_of_delay() ago, the answer never changes.', name));
  end loop;
end $$;

create function gmsi.published_by(stamp timestamptz, rounding text default 'second, some on the hour') returns timestamptz
  language sql stable parallel safe return
  stamp + case
    when rounding = 'day' then interval '24 hours'
    when rounding = 'hour' then interval '1 hour'
    when rounding in ('minute, some on the hour', 'second, some on the hour')
      and date_bin('1 hour', stamp, '1900-01-01 00:00+00') = stamp then interval '1 hour'
    when rounding in ('minute', 'minute, some on the hour') then interval '1 minute'
    when rounding in ('second', 'second, some on the hour') then interval '0'
    -- A misspelt name must be an error that shows it, not look-ahead.
    else interval '1 hour' * ('no rounding: ' || coalesce(rounding, 'null'))::double precision end;
comment on function gmsi.published_by(timestamptz, text) is 'By when something with this time was published for certain, if the service rounds times down: by day, hour, minute or second (which is exact). "second, some on the hour", the default, and "minute, some on the hour" say that times on the full hour may have been rounded down to it. gmsi doctor --probe says which of them the service''s times look like.';

create view gmsi.headlines_point_in_time as
  select version.*,
         case when is_backfilled then gmsi.published_by(published_at) else greatest(published_at, first_seen_at) end as entered_at,
         greatest(published_at, known_from) as usable_from,
         case when not (is_backfilled and is_first) then greatest(published_at, known_from)
              -- A version that a replay completed is the same one: only the completed one counts.
              when reason is distinct from 'read again' then gmsi.published_by(published_at) end as assumed_from
  from (
    select h.headline_id, h.country, h.topic, h.match_type, h.published_at, h.headline, h.language, h.source, h.url,
           h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
           h.directional_score, h.semantic_positive, h.semantic_neutral, h.semantic_negative, h.semantic_score,
           h.first_seen_at, h.changed_at as known_from, null::timestamptz as usable_to, null::text as reason, h.is_backfilled,
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
           r.first_seen_at, r.known_from, r.known_to, r.reason, r.is_backfilled,
           r.known_from = r.first_seen_at or not exists (
             select from gmsi.headline_revisions before
             where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                 = (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
               and before.known_to <= r.known_from and before.reason <> 'read again'),
           r.load_id, r.window_id
    from gmsi.headline_revisions r where r.retracted_at is null
  ) as version;
comment on view gmsi.headlines_point_in_time is 'Every version of every headline with the time in which a back-test may use it: from usable_from (inclusive) until usable_to (exclusive). A back-test that follows these times uses nothing that was not known at the time. Versions in which the headline was retracted are left out.';
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
comment on column gmsi.headlines_point_in_time.first_seen_at is 'As in gmsi.headlines.';
comment on column gmsi.headlines_point_in_time.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.headlines_point_in_time.usable_to is 'When the next version replaced it, or when it was marked retracted; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.reason is 'Why it was replaced, as in gmsi.headline_revisions; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.is_backfilled is 'True if the headline was first loaded after the fact, by a backfill or an import: it is not known when it appeared, or with which scores.';
comment on column gmsi.headlines_point_in_time.is_first is 'True for the first version of the headline that this warehouse held, and for a version that differs from it only because a replay filled columns.';
comment on column gmsi.headlines_point_in_time.load_id is 'Load that wrote this version.';
comment on column gmsi.headlines_point_in_time.window_id is 'Window that brought it; null if it came from the live feed, rejected_records or an imported file.';
comment on column gmsi.headlines_point_in_time.entered_at is 'When the headline became known, the same in all its versions: when it was published and this warehouse first held it, or if it was backfilled, when it was published (gmsi.published_by). A back-test that counts, at each decision, what entered since the decision before counts each headline once.';
comment on column gmsi.headlines_point_in_time.usable_from is 'From when on a back-test may use it without look-ahead: it was published, and this warehouse held it.';
comment on column gmsi.headlines_point_in_time.assumed_from is 'The same, on the assumption that a backfilled headline had its scores when it was published. If the service revised them before the backfill, that is look-ahead. A headline with a time on the full hour counts from the end of that hour, because the service may round times down (gmsi.published_by). Null for a version that a replay completed: the completed one counts instead.';
