-- What the program remembers of its own work. The feeds' tables follow in 0002.

create table gmsi.origin (
  only_row boolean primary key default true check (only_row),
  served_by text not null check (served_by in ('service', 'sandbox')),
  since timestamptz not null default now()
);
comment on table gmsi.origin is 'Who filled this warehouse, decided by the first answer ever loaded: headlines that were bought and headlines that a sandbox made up never share one.';
comment on column gmsi.origin.only_row is 'Always true: the table holds one row.';
comment on column gmsi.origin.served_by is 'service (bought data) or sandbox (made-up data).';
comment on column gmsi.origin.since is 'When the first answer was loaded.';

create table gmsi.countries (
  country text primary key,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);
comment on table gmsi.countries is 'The countries that the service lists (GET /countries), as of the last refresh.';
comment on column gmsi.countries.country is 'Country code as the service writes it, likely ISO 3166 alpha-2.';
comment on column gmsi.countries.name is 'Name, if the service sends one.';
comment on column gmsi.countries.extra is 'Every other field that the service sends for the country.';
comment on column gmsi.countries.listed is 'False once a refresh no longer lists it; the row stays for the headlines that name it.';
comment on column gmsi.countries.refreshed_at is 'The last refresh that listed it.';

create table gmsi.topics (
  topic text primary key,
  category text,
  classification_rule jsonb,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);
comment on table gmsi.topics is 'The GMSI topics that the service lists (GET /headlines/topics/gmsi), as of the last refresh.';
comment on column gmsi.topics.topic is 'Topic name exactly as the service writes it.';
comment on column gmsi.topics.category is 'Category, if the service sends one.';
comment on column gmsi.topics.classification_rule is 'How the service says it classifies, per model (directional, semantic_sentiment), if it sends that.';
comment on column gmsi.topics.extra is 'Every other field that the service sends for the topic.';
comment on column gmsi.topics.listed is 'False once a refresh no longer lists it; the row stays for the headlines that name it.';
comment on column gmsi.topics.refreshed_at is 'The last refresh that listed it.';

create table gmsi.loads (
  load_id bigint generated always as identity primary key,
  command text not null,
  job text not null,
  feed text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('done', 'incomplete', 'budget', 'interrupted', 'failed')),
  requests bigint not null default 0,
  windows_drained bigint not null default 0,
  windows_failed bigint not null default 0,
  pages bigint not null default 0,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  records_rejected bigint not null default 0,
  error text,
  run_by text not null
);
comment on table gmsi.loads is 'One row per load: the work of one process on one job. Totals are written every few seconds, so those of a killed load are a few seconds short; those of a window never are.';
comment on column gmsi.loads.load_id is 'Number of the load; headlines and windows lead back to it.';
comment on column gmsi.loads.command is 'backfill or sync.';
comment on column gmsi.loads.job is 'Name of the job file, without its ending.';
comment on column gmsi.loads.feed is 'Feed that the job loads.';
comment on column gmsi.loads.started_at is 'Start of the load.';
comment on column gmsi.loads.heartbeat_at is 'Last sign of life. Windows of a load that has been silent for longer than the lease are free for other loads.';
comment on column gmsi.loads.finished_at is 'End of the load; null while it runs, and for ever if it was killed.';
comment on column gmsi.loads.outcome is 'done: all asked for is loaded · incomplete: some windows failed or were refused · budget: stopped at the request budget · interrupted: by a signal · failed: by an error that a retry cannot fix. Null while running or killed.';
comment on column gmsi.loads.requests is 'Requests sent, retries included.';
comment on column gmsi.loads.windows_drained is 'Windows drained to their end.';
comment on column gmsi.loads.windows_failed is 'Windows that failed or were refused.';
comment on column gmsi.loads.pages is 'Pages committed.';
comment on column gmsi.loads.records is 'Records on those pages.';
comment on column gmsi.loads.rows_inserted is 'Rows that were new.';
comment on column gmsi.loads.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.loads.records_rejected is 'Records put into rejected_records.';
comment on column gmsi.loads.error is 'Why the load ended early, if it did.';
comment on column gmsi.loads.run_by is 'Host and process id, and the version of the program.';

