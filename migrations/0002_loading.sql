-- What the program remembers of loading.

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
  rows_retracted bigint not null default 0,
  records_rejected bigint not null default 0,
  error text,
  run_by text not null
);
comment on table gmsi.loads is 'One row per load: the work of one process on one job. Totals are written every few seconds, so those of a killed load are a few seconds short; those of a window never are.';
comment on column gmsi.loads.load_id is 'Number of the load; headlines and windows lead back to it.';
comment on column gmsi.loads.command is 'backfill, sync or replay.';
comment on column gmsi.loads.job is 'Name of the job file, without its ending; empty for a replay of a whole feed.';
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
comment on column gmsi.loads.rows_retracted is 'Rows that the service was found not to return any more.';
comment on column gmsi.loads.records_rejected is 'Records put into rejected_records.';
comment on column gmsi.loads.error is 'Why the load ended early, if it did.';
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
  settled_before date,
  is_compared boolean not null default false,
  pages integer not null default 0,
  records bigint not null default 0,
  rows_inserted bigint not null default 0,
  rows_changed bigint not null default 0,
  rows_retracted bigint not null default 0,
  records_rejected bigint not null default 0,
  rows_met integer[],
  attempts integer not null default 0,
  restarts integer not null default 0,
  refused_with integer,
  last_error text,
  planned_at timestamptz not null default now(),
  finished_at timestamptz
);
comment on table gmsi.windows is 'One row per window: a range of days of one series, drained page by page through one cursor. The unit of work, of resuming and of failure.';
comment on column gmsi.windows.window_id is 'Number of the window.';
comment on column gmsi.windows.feed is 'Feed that the window belongs to.';
comment on column gmsi.windows.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.windows.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.windows.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.windows.match_type is 'Match type that is asked for: COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.windows.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
comment on column gmsi.windows.first_day is 'First day (UTC) of the window.';
comment on column gmsi.windows.last_day is 'Last day (UTC) of the window, itself included.';
comment on column gmsi.windows.days is 'first_day to last_day as a range.';
comment on column gmsi.windows.state is 'pending: to do, perhaps half drained · draining: claimed by load_id · drained: all pages loaded · failed: see last_error, a later load takes it up at its checkpoint · refused: the service refused it (refused_with), or it is older than two windows of its series that the service refused and was not asked for (refused_with is null); each run asks again for some of these.';
comment on column gmsi.windows.load_id is 'The load that claimed it last.';
comment on column gmsi.windows.request_start is 'start_date as sent to the service; fixed with the first page, since a cursor is bound to its query.';
comment on column gmsi.windows.request_end is 'end_date as sent to the service; a day after last_day if it is not known whether end_date is inclusive.';
comment on column gmsi.windows.page_size is 'limit as sent to the service.';
comment on column gmsi.windows.next_token is 'The checkpoint: cursor of the page to ask for next, written in the transaction of the page before it.';
comment on column gmsi.windows.drain_started_at is 'When the first page of this drain was asked for.';
comment on column gmsi.windows.settled_before is 'Days before this one count as covered once the window is drained; later ones were not over, or may still change.';
comment on column gmsi.windows.is_compared is 'True if rows of its days were here when this drain began: at its end, those that it has not met are marked retracted.';
comment on column gmsi.windows.pages is 'Pages committed in this drain.';
comment on column gmsi.windows.records is 'Records on those pages.';
comment on column gmsi.windows.rows_inserted is 'Rows of those that were new.';
comment on column gmsi.windows.rows_changed is 'Rows of those that replaced an older version.';
comment on column gmsi.windows.rows_retracted is 'Rows that this drain, at its end, found the service not to return any more.';
comment on column gmsi.windows.records_rejected is 'Records of those put into rejected_records.';
comment on column gmsi.windows.rows_met is 'Distinct rows that this drain has met so far, on each of its days (UTC) from first_day on, counted from what the service sent; of a drain that meets more than 100,000 rows, those. Null until a drain begins.';
comment on column gmsi.windows.attempts is 'How often the window was claimed.';
comment on column gmsi.windows.restarts is 'How often the drain began again at the first page because the service refused its token, since it was last claimed.';
comment on column gmsi.windows.refused_with is 'HTTP status with which the service refused the first page when the window was asked for last. Null if it was answered, failed otherwise, or was never asked for.';
comment on column gmsi.windows.last_error is 'Why the last attempt failed, in the service''s words if it had any.';
comment on column gmsi.windows.planned_at is 'When the window was planned.';
comment on column gmsi.windows.finished_at is 'When it was drained, failed, refused or skipped.';
-- In the order in which windows are claimed, forwards or backwards. Half-drained ones go first and have their own index.
create index windows_untouched on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is null;
create index windows_half_drained on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is not null;
create index windows_series on gmsi.windows (feed, country, topic, ticker, match_type, variant, first_day);
create index windows_load on gmsi.windows (load_id);
-- Few of the refused windows were asked for; each load looks through them at its end.
create index windows_refused on gmsi.windows (feed, match_type, last_day) where state = 'refused' and refused_with is not null;
-- Few windows are in trouble, and each check asks for them.
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
comment on table gmsi.coverage is 'Which days of each series are loaded to the end and settled. A covered day without headlines had no news; a day that is not covered was never fetched whole, or may still change.';
comment on column gmsi.coverage.feed is 'Feed.';
comment on column gmsi.coverage.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.coverage.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.coverage.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.coverage.match_type is 'Match type of the series.';
comment on column gmsi.coverage.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
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
comment on table gmsi.rejected_records is 'Records that could not be read into a row, whole, with the reason. The page they came on was loaded without them.';
comment on column gmsi.rejected_records.feed is 'Feed.';
comment on column gmsi.rejected_records.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.rejected_records.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.rejected_records.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.rejected_records.match_type is 'Match type of the series.';
comment on column gmsi.rejected_records.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
comment on column gmsi.rejected_records.record_hash is 'Hash of the record, so that draining a window again does not keep it twice.';
comment on column gmsi.rejected_records.reason is 'Why it could not be read, when it was last tried.';
comment on column gmsi.rejected_records.record is 'The record as the service sent it; characters that PostgreSQL cannot hold are replaced by U+FFFD.';
comment on column gmsi.rejected_records.window_id is 'Window that brought it; null if it came by a live feed.';
comment on column gmsi.rejected_records.load_id is 'Load that brought it first.';
comment on column gmsi.rejected_records.rejected_at is 'When it was first rejected.';
-- Rejected records are replayed in the order in which they came.
create index rejected_records_by_age on gmsi.rejected_records (feed, rejected_at, record_hash);

