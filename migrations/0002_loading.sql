-- Loading: loads, windows, coverage, rejected records, imported files, retraction and cadence.

create table gmsi.loads (
  load_id bigint generated always as identity primary key,
  idempotency_key uuid unique,
  command text not null,
  job text not null,
  feed text not null,
  started_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('done', 'incomplete', 'budget', 'interrupted', 'failed')),
  requests bigint not null default 0,
  windows_planned bigint,
  windows_drained bigint not null default 0,
  windows_failed bigint not null default 0,
  pages bigint not null default 0,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  rows_retracted bigint not null default 0,
  records_rejected bigint not null default 0,
  records_outside bigint not null default 0,
  error text,
  reason text,
  run_by text not null,
  -- No foreign key: a load stays when its process is no longer listed, and then counts as silent.
  process_id text
);

create table gmsi.windows (
  window_id bigint generated always as identity primary key,
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null default '',
  match_type text not null,
  variant text not null default '',
  first_day date not null,
  last_day date not null check (last_day >= first_day),
  days daterange not null generated always as (daterange(first_day, last_day, '[]')) stored,
  state text not null default 'pending'
    check (state in ('pending', 'draining', 'drained', 'failed', 'refused')),
  load_id bigint,
  request_start date,
  request_end date,
  page_size integer,
  next_token text,
  drain_started_at timestamptz,
  first_unsettled date,
  is_compared boolean not null default false,
  pages integer not null default 0,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  rows_retracted bigint not null default 0,
  records_rejected bigint not null default 0,
  records_outside bigint not null default 0,
  rows_met integer[],
  attempts integer not null default 0,
  refused_with integer,
  last_error text,
  planned_at timestamptz not null default now(),
  finished_at timestamptz
);

-- In the order in which windows are claimed, forwards or backwards. Half-drained ones go first and have their own index.
create index windows_untouched on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is null;
create index windows_half_drained on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is not null;
create index windows_series on gmsi.windows (feed, country, topic, ticker, match_type, variant, first_day);
create index windows_load on gmsi.windows (load_id);
-- Each load requests a few of them again.
create index windows_refused on gmsi.windows (feed, match_type, last_day) where state = 'refused';
-- For the web page, which reads the windows that are not both drained and settled; coverage has the days of the others. Written as
-- a case, so that PostgreSQL does not use this index for other queries: they would read all of it instead of what they need.
create index windows_uncovered on gmsi.windows (window_id) where case when state = 'drained' then last_day >= first_unsettled else true end;
-- Each check for alerts reads the few windows that have an error.
create index windows_in_trouble on gmsi.windows (feed, match_type)
  where state in ('pending', 'draining', 'failed') and last_error is not null;

create table gmsi.coverage (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null default '',
  match_type text not null,
  variant text not null default '',
  days datemultirange not null,
  updated_at timestamptz not null default now(),
  primary key (feed, country, topic, ticker, match_type, variant)
);

-- Since when a day is watched. The moment is kept, because before it, nobody could know that there was no other news.
create table gmsi.watched (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null,
  match_type text not null,
  variant text not null,
  day date not null,
  watched_from timestamptz,
  primary key (feed, country, topic, ticker, match_type, variant, day)
);

create table gmsi.rejected_records (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null default '',
  match_type text not null,
  variant text not null default '',
  record_hash uuid not null,
  reason text not null,
  record jsonb not null,
  is_row boolean not null default false,
  window_id bigint,
  load_id bigint not null,
  rejected_at timestamptz not null default now(),
  primary key (feed, country, topic, ticker, match_type, variant, record_hash)
);

-- Records are repaired in the order in which they were rejected.
create index rejected_records_by_age on gmsi.rejected_records (feed, rejected_at, record_hash);

-- The processes that own work: workers, and commands while they do something that nobody else may do.
create table gmsi.processes (
  process_id text primary key,
  command text not null,
  run_by text not null,
  version text not null,
  jobs text[],
  concurrency integer,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz
);

create table gmsi.imported_files (
  file_id bigint generated always as identity primary key,
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null,
  match_type text not null,
  variant text not null,
  content text not null,
  name text not null,
  archive text not null,
  made_at timestamptz not null,
  load_id bigint not null,
  process_id text references gmsi.processes on delete set null,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  records_rejected bigint not null default 0,
  records_by_day jsonb not null default '{}',
  covers datemultirange,
  error text,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (feed, country, topic, ticker, match_type, variant, content)
);

-- Each import looks for newer versions of an archive; few files are from an archive that has versions.
create index imported_files_archive on gmsi.imported_files (archive) where archive <> '';

-- Retraction: when a window is drained again, rows that the service no longer returns are found by comparison.
create table gmsi.drain_sightings (
  window_id bigint not null references gmsi.windows on delete cascade,
  page integer not null,
  row_times timestamptz[] not null,
  row_ids uuid[] not null,
  primary key (window_id, page)
);

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

create table gmsi.cadence (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null,
  match_type text not null,
  variant text not null,
  settle_from date,
  polled_at timestamptz,
  news_at timestamptz,
  quiet_polls integer not null default 0,
  load_id bigint,
  primary key (feed, country, topic, ticker, match_type, variant)
);

-- The brake on retractions, kept as long as an outage may last.
create table gmsi.unconfirmed (
  job text primary key,
  by_series jsonb not null default '{}',
  updated_at timestamptz not null default now()
);