create table gmsi.windows (
  window_id bigint generated always as identity primary key,
  feed text not null,
  country text not null,
  topic text not null,
  match_type text not null,
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
  settled_before date,
  pages integer not null default 0,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  records_rejected bigint not null default 0,
  attempts integer not null default 0,
  restarts integer not null default 0,
  last_error text,
  planned_at timestamptz not null default now(),
  finished_at timestamptz
);
comment on table gmsi.windows is 'One row per window: a range of days of one series, drained page by page through one cursor. The unit of work, of resuming and of failure.';
comment on column gmsi.windows.window_id is 'Number of the window.';
comment on column gmsi.windows.feed is 'Feed that the window belongs to.';
comment on column gmsi.windows.country is 'Country of the series.';
comment on column gmsi.windows.topic is 'Topic of the series.';
comment on column gmsi.windows.match_type is 'Match type that is asked for: COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.windows.first_day is 'First day (UTC) of the window.';
comment on column gmsi.windows.last_day is 'Last day (UTC) of the window, itself included.';
comment on column gmsi.windows.days is 'first_day to last_day as a range.';
comment on column gmsi.windows.state is 'pending: to do, perhaps half drained · draining: claimed by load_id · drained: all pages loaded · failed: see last_error, a later load takes it up at its checkpoint · refused: the service does not answer it; later loads ask again now and then.';
comment on column gmsi.windows.load_id is 'The load that claimed it last.';
comment on column gmsi.windows.request_start is 'start_date as sent to the service; fixed with the first page, since a cursor is bound to its query.';
comment on column gmsi.windows.request_end is 'end_date as sent to the service; a day after last_day if it is not known whether end_date is inclusive.';
comment on column gmsi.windows.page_size is 'limit as sent to the service.';
comment on column gmsi.windows.next_token is 'The checkpoint: cursor of the page to ask for next, written in the transaction of the page before it.';
comment on column gmsi.windows.drain_started_at is 'When the first page of this drain was asked for.';
comment on column gmsi.windows.settled_before is 'Days before this one count as covered once the window is drained; later ones were not over, or may still change.';
comment on column gmsi.windows.pages is 'Pages committed in this drain.';
comment on column gmsi.windows.records is 'Records on those pages.';
comment on column gmsi.windows.rows_inserted is 'Rows of those that were new.';
comment on column gmsi.windows.rows_changed is 'Rows of those that replaced an older version.';
comment on column gmsi.windows.records_rejected is 'Records of those put into rejected_records.';
comment on column gmsi.windows.attempts is 'How often the window was claimed.';
comment on column gmsi.windows.restarts is 'How often the drain began again at the first page because the service refused its token, since it was last claimed.';
comment on column gmsi.windows.last_error is 'Why the last attempt failed, in the service''s words if it had any.';
comment on column gmsi.windows.planned_at is 'When the window was planned.';
comment on column gmsi.windows.finished_at is 'When it was drained, failed or refused.';
-- In the order in which windows are claimed, forwards or backwards. Half-drained ones go first and have their own index.
create index windows_untouched on gmsi.windows (feed, match_type, last_day, country, topic)
  where state in ('pending', 'draining', 'failed') and next_token is null;
create index windows_half_drained on gmsi.windows (feed, match_type, last_day, country, topic)
  where state in ('pending', 'draining', 'failed') and next_token is not null;
create index windows_series on gmsi.windows (feed, country, topic, match_type, first_day);
create index windows_load on gmsi.windows (load_id);

create table gmsi.coverage (
  feed text not null,
  country text not null,
  topic text not null,
  match_type text not null,
  days datemultirange not null,
  updated_at timestamptz not null default now(),
  primary key (feed, country, topic, match_type)
);
comment on table gmsi.coverage is 'Which days of each series are loaded to the end and settled. A covered day without headlines had no news; a day that is not covered was never fetched whole, or may still change.';
comment on column gmsi.coverage.feed is 'Feed.';
comment on column gmsi.coverage.country is 'Country of the series.';
comment on column gmsi.coverage.topic is 'Topic of the series.';
comment on column gmsi.coverage.match_type is 'Match type of the series.';
comment on column gmsi.coverage.days is 'The covered days (UTC).';
comment on column gmsi.coverage.updated_at is 'When a day was last added.';

create table gmsi.api_usage (
  key_fingerprint text not null,
  month date not null check (extract(day from month) = 1),
  requests bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (key_fingerprint, month)
);
comment on table gmsi.api_usage is 'Requests booked per API key and calendar month (UTC), before they are sent and in small blocks: a crash can leave it a block too high, never too low.';
comment on column gmsi.api_usage.key_fingerprint is 'Start of a SHA-256 over the key; the key itself is never stored.';
comment on column gmsi.api_usage.month is 'First day of the month (UTC).';
comment on column gmsi.api_usage.requests is 'Requests booked.';
comment on column gmsi.api_usage.updated_at is 'When the last block was booked.';

create table gmsi.rejected_records (
  feed text not null,
  country text not null,
  topic text not null,
  match_type text not null,
  record_hash uuid not null,
  reason text not null,
  record jsonb not null,
  window_id bigint not null,
  load_id bigint not null,
  rejected_at timestamptz not null default now(),
  primary key (feed, country, topic, match_type, record_hash)
);
comment on table gmsi.rejected_records is 'Records that could not be read into a row, whole, with the reason. The page they came on was loaded without them.';
comment on column gmsi.rejected_records.feed is 'Feed.';
comment on column gmsi.rejected_records.country is 'Country of the series.';
comment on column gmsi.rejected_records.topic is 'Topic of the series.';
comment on column gmsi.rejected_records.match_type is 'Match type of the series.';
comment on column gmsi.rejected_records.record_hash is 'Hash of the record, so that draining a window again does not keep it twice.';
comment on column gmsi.rejected_records.reason is 'Why it could not be read.';
comment on column gmsi.rejected_records.record is 'The record as the service sent it; characters that PostgreSQL cannot hold are replaced by U+FFFD.';
comment on column gmsi.rejected_records.window_id is 'Window that brought it.';
comment on column gmsi.rejected_records.load_id is 'Load that brought it first.';
comment on column gmsi.rejected_records.rejected_at is 'When it was first rejected.';

create table gmsi.wire_fields (
  feed text not null,
  field text not null,
  kept_in text not null check (kept_in in ('column', 'extra')),
  first_load_id bigint not null,
  last_load_id bigint not null,
  primary key (feed, field)
);
comment on table gmsi.wire_fields is 'Every field name that a feed''s records have carried, so that a new or vanished one is noticed.';
comment on column gmsi.wire_fields.feed is 'Feed.';
comment on column gmsi.wire_fields.field is 'Name of the field as the service sends it.';
comment on column gmsi.wire_fields.kept_in is 'column: a column is filled from it · extra: it is kept in extra.';
comment on column gmsi.wire_fields.first_load_id is 'First load that met it.';
comment on column gmsi.wire_fields.last_load_id is 'Last load that met it.';