-- Retraction: a window that is drained again compares what it meets with what is here.

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
  polls bigint not null default 0,
  load_id bigint,
  left_out_since timestamptz,
  first_left_out_at timestamptz,
  left_out bigint not null default 0,
  requests_saved bigint not null default 0,
  late_rows bigint not null default 0,
  late_by interval,
  primary key (feed, country, topic, ticker, match_type, variant)
);
comment on table gmsi.cadence is 'How often each series has had news when it was polled. A job with cadence: { adaptive: true } polls quiet series less often, and this says what that saved and cost. When a series is due follows from it and from the job''s bounds.';
comment on column gmsi.cadence.feed is 'Feed.';
comment on column gmsi.cadence.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.cadence.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.cadence.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.cadence.match_type is 'Match type of the series.';
comment on column gmsi.cadence.variant is 'Further parameters of the series; empty if there are none.';
comment on column gmsi.cadence.settle_from is 'First day that a sync has asked for and that may not be covered yet; until it is, syncs go back to it.';
comment on column gmsi.cadence.polled_at is 'Last time that a window reaching the day itself was drained to its end.';
comment on column gmsi.cadence.news_at is 'Last time that a poll or a live answer brought a new or changed row; the first poll if none has.';
comment on column gmsi.cadence.quiet_polls is 'Polls in a row that brought none.';
comment on column gmsi.cadence.polls is 'Polls in all.';
comment on column gmsi.cadence.load_id is 'Load that noted something last.';
comment on column gmsi.cadence.left_out_since is 'First sync that left the series out since its poll before; kept for the load that takes it up again.';
comment on column gmsi.cadence.first_left_out_at is 'First sync that ever left it out.';
comment on column gmsi.cadence.left_out is 'Syncs that left it out.';
comment on column gmsi.cadence.requests_saved is 'Requests that those would have spent on it at the least, less what polls after a pause spent more.';
comment on column gmsi.cadence.late_rows is 'Rows that came with polls after a pause: at the most so many were seen later than by polling at every sync.';
comment on column gmsi.cadence.late_by is 'The longest that any of those can have been late: from the first sync that left the series out to the poll.';

create table gmsi.change_ages (
  feed text primary key,
  measured_at timestamptz not null,
  changes bigint not null,
  days integer
);
comment on table gmsi.change_ages is 'How old rows of each feed are when they change or come late, measured once a day by syncs of jobs with cadence: { adaptive: true }.';
comment on column gmsi.change_ages.feed is 'Feed.';
comment on column gmsi.change_ages.measured_at is 'When it was measured.';
comment on column gmsi.change_ages.changes is 'Changed and late rows of the 90 days before.';
comment on column gmsi.change_ages.days is 'Calendar days (UTC) after the day of publication within which 99% of those were seen; null if there were none.';
