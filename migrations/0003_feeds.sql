-- The feeds' tables: current rows, and the versions that they replaced.

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
  asked_at timestamptz not null default now(),
  moved_from timestamptz,
  model_version text,
  -- Includes country and the partition column, so that the table can be distributed by country.
  primary key (country, topic, match_type, published_at, headline_id)
) partition by range (published_at);

-- For gmsi.signals: when a headline that was not backfilled became known. The index is small, because only syncs load such rows.
create index headlines_witnessed on gmsi.headlines (country, topic, match_type, (greatest(coalesce(moved_from, published_at), first_seen_at)))
  where not is_backfilled;

-- The columns that a headline and its replaced versions have in common. They have a type of their own, so that a column that a user
-- adds to gmsi.headlines does not change what gmsi.headlines_as_of returns.
do $$ begin
  execute (select format('create type gmsi.headline_version as (%s)',
                         string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum))
           from pg_attribute where attrelid = 'gmsi.headlines'::regclass and attnum > 0);
end $$;

create table gmsi.headline_revisions (
  like gmsi.headlines,
  known_to timestamptz not null,
  reason text not null check (reason in ('rescored', 'text changed', 'retracted', 'moved', 'returned', 'read again', 'other'))
);

alter table gmsi.headline_revisions rename changed_at to known_from;
alter table gmsi.headline_revisions add check (known_to > known_from),
  add primary key (country, topic, match_type, published_at, headline_id, known_from);
create index headline_revisions_witnessed
  on gmsi.headline_revisions (country, topic, match_type, (greatest(coalesce(moved_from, published_at), first_seen_at)))
  where not is_backfilled;
-- Small, because revisions are stored in the order of known_to.
create index headline_revisions_by_time on gmsi.headline_revisions using brin (known_to);

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
  primary key (ticker, match_type, variant, published_at, entry_id)
) partition by range (published_at);

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
  impact_number double precision generated always as (case when impact ~ '^[-+]?[0-9]*[.]?[0-9]+$' then impact::double precision end) stored,
  primary key (ticker, variant, event_at, event_id)
);

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
  primary key (ticker, variant, published_at, entry_id)
) partition by range (published_at);

create table gmsi.ticker_index (
  ticker text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  record_match_type text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (ticker, match_type, variant, published_at, entry_id)
) partition by range (published_at);

create table gmsi.gmsi_index (
  country text not null,
  topic text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic_name text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_type text generated always as (substring(variant from '(?:^|&)sentiment_type=([^&]*)')) stored,
  primary key (country, topic, match_type, variant, published_at, entry_id)
) partition by range (published_at);

create table gmsi.regional_index (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);

create table gmsi.global_index (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);

create table gmsi.ticker_event_metrics (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  event_type text,
  topic text,
  event_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (ticker, variant, published_at, entry_id)
);

create table gmsi.event_query_metrics (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  ticker text,
  event_type text,
  topic text,
  event_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (variant, published_at, entry_id)
);

create table gmsi.regional_index_query (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  primary key (variant, published_at, entry_id)
);

create table gmsi.global_index_query (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  primary key (variant, published_at, entry_id)
);

create table gmsi.macro_headlines (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
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
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);

-- The columns that the rows of all these feeds have, and those of hourly indices.
do $$
declare
  feed_table text;
begin
  foreach feed_table in array array[
    'ticker_headlines', 'ticker_events', 'ticker_event_headlines', 'ticker_index', 'gmsi_index', 'regional_index', 'global_index',
    'ticker_event_metrics', 'event_query_metrics', 'regional_index_query', 'global_index_query', 'macro_headlines']
  loop
    execute format(
      'alter table gmsi.%I
         add extra jsonb,
         add first_seen_at timestamptz not null default now(),
         add changed_at timestamptz not null default now(),
         add retracted_at timestamptz,
         add is_backfilled boolean not null,
         add load_id bigint not null,
         add window_id bigint,
         add asked_at timestamptz not null default now()', feed_table);
    if feed_table ~ 'headlines$' then
      execute format('alter table gmsi.%I add model_version text', feed_table);
    elsif feed_table ~ 'index' then
      execute format(
        $f$alter table gmsi.%I
             add hour_stamp text not null generated always as (
               case substring(variant from '(?:^|&)align_to_period_end=([^&]*)')
                 when 'true' then 'end' when 'false' then 'beginning' else 'unknown' end) stored,
             add hour_ends_at timestamptz not null generated always as (
               case substring(variant from '(?:^|&)align_to_period_end=([^&]*)')
                 when 'true' then published_at else (published_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC' end) stored$f$,
        feed_table);
    end if;
  end loop;
end $$;

-- Here and not among the functions that are defined again at each migration, because the owner may replace it.
create function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval '10 seconds';
