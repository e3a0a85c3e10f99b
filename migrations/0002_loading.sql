-- Loading: loads, windows, coverage, rejected records, retraction and cadence.

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
  run_by text not null
);
comment on table gmsi.loads is 'One row per load: the work of one process on one job. Totals are written every few seconds, so the totals of a killed load lack its last seconds. The totals of a window are always exact.';
comment on column gmsi.loads.load_id is 'Number of the load; headlines and windows refer to it.';
comment on column gmsi.loads.command is 'backfill, sync, repair or import.';
comment on column gmsi.loads.job is 'Name of the job file, without its ending; empty for an import, and for a repair of a whole feed.';
comment on column gmsi.loads.feed is 'Feed that is loaded.';
comment on column gmsi.loads.started_at is 'Start of the load.';
comment on column gmsi.loads.heartbeat_at is 'Last sign of life. If a load is silent for longer than the lease, other loads may take its windows.';
comment on column gmsi.loads.finished_at is 'End of the load; null while it runs, and if it was killed.';
comment on column gmsi.loads.outcome is 'done: everything requested is loaded · incomplete: some windows failed or were refused · budget: stopped at the request budget · interrupted: stopped by a signal · failed: stopped by an error that a retry cannot fix. Null while it runs, and if it was killed.';
comment on column gmsi.loads.requests is 'Requests sent, retries included.';
comment on column gmsi.loads.windows_planned is 'Number of windows to drain when the load began. Null for a repair, and for the loads of workers, which share the windows of a run.';
comment on column gmsi.loads.windows_drained is 'Windows drained to their end.';
comment on column gmsi.loads.windows_failed is 'Windows that failed or were refused.';
comment on column gmsi.loads.pages is 'Pages committed.';
comment on column gmsi.loads.records is 'Records on those pages.';
comment on column gmsi.loads.rows_inserted is 'Rows that were new.';
comment on column gmsi.loads.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.loads.rows_retracted is 'Rows that the service no longer returned.';
comment on column gmsi.loads.records_rejected is 'Records that could not be read. rejected_records stores equal records once.';
comment on column gmsi.loads.records_outside is 'Records that were not loaded because they are of days that were not requested.';
comment on column gmsi.loads.error is 'Why the load ended early, if it did.';
comment on column gmsi.loads.reason is 'Why somebody loaded it, as --reason says; null if it was not said.';
comment on column gmsi.loads.run_by is 'Host and process id, and the version of the program.';

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
comment on table gmsi.windows is 'One row per window: a range of days of one series, drained page by page through one cursor. The unit of work, of resuming and of failure.';
comment on column gmsi.windows.window_id is 'Number of the window.';
comment on column gmsi.windows.first_day is 'First day (UTC) of the window.';
comment on column gmsi.windows.last_day is 'Last day (UTC) of the window, inclusive.';
comment on column gmsi.windows.days is 'first_day to last_day as a range.';
comment on column gmsi.windows.state is 'pending: to do, perhaps half drained · draining: claimed by load_id · drained: all pages loaded · failed: see last_error; a later load continues at its checkpoint · refused: the service refused it (refused_with), or it was skipped because the service refused a younger window of its series (refused_with is null). Each load asks again for some refused windows.';
comment on column gmsi.windows.load_id is 'The load that claimed it last, or skipped it because the service had refused a younger window.';
comment on column gmsi.windows.request_start is 'start_date as sent to the service. The same for all pages, because a cursor belongs to its query.';
comment on column gmsi.windows.request_end is 'end_date as sent to the service: last_day if end_date is inclusive; the day after it if end_date is exclusive, or if that is not known; null if it was not sent, because the service ignores it.';
comment on column gmsi.windows.page_size is 'limit as sent to the service.';
comment on column gmsi.windows.next_token is 'The checkpoint: the cursor of the next page, written in the transaction of the page before it.';
comment on column gmsi.windows.drain_started_at is 'When the first page of this drain was requested.';
comment on column gmsi.windows.first_unsettled is 'Days before this one count as covered once the window is drained. This day and later ones were not over, or may still change.';
comment on column gmsi.windows.is_compared is 'True if the table had rows of these days when this drain began. At its end, rows that the service did not return are marked retracted.';
comment on column gmsi.windows.pages is 'Pages committed in this drain.';
comment on column gmsi.windows.records is 'Records on those pages.';
comment on column gmsi.windows.rows_inserted is 'Rows of this drain that were new.';
comment on column gmsi.windows.rows_changed is 'Rows of this drain that replaced an older version.';
comment on column gmsi.windows.rows_retracted is 'Rows that the service no longer returned, as found at the end of this drain.';
comment on column gmsi.windows.records_rejected is 'Records of this drain that could not be read; rejected_records stores equal records once. If there are too many (service.max_rejected_percent), the window fails.';
comment on column gmsi.windows.records_outside is 'Records of this drain that were not loaded because they are more than a day before request_start or after request_end. A page that consists mostly of such records fails the window.';
comment on column gmsi.windows.rows_met is 'Distinct rows that the service has sent in this drain, for each day (UTC) from first_day on. Rows after the first 100,000 are not counted. Null until a drain begins.';
comment on column gmsi.windows.attempts is 'How often the window was claimed.';
comment on column gmsi.windows.refused_with is 'HTTP status with which the service refused the first page when it was last requested. Null if it was answered, failed in another way, or was never requested.';
comment on column gmsi.windows.last_error is 'Why the last attempt failed, with the service''s own message if it sent one.';
comment on column gmsi.windows.planned_at is 'When the window was planned.';
comment on column gmsi.windows.finished_at is 'When it was drained, failed, refused or skipped.';
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
comment on table gmsi.coverage is 'Which days of each series are completely loaded and settled. A covered day without headlines had no news. A day that is not covered was never completely loaded, or may still change.';
comment on column gmsi.coverage.days is 'The covered days (UTC).';
comment on column gmsi.coverage.updated_at is 'When a day was last added.';

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
  window_id bigint,
  load_id bigint not null,
  rejected_at timestamptz not null default now(),
  primary key (feed, country, topic, ticker, match_type, variant, record_hash)
);
comment on table gmsi.rejected_records is 'Records that could not be read into a row, with the reason. The rest of their page was loaded.';
comment on column gmsi.rejected_records.record_hash is 'Hash of the record, so that draining a window again does not store it twice.';
comment on column gmsi.rejected_records.reason is 'Why it could not be read, as of the last attempt.';
comment on column gmsi.rejected_records.record is 'The record as the service sent it. Characters that PostgreSQL cannot store are replaced by U+FFFD.';
comment on column gmsi.rejected_records.window_id is 'Window that loaded it; null if it came from a live feed or an imported file.';
comment on column gmsi.rejected_records.load_id is 'Load that first found it.';
comment on column gmsi.rejected_records.rejected_at is 'When it was first rejected.';
-- Records are repaired in the order in which they were rejected.
create index rejected_records_by_age on gmsi.rejected_records (feed, rejected_at, record_hash);

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
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  records_rejected bigint not null default 0,
  covers datemultirange,
  error text,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (feed, country, topic, ticker, match_type, variant, content)
);
comment on table gmsi.imported_files is 'One row per file that gmsi import has read or is reading, with its checkpoint and totals. A file is identified by its content, its series and the columns from its folder names, so that it is loaded only once, even under another name.';
comment on column gmsi.imported_files.file_id is 'Number of the file.';
comment on column gmsi.imported_files.feed is 'Feed of its records.';
comment on column gmsi.imported_files.country is 'Country of the series; empty if the feed is not by country, or if each record names its own.';
comment on column gmsi.imported_files.topic is 'Topic of the series; empty if the feed is not by topic, or if each record names its own.';
comment on column gmsi.imported_files.ticker is 'Ticker of the series; empty if the feed is not by ticker, or if each record names its own.';
comment on column gmsi.imported_files.match_type is 'Match type of the series; empty if the feed has none, or if each record names its own.';
comment on column gmsi.imported_files.variant is 'Further parameters that define the series, as name=value&name=value; empty if there are none, or if each record names its own.';
comment on column gmsi.imported_files.content is 'Identifies the content: a SHA-256 digest, or for a file in a ZIP file its path there, its size and its CRC-32; followed by the columns from its folder names, as name=value&name=value.';
comment on column gmsi.imported_files.name is 'Where the file was last found: its path; for a file in a ZIP file, the path of the ZIP file and its own path there.';
comment on column gmsi.imported_files.archive is 'Name of the ZIP file without its UUID, which is the same for all versions of an archive; empty if it has no UUID.';
comment on column gmsi.imported_files.made_at is 'When the file was made, according to the ZIP file or the file system. Rows that were loaded from the service after this time are newer.';
comment on column gmsi.imported_files.load_id is 'Load that read it last.';
comment on column gmsi.imported_files.records is 'The checkpoint: records read so far, written in the transaction of their rows.';
comment on column gmsi.imported_files.rows_inserted is 'Rows that were new.';
comment on column gmsi.imported_files.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.imported_files.records_rejected is 'Records that could not be read; rejected_records stores equal records once. If there are too many, the file covers no day.';
comment on column gmsi.imported_files.covers is 'Days that count as covered because of this file, alone or with others of its series; null if none do.';
comment on column gmsi.imported_files.error is 'Why it was not read to its end, if it was not.';
comment on column gmsi.imported_files.started_at is 'When it was first read.';
comment on column gmsi.imported_files.finished_at is 'When its last record was loaded; null until then.';
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
comment on table gmsi.drain_sightings is 'The rows that the service has returned so far for windows that are compared (is_compared), one row per page. Deleted at the end of the drain.';
comment on column gmsi.drain_sightings.window_id is 'Window.';
comment on column gmsi.drain_sightings.page is 'Number of the page in this drain, from 0.';
comment on column gmsi.drain_sightings.row_times is 'Times of the rows on the page.';
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
comment on table gmsi.live_sightings is 'Rows that a live feed has returned and the historical feed has not returned yet. They are not retracted while the live feed still reaches back to them, because the historical feed may lag behind.';
comment on column gmsi.live_sightings.row_time is 'Time of the row.';
comment on column gmsi.live_sightings.row_id is 'Id of the row.';

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
comment on table gmsi.cadence is 'How often each series had news when it was polled. A job with cadence: { adaptive: true } uses this and its own bounds to decide when to poll a series.';
comment on column gmsi.cadence.settle_from is 'First day that a sync has requested and that may not be covered yet. Syncs go back to it until it is covered.';
comment on column gmsi.cadence.polled_at is 'When a window that reaches the current day was last drained completely.';
comment on column gmsi.cadence.news_at is 'When a poll or a live answer last returned a new or changed row; if none has, the time of the first poll.';
comment on column gmsi.cadence.quiet_polls is 'Consecutive polls that returned no new or changed row.';
comment on column gmsi.cadence.load_id is 'Load that last changed this row by a poll or by news.';
