-- Comments. What several relations have in common comes first; what one says of itself replaces it.

do $$
declare
  note record;
begin
  for note in
    with of_series (part, says) as (values
      ('feed', 'Feed.'),
      ('country', 'Country of the series; empty if the feed is not by country.'),
      ('topic', 'Topic of the series; empty if the feed is not by topic.'),
      ('ticker', 'Ticker of the series; empty if the feed is not by ticker.'),
      ('match_type', 'Match type of the series.'),
      ('variant', 'Further parameters of the series, as name=value&name=value; empty if there are none.')
    ), of_feeds (part, says) as (values
      ('ticker', 'Ticker that was requested.'),
      ('country', 'Country that was requested.'),
      ('variant', 'Further parameters of the request, as name=value&name=value; empty if there were none.'),
      ('headline_id', 'The headline, as in gmsi.headlines.'),
      ('headline', 'Text of the headline, if the service sends it.'),
      ('language', 'Language of the headline, if the service sends it.'),
      ('source', 'Publisher, if the service sends it.'),
      ('url', 'Address of the article, if the service sends it.'),
      ('topic', 'Topic, according to the record.'),
      ('topic_probability', 'Probability (0 to 1) of the topic.'),
      ('event_at', 'Date of the event (event_date).'),
      ('event_name', 'Name of the event.'),
      ('event_type', 'Type of the event, according to the record.'),
      ('event_count', 'Number of events.'),
      ('headline_count', 'Number of headlines in the hour, by which the service divides sentiment_sum.'),
      ('sentiment_sum', 'Sum of their scores; divided by their number, it is the mean.'),
      ('sentiment_abs_sum', 'Sum of the absolute values of their scores.'),
      ('sentiment_std', 'Standard deviation of their scores.'),
      ('hour_stamp', 'Whether published_at is the end or the beginning of the hour, as requested with align_to_period_end; unknown if that was not sent, because the service''s default is not known.'),
      ('hour_ends_at', 'The latest time at which the hour can end: published_at if that is the end of the hour, else an hour later. A back-test may use the row only from this time on. Filter by published_at, too, because the table is partitioned by it; it is at most an hour earlier.'),
      ('extra', 'Every field of the record that has no column.'),
      ('first_seen_at', 'When this warehouse first stored the row.'),
      ('changed_at', 'When this warehouse first stored this version.'),
      ('retracted_at', 'When a load found that the service no longer returns it; null while the service returns it.'),
      ('is_backfilled', 'True if the row is of a day before the watch of its series began (gmsi.series_days.watch_on), and no reading had had the day before: so first_seen_at does not show when the service published it. Lookback, command and cadence do not matter.'),
      ('load_id', 'Load that wrote this version.'),
      ('window_id', 'Window that loaded this version; null if it came from the live feed, rejected_records or an imported file.'),
      ('asked_at', 'The state of the service that this version tells: when the drain or the answer that had it was begun, when its file was made, or for a repair when its record was rejected. A version of an earlier state never replaces one of a later state.'),
      ('model_version', 'Version of the model that scored the headline, if the service sends one.'),
      ('published_at', 'Publication time. Times without a zone are read as UTC.')
    ), of_sums (part, says) as (values
      ('country', 'Country.'),
      ('topic', 'Topic.'),
      ('match_type', 'Match type that the headlines were requested with.'),
      ('sentiment_type', 'Model: directional or semantic_sentiment, as the service calls them. Every hour and day has a row for each.'),
      ('all_count', 'Number of all headlines, with or without a score.'),
      ('headline_count', 'Number of headlines with a score of this model, by which sums are divided.'),
      ('sentiment_sum', 'Sum of their scores; 0 if there are none.'),
      ('sentiment_abs_sum', 'Sum of the absolute values of their scores.'),
      ('sentiment_std', 'Population standard deviation of their scores (0 for one headline, null for none).'),
      ('probability_sum', 'Sum of their topic_probability; headlines without one count as 0.'),
      ('weighted_sum', 'Sum of score times topic_probability.'),
      ('sentiment_mean', 'Mean score: sentiment_sum / headline_count; null if no headline has one.'),
      ('weighted_mean', 'Mean score weighted by topic_probability: weighted_sum / probability_sum; null if no headline has a probability.')
    ), notes as (
      select relation, part, says from of_series
      cross join unnest(array['series', 'windows', 'coverage', 'watched', 'series_states', 'rejected_records',
                              'coverage_by_day', 'coverage_gaps']) as relation
      union all
      select relation, part, says from of_sums
      cross join unnest(array['hourly_sums', 'daily_sums', 'sentiment_hourly', 'sentiment_daily']) as relation
      union all
      select feed, part, case when part = 'published_at' and is_hourly
        then 'The hour as the service stamps it: its beginning or its end (hour_stamp). An hour that is stamped at its beginning includes headlines that were published after that time.'
        else says end
      from of_feeds cross join (
        select c.relname as feed, bool_or(attname = 'hour_stamp') as is_hourly from pg_catalog.pg_class c
        join pg_catalog.pg_attribute a on attrelid = c.oid and not attisdropped
        where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p') and not relispartition
          and relname not in ('headlines', 'headline_revisions')
        group by 1 having bool_or(attname = 'is_backfilled')
      ) as feeds
      union all
      select relation, attname, case attname when 'is_backfilled' then says else 'As in gmsi.headlines, in this version.' end
      from unnest(array['headline_revisions', 'headlines_point_in_time']) as relation
      join pg_catalog.pg_attribute on attrelid = 'gmsi.headline_version'::regclass and attnum > 0 and not attisdropped
      join of_feeds on part = 'is_backfilled'
    )
    select format('gmsi.%I', relation) as relation, part, says from notes
    join pg_catalog.pg_attribute on attrelid = format('gmsi.%I', relation)::regclass and attname = part and not attisdropped
  loop
    execute format('comment on column %s.%I is %L', note.relation, note.part, note.says);
  end loop;
end $$;

comment on table gmsi.origin is 'Whether the real service or a sandbox filled this warehouse. The first answer that is loaded decides, and real and made-up headlines are never mixed.';
comment on column gmsi.origin.only_row is 'Always true: the table has one row.';
comment on column gmsi.origin.served_by is 'service (real data) or sandbox (made-up data).';
comment on column gmsi.origin.since is 'When the first answer was loaded.';
comment on column gmsi.origin.addresses is 'Addresses of the service (GMSI_BASE_URL and GMSI_LIVE_BASE_URL, with /v1) whose answers were loaded. An error of another address may mean that the address is wrong.';

comment on table gmsi.countries is 'The countries that the service lists (GET /countries), as of the last refresh.';
comment on column gmsi.countries.country is 'Country code as the service writes it, probably ISO 3166 alpha-2.';
comment on column gmsi.countries.name is 'Name, if the service sends one.';
comment on column gmsi.countries.extra is 'Every other field that the service sends for the country.';
comment on column gmsi.countries.listed is 'False once the service no longer lists it; the row stays, because headlines name it.';
comment on column gmsi.countries.refreshed_at is 'When a refresh last listed it.';

comment on table gmsi.topics is 'The GMSI topics that the service lists (GET /headlines/topics/gmsi), as of the last refresh.';
comment on column gmsi.topics.topic is 'Topic name exactly as the service writes it.';
comment on column gmsi.topics.category is 'Category, if the service sends one.';
comment on column gmsi.topics.classification_rule is 'The rule by which the service classifies headlines, for each model (directional, semantic_sentiment), if it sends one.';
comment on column gmsi.topics.extra is 'Every other field that the service sends for the topic.';
comment on column gmsi.topics.listed is 'False once the service no longer lists it; the row stays, because headlines name it.';
comment on column gmsi.topics.refreshed_at is 'When a refresh last listed it.';

comment on table gmsi.lookups is 'The other lists of the service: tickers (GET /ticker), sources (GET /sources) and languages (GET /taxonomy/languages), as of their last refresh.';
comment on column gmsi.lookups.lookup is 'tickers, sources or languages.';
comment on column gmsi.lookups.code is 'The value that requests use: the ticker, the source or the language code.';
comment on column gmsi.lookups.name is 'Name, if the service sends one.';
comment on column gmsi.lookups.extra is 'Every other field that the service sends for it.';
comment on column gmsi.lookups.listed is 'False once the service no longer lists it.';
comment on column gmsi.lookups.refreshed_at is 'When a refresh last listed it.';

comment on table gmsi.learned_facts is 'Undocumented behaviour of a feed, as learned by gmsi doctor --probe. Planning uses end_date and history_limit. A later probe that contradicts a fact fails, and the fact stays until its row is deleted.';
comment on column gmsi.learned_facts.feed is 'Feed that was probed.';
comment on column gmsi.learned_facts.fact is 'end_date, day_begin, time_rounding or history_limit.';
comment on column gmsi.learned_facts.value is 'For day_begin: bounds in minutes, least and most. For history_limit: the days that were answered and refused. Otherwise a word.';
comment on column gmsi.learned_facts.evidence is 'The answers that show it, described in words.';
comment on column gmsi.learned_facts.learned_at is 'When it was learned.';

comment on table gmsi.service_descriptions is 'What the service says of itself (GET /openapi.json), as gmsi doctor has read it: one row for each version of it.';
comment on column gmsi.service_descriptions.description_id is 'Number of the description; the newest is the highest.';
comment on column gmsi.service_descriptions.facts is 'Texts by name: the version, each operation, its parameters, the fields of answers, and lists of values.';
comment on column gmsi.service_descriptions.first_seen_at is 'When gmsi doctor first read it.';
comment on column gmsi.service_descriptions.last_seen_at is 'When gmsi doctor last read it.';

comment on table gmsi.wire_fields is 'Every field name that records of a feed have had, so that new and missing fields are noticed.';
comment on column gmsi.wire_fields.feed is 'Feed.';
comment on column gmsi.wire_fields.field is 'Name of the field as the service sends it.';
comment on column gmsi.wire_fields.kept_in is 'column: a column is filled from it · extra: it is kept in extra.';
comment on column gmsi.wire_fields.first_load_id is 'First load that received it.';
comment on column gmsi.wire_fields.last_load_id is 'Last load that received it.';

comment on table gmsi.api_usage is 'Requests booked per API key, or per account (GMSI_ACCOUNT), and calendar month (UTC). Each is booked before it is sent, so a crash can leave the number too high by the requests under way, never too low.';
comment on column gmsi.api_usage.key_fingerprint is 'The account; without one, the start of the SHA-256 hash of the key. The key itself is never stored.';
comment on column gmsi.api_usage.month is 'First day of the month (UTC).';
comment on column gmsi.api_usage.requests is 'Requests booked.';
comment on column gmsi.api_usage.updated_at is 'When a request was last booked, its booking was cancelled because it was not sent, or gmsi budget changed the count.';

comment on table gmsi.request_rate is 'One row per API key, or per account (GMSI_ACCOUNT): the leaky bucket that limits the requests of all its processes. Written a few times a second while a load runs.';
comment on column gmsi.request_rate.key_fingerprint is 'As in gmsi.api_usage.';
comment on column gmsi.request_rate.in_bucket is 'Requests in the bucket at counted_at. It leaks at the rate; requests beyond the burst wait.';
comment on column gmsi.request_rate.counted_at is 'When requests were last added, by the clock of this database.';

comment on table gmsi.loads is 'One row per load: the work of one process on one job. Totals are written every few seconds, so the totals of a killed load lack its last seconds. The totals of a window are always exact.';
comment on column gmsi.loads.load_id is 'Number of the load; headlines and windows refer to it.';
comment on column gmsi.loads.command is 'backfill, sync, repair or import.';
comment on column gmsi.loads.job is 'Name of the job file, without its ending; empty for an import, and for a repair of a whole feed.';
comment on column gmsi.loads.feed is 'Feed that is loaded.';
comment on column gmsi.loads.started_at is 'Start of the load.';
comment on column gmsi.loads.updated_at is 'When its totals were last stored.';
comment on column gmsi.loads.finished_at is 'End of the load; null while it runs, and if it was killed.';
comment on column gmsi.loads.outcome is 'done: everything requested is loaded · incomplete: some windows failed or were refused · budget: stopped at the request budget · interrupted: stopped by a signal · failed: stopped by an error that a retry cannot fix. Null while it runs, and if it was killed.';
comment on column gmsi.loads.requests is 'Requests sent, retries included.';
comment on column gmsi.loads.windows_planned is 'Number of windows to drain when the load began. Null for an import and for a repair, which drain none.';
comment on column gmsi.loads.windows_drained is 'Windows drained to their end.';
comment on column gmsi.loads.windows_failed is 'Windows that failed or were refused.';
comment on column gmsi.loads.pages is 'Pages committed.';
comment on column gmsi.loads.records is 'Records on those pages.';
comment on column gmsi.loads.rows_inserted is 'Rows that were new.';
comment on column gmsi.loads.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.loads.rows_retracted is 'Rows that the service no longer returned, or returned with another publication time.';
comment on column gmsi.loads.records_rejected is 'Records that could not be read. rejected_records stores equal records once.';
comment on column gmsi.loads.records_outside is 'Records that were not loaded because they are of days that were not requested.';
comment on column gmsi.loads.error is 'Why the load ended early, if it did.';
comment on column gmsi.loads.reason is 'Why somebody loaded it, as --reason says; null if it was not said.';
comment on column gmsi.loads.run_by is 'Host and process id, and the version of the program.';
comment on column gmsi.loads.idempotency_key is 'Chosen by the process that began it, so that a repetition after a lost reply adds no second row.';
comment on column gmsi.loads.process_id is 'The process that runs it; see gmsi.processes. If that process is silent for longer than the lease, other loads may take its windows. Null for loads of older versions.';

comment on view gmsi.windows is 'One row per window: a range of days of one series, drained page by page through one cursor. The unit of work, of resuming and of failure. Windows that are not drained are in gmsi.queue, the others in gmsi.readings, with the same number; readings that no conclusion needs any more are deleted after 30 days.';
comment on column gmsi.windows.window_id is 'Number of the window.';
comment on column gmsi.windows.first_day is 'First day (UTC) of the window.';
comment on column gmsi.windows.last_day is 'Last day (UTC) of the window, inclusive.';
comment on column gmsi.windows.days is 'first_day to last_day as a range.';
comment on column gmsi.windows.state is 'pending: to do, perhaps half drained · draining: claimed by load_id · drained: all pages loaded · failed: see last_error; a later load continues at its checkpoint · refused: the service refused it (refused_with), or it was skipped because the service refused a younger window of its series (refused_with is null). Each load asks again for some refused windows.';
comment on column gmsi.windows.load_id is 'The load that claimed it last, or skipped it because the service had refused a younger window.';
comment on column gmsi.windows.request_start is 'start_date as sent to the service. The same for all pages, because a cursor belongs to its query. This and the next three columns are null once it is drained.';
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
comment on column gmsi.windows.rows_retracted is 'Rows that the service no longer returned, as found at the end of this drain, or that it returned with another publication time.';
comment on column gmsi.windows.records_rejected is 'Records of this drain that could not be read; rejected_records stores equal records once. If there are too many (service.max_rejected_percent), the window fails.';
comment on column gmsi.windows.records_outside is 'Records of this drain that were not loaded because they are more than a day before request_start or after request_end. A page that consists mostly of such records fails the window.';
comment on column gmsi.windows.rows_met is 'Distinct rows that the service has sent in this drain, for each day (UTC) from first_day on. Rows after the first 100,000 are not counted. Null until a drain begins.';
comment on column gmsi.windows.attempts is 'How often the window was claimed; null once it is drained.';
comment on column gmsi.windows.refused_with is 'HTTP status with which the service refused the first page when it was last requested. Null if it was answered, failed in another way, or was never requested.';
comment on column gmsi.windows.cause is 'Why the last attempt failed, in a word, by which gmsi status names the cure: temporary, withdrawn (too many rows would be retracted), refused, rejected (too many records), new fields, other days, too large, cursor or unexpected.';
comment on column gmsi.windows.last_error is 'Why the last attempt failed, with the service''s own message if it sent one.';
comment on column gmsi.windows.planned_at is 'When the window was planned; null once it is drained.';
comment on column gmsi.windows.finished_at is 'When it was drained, failed, refused or skipped.';
comment on column gmsi.windows.is_accepted is 'True if its load accepted all retractions (--accept-retractions).';

comment on view gmsi.coverage is 'Which days of each series are completely loaded and settled. A covered day without headlines had no news. A day that is not covered was never completely loaded, or may still change.';
comment on column gmsi.coverage.days is 'The covered days (UTC).';
comment on column gmsi.coverage.updated_at is 'When a day was last added.';

comment on view gmsi.watched is 'The days (UTC) of each series from the beginning of its watch on. The watch begins with the first window that is drained to its end and reaches days that are not settled. A row of such a day counts from when it came. Filter by series: the view makes a row for each day.';
comment on column gmsi.watched.day is 'Day (UTC).';
comment on column gmsi.watched.watched_from is 'When the first load of the day that began after its end was complete; null if there was none yet. Before that, an answer about the day may lack headlines that were published by then.';

comment on table gmsi.series is 'Each series that was ever requested, with the number by which the ledger names it.';
comment on column gmsi.series.series_id is 'Number of the series.';

comment on table gmsi.queue is 'Windows that are not drained. See gmsi.windows, which has them with the names of their series, and the drained ones.';
comment on column gmsi.queue.series_id is 'Series of the window.';
comment on column gmsi.queue.of_sync is 'True if a sync is to load these days: then later syncs go back to it. Otherwise, only a backfill does.';
comment on column gmsi.queue.asked_at is 'As gmsi.readings.asked_at, of the drain under way.';
comment on column gmsi.queue.asked_on is 'As in gmsi.readings, of the drain under way.';
comment on column gmsi.queue.settled_before is 'As in gmsi.readings, of the drain under way.';
comment on column gmsi.queue.left_at is 'When it failed, was refused or skipped.';

-- The others mean the same as in the view.
do $$
declare
  same record;
begin
  for same in
    select queued.attname as name, pg_catalog.col_description(shown.attrelid, shown.attnum) as says
    from pg_catalog.pg_attribute queued
    join pg_catalog.pg_attribute shown on shown.attrelid = 'gmsi.windows'::regclass and shown.attname = queued.attname
    where queued.attrelid = 'gmsi.queue'::regclass and queued.attnum > 0 and not queued.attisdropped
  loop
    execute format('comment on column gmsi.queue.%I is %L', same.name, same.says);
  end loop;
end $$;

comment on table gmsi.readings is 'The ledger: what a source said of some days of a series, and when. Rows are never changed. All that is concluded of days follows from them: docs/architecture.md, "What counts as evidence".';
comment on column gmsi.readings.reading_id is 'Number of the reading: of the window which it was, or of the file.';
comment on column gmsi.readings.asked_at is 'The state of the service that it tells, by the clock of this database: when its first page or its answer was requested; of a file, when it was made, or was known as stated.';
comment on column gmsi.readings.completed_at is 'When all of it was here, by the clock of this database; of a file with --known-at, that moment.';
comment on column gmsi.readings.load_id is 'Load that read it.';
comment on column gmsi.readings.series_id is 'Series.';
comment on column gmsi.readings.first_day is 'First day (UTC).';
comment on column gmsi.readings.last_day is 'Last day (UTC), inclusive.';
comment on column gmsi.readings.asked_on is 'The day (UTC) of asked_at by the earlier one of the clocks of the machine and the service. Days before it were over.';
comment on column gmsi.readings.settled_before is 'Days before it were settled: asked_on less the lookback of the job. -infinity if the clocks were too far apart.';
comment on column gmsi.readings.source is 'w: a window, l: an answer of the live feed, f: an imported file.';
comment on column gmsi.readings.is_whole is 'True if it has all that the source has of these days. False for an answer of the live feed, and for a window that was given up after some pages.';
comment on column gmsi.readings.is_first is 'True if it is the first that touched, loaded, settled or watched one of its days, so that gmsi.compact keeps it.';
comment on column gmsi.readings.is_accepted is 'True if its load accepted all retractions (--accept-retractions).';
comment on column gmsi.readings.rows_held is 'Rows that these days had before; 0 if none were compared.';
comment on column gmsi.readings.rows_gone is 'Those of them that no page had, so that they were retracted.';
comment on column gmsi.readings.pages is 'Pages.';
comment on column gmsi.readings.records is 'Records on them.';
comment on column gmsi.readings.rows_inserted is 'Rows that were new.';
comment on column gmsi.readings.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.readings.rows_retracted is 'Rows that the service no longer returned, or returned with another publication time.';
comment on column gmsi.readings.records_rejected is 'Records that could not be read.';
comment on column gmsi.readings.records_outside is 'Records that were dropped because they are of other days.';
comment on column gmsi.readings.rows_met is 'As gmsi.windows.rows_met.';

comment on table gmsi.series_days is 'What follows from the readings of each series, kept because most questions need only this. The check ledger-cache compares it with gmsi.derive_days.';
comment on column gmsi.series_days.series_id is 'Series.';
comment on column gmsi.series_days.touched is 'Days of any reading.';
comment on column gmsi.series_days.loaded is 'Days of whole readings.';
comment on column gmsi.series_days.whole is 'Days of whole readings that were asked after the end of the day.';
comment on column gmsi.series_days.covered is 'Days of whole readings for which the day was settled.';
comment on column gmsi.series_days.watch_here is 'When the watch began: completed_at of the first whole reading of a window that reached days which were not settled.';
comment on column gmsi.series_days.watch_on is 'Its asked_on: rows of this day and later ones are never backfilled.';
comment on column gmsi.series_days.watch_from is 'Its settled_before: syncs go back to the first day since then that is not covered.';
comment on column gmsi.series_days.updated_at is 'When it last changed.';

comment on view gmsi.series_states is 'The days of each series, for gmsi.state_of and gmsi.known_state.';
comment on column gmsi.series_states.series_id is 'Series.';
comment on column gmsi.series_states.first_day is 'First day (UTC) that was ever requested.';
comment on column gmsi.series_states.last_day is 'Last day (UTC) that was ever requested.';
comment on column gmsi.series_states.covered is 'Covered days.';
comment on column gmsi.series_states.settling is 'Loaded days, settled or not.';
comment on column gmsi.series_states.partial is 'Days of any reading or begun window.';
comment on column gmsi.series_states.watch_here is 'As in gmsi.series_days.';

comment on table gmsi.rejected_records is 'Records that could not be read into a row, or not whole, with the reason. The rest of their page was loaded.';
comment on column gmsi.rejected_records.record_hash is 'Hash of the record, so that draining a window again does not store it twice.';
comment on column gmsi.rejected_records.reason is 'Why it could not be read, as of the last attempt.';
comment on column gmsi.rejected_records.record is 'The record as the service sent it. Characters that PostgreSQL cannot store are replaced by U+FFFD.';
comment on column gmsi.rejected_records.window_id is 'Window that loaded it; null if it came from a live feed or an imported file.';
comment on column gmsi.rejected_records.load_id is 'Load that first found it.';
comment on column gmsi.rejected_records.rejected_at is 'When it was first rejected.';
comment on column gmsi.rejected_records.asked_at is 'The latest state of the service that had it; as in gmsi.headlines.';
comment on column gmsi.rejected_records.is_row is 'True if the record is a row, and only the values that the reason names could not be read: their columns are null, and extra has the values as sent.';

comment on table gmsi.processes is 'The processes that own work: gmsi work, and the commands that load. A process owns what names it in a column process_id or export_process_id, and the windows of its loads, as long as it sends heartbeats; if it is silent for longer than the lease, another process may take what it owns.';
comment on column gmsi.processes.process_id is 'Id of the process.';
comment on column gmsi.processes.run_by is 'Host and process id, and the version of the program; as in gmsi.loads.';
comment on column gmsi.processes.version is 'Version of the program.';
comment on column gmsi.processes.concurrency is 'How many backfills a worker runs at a time, and how many syncs.';
comment on column gmsi.processes.started_at is 'When it started.';
comment on column gmsi.processes.heartbeat_at is 'Last sign of life.';
comment on column gmsi.processes.stopped_at is 'When it stopped normally; null while it runs, and if it was killed.';
comment on column gmsi.processes.command is 'work for a worker, else the command that the process runs.';
comment on column gmsi.processes.jobs is 'The jobs that a worker runs: those that it names, or those of its folder. null for a worker without job files, which runs every job of gmsi.jobs, and for other commands.';

comment on table gmsi.imported_files is 'One row per file that gmsi import has read or is reading, with its checkpoint and totals. A file is identified by its content, its series and the columns from its folder names, so that it is loaded only once, even under another name.';
comment on column gmsi.imported_files.file_id is 'Number of the file. gmsi.readings has the days that it covers under the same number; days that a later import stated, under another one.';
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
comment on column gmsi.imported_files.error is 'Why it was not read to its end, if it was not.';
comment on column gmsi.imported_files.started_at is 'When it was first read.';
comment on column gmsi.imported_files.finished_at is 'When its last record was loaded; null until then.';
comment on column gmsi.imported_files.records_by_day is 'How many records of each day (UTC) were read so far, rejected ones excluded. Stated days count as covered only if these records are of them.';
comment on column gmsi.imported_files.process_id is 'The process that reads it, or read it last. As long as that sends heartbeats, other imports wait.';

comment on table gmsi.drain_sightings is 'The rows that the service has returned so far for windows that are compared (is_compared), one row per page. Deleted at the end of the drain.';
comment on column gmsi.drain_sightings.window_id is 'Window.';
comment on column gmsi.drain_sightings.page is 'Number of the page in this drain, from 0.';
comment on column gmsi.drain_sightings.row_times is 'Times of the rows on the page.';
comment on column gmsi.drain_sightings.row_ids is 'Ids of the same rows.';

comment on table gmsi.live_sightings is 'Rows that a live feed has returned and the historical feed has not returned yet. They are not retracted while the live feed still reaches back to them, because the historical feed may lag behind.';
comment on column gmsi.live_sightings.series_id is 'Series.';
comment on column gmsi.live_sightings.row_time is 'Time of the row.';
comment on column gmsi.live_sightings.row_id is 'Id of the row.';

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
comment on column gmsi.headlines.first_seen_at is 'When this warehouse first stored the headline, with whatever publication time.';
comment on column gmsi.headlines.changed_at is 'When this warehouse first stored this version.';
comment on column gmsi.headlines.retracted_at is 'When a load found that the service no longer returns it, or returns it with another publication time; null while the service returns it.';
comment on column gmsi.headlines.is_backfilled is 'True if the row came with the first load of its day, and nobody had watched before: the day was settled by then, or over when the first load of its series began. So first_seen_at does not show when the service published it. A row that came later counts from first_seen_at.';
comment on column gmsi.headlines.load_id is 'Load that wrote this version.';
comment on column gmsi.headlines.window_id is 'Window that loaded this version; null if it came from the live feed, rejected_records or an imported file.';
comment on column gmsi.headlines.asked_at is 'The state of the service that this version tells: when the drain or the answer that had it was begun, when its file was made, or for a repair when its record was rejected. A version of an earlier state never replaces one of a later state.';
comment on column gmsi.headlines.moved_from is 'Publication time that this warehouse first had for the headline, if the service has corrected it since, by up to 24 hours; else null. Each time has a row: the row with the old time is retracted, and this one takes over its first_seen_at and is_backfilled.';
comment on column gmsi.headlines.model_version is 'Version of the model that scored the headline, if the service sends one.';

comment on table gmsi.headline_revisions is 'Replaced versions of headlines: each was in gmsi.headlines from known_from until known_to.';
comment on column gmsi.headline_revisions.known_from is 'When this warehouse first stored this version (its changed_at).';
comment on column gmsi.headline_revisions.retracted_at is 'Set if the headline was retracted in this version.';
comment on column gmsi.headline_revisions.known_to is 'When the next version replaced it (the changed_at of that version).';
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, moved (the service now sends it with another publication time, so it has another row: see moved_from), returned (after a retraction), read again (a repair filled columns from extra; the service changed nothing), or other (another column).';

comment on view gmsi.headlines_point_in_time is 'Every version of every headline with the time in which a back-test may use it: from usable_from (inclusive) until usable_to (exclusive). A back-test that follows these times uses nothing that was not known at the time. Versions in which the headline was retracted are omitted.';
comment on column gmsi.headlines_point_in_time.entered_at is 'When the headline became known; the same in all its versions. This is the later of its first publication time (moved_from, else published_at) and first_seen_at, or for a backfilled headline, its publication (gmsi.published_by). A back-test that counts, at each decision, the headlines that entered since the previous decision counts each headline once.';
comment on column gmsi.headlines_point_in_time.usable_from is 'The first moment at which a back-test may use this version without look-ahead: the later of published_at and known_from.';
comment on column gmsi.headlines_point_in_time.usable_to is 'When the next version replaced it, or when it was marked retracted, also because the headline moved to another publication time; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.assumed_from is 'As usable_from, on the assumption that a backfilled headline had its scores when it was published. If the service revised them before the backfill, that is look-ahead. A headline with a time on the full hour counts from the end of that hour, because the service may round times down (gmsi.published_by). Null for a version that a repair completed: the completed one counts instead.';
comment on column gmsi.headlines_point_in_time.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.headlines_point_in_time.is_first is 'True for the first version of the headline that this warehouse held, and for a version that differs from it only because a repair filled columns. Never true after the headline moved to another publication time.';
comment on column gmsi.headlines_point_in_time.reason is 'Why it was replaced, as in gmsi.headline_revisions; null if it is the current version.';

comment on type gmsi.headline_version is 'A version of a headline: the columns of gmsi.headlines, without those that users added.';

comment on table gmsi.revisions is 'Replaced versions of the rows of all feeds'' tables except gmsi.headlines, which has gmsi.headline_revisions.';
comment on column gmsi.revisions.table_name is 'Table of the row.';
comment on column gmsi.revisions.row_id is 'Id of the row in that table.';
comment on column gmsi.revisions.series is 'The columns that identify its series, and its time.';
comment on column gmsi.revisions.version is 'The whole row in this version.';
comment on column gmsi.revisions.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.revisions.known_to is 'When the next version replaced it.';
comment on column gmsi.revisions.reason is 'Why it was replaced: changed (by the service), retracted, returned (after a retraction), or read again (a repair filled columns from extra; the service changed nothing).';

comment on table gmsi.ticker_headlines is 'The current version of each headline, one row for each ticker, match type and variant that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.ticker_headlines.match_type is 'Match type that was requested: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.entry_id is 'Identity: a hash of headline_id and topic. A headline about several topics has a row for each.';
comment on column gmsi.ticker_headlines.ticker_name is 'Name of the asset.';
comment on column gmsi.ticker_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.ticker_headlines.record_match_type is 'How the headline mentions the asset, according to the record: EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.ticker_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.ticker_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.ticker_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';

comment on table gmsi.ticker_events is 'The current version of each event of a ticker.';
comment on column gmsi.ticker_events.event_id is 'Identity: the service''s own id if there is one, else a hash of time, name, type and topic, else of all content.';
comment on column gmsi.ticker_events.summary is 'Summary.';
comment on column gmsi.ticker_events.direction is 'Bullish or Bearish.';
comment on column gmsi.ticker_events.impact is 'Impact as sent: a number, or a word such as High.';
comment on column gmsi.ticker_events.impact_number is 'impact as a number, if it is one.';

comment on table gmsi.ticker_event_headlines is 'The current version of each headline about an event of a ticker. Partitioned by month of published_at.';
comment on column gmsi.ticker_event_headlines.entry_id is 'Identity: a hash of headline_id and event. A headline about several events has a row for each.';
comment on column gmsi.ticker_event_headlines.event_id is 'Id of the event as the service sends it.';
comment on column gmsi.ticker_event_headlines.sentiment_score is 'Sentiment, if the service sends it.';

comment on table gmsi.ticker_index is 'Hourly headline sentiment of a ticker by topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.ticker_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_index.entry_id is 'Identity: a hash of time, topic and record_match_type.';
comment on column gmsi.ticker_index.record_match_type is 'Match type, according to the record (index_type).';

comment on table gmsi.gmsi_index is 'Hourly headline sentiment of a country and topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.gmsi_index.topic is 'Topic that was requested.';
comment on column gmsi.gmsi_index.match_type is 'Match type that was requested (index_type): COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.gmsi_index.variant is 'Further parameters of the request, as name=value&name=value: sentiment_type and others. An hour has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.gmsi_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.gmsi_index.topic_name is 'Topic, according to the record.';
comment on column gmsi.gmsi_index.sentiment_type is 'Model that was requested: directional or semantic_sentiment.';

comment on table gmsi.regional_index is 'Hourly headline sentiment of each country of a group by topic, as the service aggregates it (the regional macro index). Partitioned by month of published_at.';
comment on column gmsi.regional_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT; DOMESTIC or INTERNATIONAL for rows of an archive.';
comment on column gmsi.regional_index.variant is 'Further parameters of the request, as name=value&name=value: model, country_preset and others. An hour of a country has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.regional_index.entry_id is 'Identity: a hash of time, topic and country_name.';
comment on column gmsi.regional_index.country_name is 'Name of the country, according to the record.';
comment on column gmsi.regional_index.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.regional_index.sentiment_avg is 'Mean of their scores as the service sends it.';
comment on column gmsi.regional_index.model is 'Model that was requested: macro_1, macro_2 or macro_3; null in rows of an archive, which does not name the model.';

comment on table gmsi.global_index is 'Hourly headline sentiment of the world by topic, as the service aggregates it (the global macro index). Partitioned by month of published_at.';
comment on column gmsi.global_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.global_index.variant is 'Further parameters of the request, as name=value&name=value: model and others. An hour has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.global_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.global_index.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.global_index.sentiment_avg is 'Mean of their scores as the service sends it.';
comment on column gmsi.global_index.model is 'Model that was requested: macro_1, macro_2 or macro_3.';

comment on table gmsi.ticker_event_metrics is 'Event sentiment metrics of a ticker, as the service aggregates them. Their fields are not documented; those without a column are in extra.';
comment on column gmsi.ticker_event_metrics.entry_id is 'Identity: a hash of time, event type and topic.';
comment on column gmsi.ticker_event_metrics.published_at is 'Time of the metric.';

comment on table gmsi.event_query_metrics is 'Results of the custom query for event sentiment metrics (POST /events/index/query).';
comment on column gmsi.event_query_metrics.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.event_query_metrics.entry_id is 'Identity: a hash of time, ticker, event type and topic.';
comment on column gmsi.event_query_metrics.published_at is 'Time of the metric.';
comment on column gmsi.event_query_metrics.ticker is 'Ticker, according to the record.';

comment on table gmsi.regional_index_query is 'Results of the custom query for the regional macro index (POST /headlines/index/macro/query/regional).';
comment on column gmsi.regional_index_query.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.regional_index_query.entry_id is 'Identity: a hash of time, topic and country_name.';
comment on column gmsi.regional_index_query.country_name is 'Name of the country, according to the record.';
comment on column gmsi.regional_index_query.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.regional_index_query.sentiment_avg is 'Mean of their scores as the service sends it.';

comment on table gmsi.global_index_query is 'Results of the custom query for the global macro index (POST /headlines/index/macro/query/global).';
comment on column gmsi.global_index_query.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.global_index_query.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.global_index_query.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.global_index_query.sentiment_avg is 'Mean of their scores as the service sends it.';

comment on table gmsi.macro_headlines is 'The current version of each headline of a macro model, one row for each country, topic, match type and variant that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.macro_headlines.match_type is 'Match type that was requested.';
comment on column gmsi.macro_headlines.variant is 'Further parameters of the request, with the model: model=macro_1.';
comment on column gmsi.macro_headlines.entry_id is 'Identity: a hash of headline_id, country_name and topic.';
comment on column gmsi.macro_headlines.country_name is 'Name of the country, according to the record.';
comment on column gmsi.macro_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.macro_headlines.record_match_type is 'Match type, according to the record.';
comment on column gmsi.macro_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.macro_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.macro_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.macro_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';
comment on column gmsi.macro_headlines.model is 'Model that was requested: macro_1, macro_2 or macro_3.';

comment on table gmsi.hourly_sums is 'The rows of gmsi.sentiment_hourly.';
comment on column gmsi.hourly_sums.hour is 'Start of the hour (UTC).';

comment on table gmsi.daily_sums is 'The rows of gmsi.sentiment_daily.';
comment on column gmsi.daily_sums.day is 'Day (UTC).';

comment on view gmsi.sentiment_hourly is 'Sums over the headlines of each hour, for each model, with the same components as the service''s own index feed (gmsi.gmsi_index). An hour without headlines has no row; retracted headlines do not count.';
comment on column gmsi.sentiment_hourly.hour is 'Start of the hour (UTC).';
comment on column gmsi.sentiment_hourly.state is 'How completely the day is loaded (gmsi.state_of): covered, settling or partial. A partial day has headlines, but others may be missing: it may not even have been requested.';

comment on view gmsi.sentiment_daily is 'The same as gmsi.sentiment_hourly for each day (UTC).';
comment on column gmsi.sentiment_daily.day is 'Day (UTC).';
comment on column gmsi.sentiment_daily.state is 'How completely the day is loaded (gmsi.state_of): covered, settling or partial. A partial day has headlines, but others may be missing: it may not even have been requested.';

comment on view gmsi.coverage_by_day is 'One row per series and day (UTC), from the first day that was ever requested to the last, with its state. Left-join it to tell a day without news from one that was never loaded. Filter by series, because there are many days.';
comment on column gmsi.coverage_by_day.day is 'Day (UTC).';
comment on column gmsi.coverage_by_day.state is 'covered, settling, partial or not loaded (gmsi.state_of).';

comment on view gmsi.coverage_gaps is 'Days (UTC), from the first that was ever requested to the last, that are not completely loaded and settled, with the window that is to load them.';
comment on column gmsi.coverage_gaps.from_day is 'First day of the gap (UTC).';
comment on column gmsi.coverage_gaps.to_day is 'Last day of the gap (UTC), inclusive.';
comment on column gmsi.coverage_gaps.days is 'Number of days.';
comment on column gmsi.coverage_gaps.state is 'State of the window that is to load these days (pending, draining, failed, refused). Without such a window: settling, if they are loaded and a sync loads them again, because they were not over or may still change; not loaded, if they were never requested, but days before and after them were.';
comment on column gmsi.coverage_gaps.window_id is 'That window; null if there is none.';
comment on column gmsi.coverage_gaps.cause is 'As in gmsi.windows; or too old: refused, and only younger days of the series are loaded.';
comment on column gmsi.coverage_gaps.last_error is 'Why its last attempt failed, if it did.';

comment on view gmsi.topic_guide is 'What the scores of each topic mean. One row per topic that the service lists or has listed.';
comment on column gmsi.topic_guide.topic is 'Topic name exactly as the service writes it.';
comment on column gmsi.topic_guide.category is 'Its theme, such as Monetary Policy, if the service sends one.';
comment on column gmsi.topic_guide.listed is 'False once the service no longer lists it.';
comment on column gmsi.topic_guide.directional_plus is 'What a positive directional score means. A guess for all topics, from the vendor''s public posts of 2026; where directional_rule says something else, the rule is right.';
comment on column gmsi.topic_guide.semantic_plus is 'What a positive semantic score means: a guess as well.';
comment on column gmsi.topic_guide.directional_rule is 'The rule by which the service scores headlines of the topic with the directional model, in its own words; null if it sends none.';
comment on column gmsi.topic_guide.semantic_rule is 'The same for the semantic model.';

comment on view gmsi.sentiment_by_day is 'One row per country, topic, match type and day (UTC), without gaps, with both models: from the first day that was ever requested to the last. Filter by country and topic, because there are many days. A mean over several days is sum(directional_sum) / sum(directional_count), not the mean of directional_mean.';
comment on column gmsi.sentiment_by_day.country is 'Country.';
comment on column gmsi.sentiment_by_day.country_name is 'Its name, as the service lists it; null if it lists none.';
comment on column gmsi.sentiment_by_day.topic is 'Topic.';
comment on column gmsi.sentiment_by_day.match_type is 'Match type that the headlines were requested with.';
comment on column gmsi.sentiment_by_day.day is 'Day (UTC).';
comment on column gmsi.sentiment_by_day.state is 'How completely the day is loaded (gmsi.state_of): covered; settling, if it may still change; partial, if headlines may be missing; not loaded: then counts, sums and means are null.';
comment on column gmsi.sentiment_by_day.all_count is 'Number of all headlines, with or without a score: 0 if the day is loaded and had none.';
comment on column gmsi.sentiment_by_day.directional_count is 'Number of headlines with a directional score: headline_count of gmsi.sentiment_daily.';
comment on column gmsi.sentiment_by_day.directional_sum is 'Sum of their directional scores.';
comment on column gmsi.sentiment_by_day.directional_mean is 'Mean directional score: directional_sum / directional_count; null if no headline has one.';
comment on column gmsi.sentiment_by_day.directional_probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_by_day.directional_weighted_sum is 'Sum of directional score times topic_probability.';
comment on column gmsi.sentiment_by_day.directional_weighted_mean is 'Mean directional score weighted by topic_probability: directional_weighted_sum / directional_probability_sum.';
comment on column gmsi.sentiment_by_day.semantic_count is 'Number of headlines with a semantic score: headline_count of gmsi.sentiment_daily.';
comment on column gmsi.sentiment_by_day.semantic_sum is 'Sum of their semantic scores.';
comment on column gmsi.sentiment_by_day.semantic_mean is 'Mean semantic score: semantic_sum / semantic_count; null if no headline has one.';
comment on column gmsi.sentiment_by_day.semantic_probability_sum is 'Sum of their topic_probability; headlines without one count as 0.';
comment on column gmsi.sentiment_by_day.semantic_weighted_sum is 'Sum of semantic score times topic_probability.';
comment on column gmsi.sentiment_by_day.semantic_weighted_mean is 'Mean semantic score weighted by topic_probability: semantic_weighted_sum / semantic_probability_sum.';

comment on view gmsi.index_daily is 'The hourly indices of the service by day (UTC): the hours that the feeds gmsi-index, regional-index, global-index and ticker-index sent, added up, as they are known now: for what was known at a moment, sum up the tables as of it (gmsi.gmsi_index_as_of and so on). Filter by feed, subject, match_type and variant: each combination is a series. An hour is of the day in which it began; if the service did not say how it stamps hours (hour_stamp is unknown), they are taken as stamped at their beginning.';
comment on column gmsi.index_daily.feed is 'The feed of the index.';
comment on column gmsi.index_daily.subject is 'Country (gmsi-index), name of the country (regional-index), World (global-index) or ticker (ticker-index).';
comment on column gmsi.index_daily.topic is 'Topic, empty if the record has none.';
comment on column gmsi.index_daily.match_type is 'Match type: for a ticker that of the record if it has one, else the one that was requested.';
comment on column gmsi.index_daily.variant is 'Further parameters of the request, as name=value&name=value.';
comment on column gmsi.index_daily.day is 'Day (UTC).';
comment on column gmsi.index_daily.hours is 'Hours that the service sent. The sums are of those that have both a count and a sum.';
comment on column gmsi.index_daily.headline_count is 'Number of headlines, by which sentiment_sum is divided.';
comment on column gmsi.index_daily.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.index_daily.sentiment_abs_sum is 'Sum of the absolute values of their scores; null if one of these hours lacks it.';
comment on column gmsi.index_daily.sentiment_mean is 'Mean of their scores, null without headlines.';

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

comment on view gmsi.arrival_delays is 'How long after its publication a headline arrives in this warehouse, by source: of headlines published in the last 30 days, after the first load began, that are not backfilled: only these were seen when they came. A delay has three parts: of the service, of the time until the next sync, and of up to an hour if the service rounds publication times down.';
comment on column gmsi.arrival_delays.source is 'Publisher; null for headlines without one.';
comment on column gmsi.arrival_delays.headlines is 'Number of headlines that are not retracted; each country, topic and match type counts.';
comment on column gmsi.arrival_delays.p50 is 'Median of the time from the first publication time (moved_from, or published_at) to first_seen_at.';
comment on column gmsi.arrival_delays.p99 is 'The time within which 99% of them arrived.';

comment on table gmsi.moments is 'Moments that have a name, so that an answer as of one can be asked for again (gmsi snapshot). Nothing but gmsi snapshot --remove deletes one.';
comment on column gmsi.moments.name is 'Name; a name is never moved to another moment.';
comment on column gmsi.moments.at is 'The moment.';
comment on column gmsi.moments.note is 'What it is for, as --note says; null if it was not said.';
comment on column gmsi.moments.taken_at is 'When it was named.';
comment on column gmsi.moments.taken_by is 'Host and process id, and the version of the program; as in gmsi.loads.';

comment on view gmsi.markets is 'The main stock market of a country, with its trading hours as the Python package exchange_calendars has them. gmsi.market_closes has its closes.';
comment on column gmsi.markets.country is 'Country, as in gmsi.countries.';
comment on column gmsi.markets.market is 'Name of the market.';
comment on column gmsi.markets.mic is 'Market identifier code (ISO 10383) of the calendar.';
comment on column gmsi.markets.currency is 'Currency (ISO 4217).';
comment on column gmsi.markets.index_name is 'Main stock index. The package has none: the name is written here by hand.';
comment on column gmsi.markets.zone is 'Time zone of its hours.';
comment on column gmsi.markets.known_from is 'First day of the calendar.';
comment on column gmsi.markets.known_to is 'Last day of the calendar. Governments announce some holidays of later years only shortly before.';
comment on column gmsi.markets.weekdays is 'Days of the week with trading: 1 is Monday.';
comment on column gmsi.markets.usual_since is 'Days from which each of usual_closes applies.';
comment on column gmsi.markets.usual_closes is 'Usual times of the close.';
comment on column gmsi.markets.holidays is 'Weekdays without trading.';
comment on column gmsi.markets.other_days is 'Half days, and trading days that are not weekdays.';
comment on column gmsi.markets.other_closes is 'Times of the close on other_days.';
comment on view gmsi.market_closes is 'The closes of markets, for gmsi.sentiment_daily_as_known: those of gmsi.markets, with those of gmsi.closes in their place.';
comment on column gmsi.market_closes.market is 'Name of the market, as in gmsi.markets or gmsi.closes.';
comment on column gmsi.market_closes.day is 'Trading day, in the time of the market.';
comment on column gmsi.market_closes.at is 'When it closed: earlier on half days.';
comment on table gmsi.closes is 'Your own closes, of a market of gmsi.markets or of another one. They replace those of gmsi.market_closes; the program inserts none.';
comment on column gmsi.closes.market is 'Name of the market, as in gmsi.markets or as you like.';
comment on column gmsi.closes.day is 'Day, in the time of the market.';
comment on column gmsi.closes.at is 'When it closed; null if there was no trading.';

comment on type gmsi.sentiment_day_as_known is 'A row of gmsi.sentiment_daily_as_known.';
comment on type gmsi.signal is 'A row of gmsi.signals.';

comment on table gmsi.jobs is 'Job files as gmsi work and gmsi backfill --enqueue have read them: workers run what is stored here. A file replaces the row when a worker that has it starts, when the file changes under a worker, and with --enqueue. If the file is removed under the last worker that has it, the row is removed.';
comment on column gmsi.jobs.job is 'Name of the job file, without its ending.';
comment on column gmsi.jobs.definition is 'Content of the file, without its secrets (alerts.webhook_url).';
comment on column gmsi.jobs.registered_at is 'When this definition was first read.';
comment on column gmsi.jobs.registered_by is 'Host and process id of the process that read this definition, and the version of the program.';
comment on column gmsi.jobs.export_due_at is 'Since when its exports are due; null if they are not.';
comment on column gmsi.jobs.export_process_id is 'The worker that is making its exports; null if none is.';

comment on table gmsi.schedules is 'When each job is due, and which process is loading it. A job that was only enqueued or synced by hand has a row without cron.';
comment on column gmsi.schedules.job is 'Name of the job.';
comment on column gmsi.schedules.command is 'backfill, sync, or refresh (a backfill of the days that were loaded longest ago).';
comment on column gmsi.schedules.cron is 'Cron expression of five fields, in timezone; null if nothing is scheduled.';
comment on column gmsi.schedules.timezone is 'IANA name of the time zone of cron.';
comment on column gmsi.schedules.fired_at is 'When it was last due and begun, or stopped. It is due again at the first time of cron after this. If several times were missed, it runs once.';
comment on column gmsi.schedules.due_at is 'Since when it is due; null once it is loaded, stopped or paused. What an operator has paused stays due.';
comment on column gmsi.schedules.process_id is 'The process that is loading it, a worker or gmsi sync; null if none is. If that process is silent for longer than the lease, another one continues.';
comment on column gmsi.schedules.resumes_at is 'When its pause ends; null if it is not paused, or until gmsi job resume.';
comment on column gmsi.schedules.paused_because is 'budget: the month''s requests are used up · failures: too many windows failed in a row, or its load could not begin · operator: until gmsi job resume.';
comment on column gmsi.schedules.pause_error is 'The error that paused it.';
comment on column gmsi.schedules.pauses is 'Pauses in a row that failures caused; each is twice as long as the one before.';
comment on column gmsi.schedules.ended_at is 'When a worker last ended it, by the database''s clock. No worker begins it again within that minute, whatever due_at says.';

comment on table gmsi.alerts is 'One row per problem of a job, from the time at which it was noticed until it is resolved. The address of the webhook is not stored.';
comment on column gmsi.alerts.alert_id is 'Number of the alert.';
comment on column gmsi.alerts.kind is 'failed windows: some windows failed and have not been drained since, or the service does not list, or no longer lists, a name of the job · budget: the month''s requests will not last for the schedule · late: the newest covered day is older than max_lag · rows gone: days that had rows have none left · load failed: an error ended the last load · key refused: the service refuses the API key · export failed: an export after a load failed, and none has succeeded since · check failed: the last run of a check failed · fields changed: fields of the feed have appeared or vanished in the last 7 days (unknown_fields) · job file: a worker cannot read its file, and runs the last version that it could read.';
comment on column gmsi.alerts.job is 'Name of the job file, without its ending.';
comment on column gmsi.alerts.message is 'Text of the alert, as of seen_at.';
comment on column gmsi.alerts.details is 'The same, with the causes (as gmsi status --json has them) or numbers.';
comment on column gmsi.alerts.raised_at is 'When it was first noticed.';
comment on column gmsi.alerts.seen_at is 'When it was last noticed.';
comment on column gmsi.alerts.resolved_at is 'When the problem was found to be over; null until then.';
comment on column gmsi.alerts.sent_at is 'When the webhook accepted the message; null if the problem was over before it could be sent.';
comment on column gmsi.alerts.resolution_sent_at is 'When the webhook accepted the message that the problem is over.';
comment on column gmsi.alerts.process_id is 'The process that sends one of the two messages, or sent one last. As long as that sends heartbeats, no other one sends.';

comment on table gmsi.check_results is 'The last result of each check (gmsi check) in each job, as of the rows that were loaded at the time.';
comment on column gmsi.check_results.job is 'Name of the job file, without its ending.';
comment on column gmsi.check_results.check_name is 'Name of the check''s file, without its ending.';
comment on column gmsi.check_results.title is 'The rule that the check verifies.';
comment on column gmsi.check_results.severity is 'fail, or warn if correct data may have findings, too.';
comment on column gmsi.check_results.result is 'passed: no findings · failed or warned, by its severity: findings that are not known, or it took too long · known: all its findings are known · skipped: it is not for the job''s feed, or a table or set that it needs is empty.';
comment on column gmsi.check_results.findings is 'Number of findings, without the known ones.';
comment on column gmsi.check_results.known is 'Number of known findings: those that gmsi.known_findings lists.';
comment on column gmsi.check_results.reason is 'Why it was skipped or did not finish; else null.';
comment on column gmsi.check_results.checked_at is 'When it was run.';
comment on table gmsi.known_findings is 'Findings of checks that somebody has acknowledged (gmsi check --known). A check does not fail because of them.';
comment on column gmsi.known_findings.job is 'Name of the job file, without its ending.';
comment on column gmsi.known_findings.check_name is 'Name of the check''s file, without its ending.';
comment on column gmsi.known_findings.digest is 'Identity: a hash of the finding, without the columns that the check''s file lists as totals. Of equal findings, each has its own.';
comment on column gmsi.known_findings.finding is 'The finding, a row of the check''s query.';
comment on column gmsi.known_findings.reason is 'Why it is acceptable (--reason).';
comment on column gmsi.known_findings.known_since is 'When it was acknowledged.';

comment on table gmsi.turns is 'What one transaction does at a time, such as the rollups of a series or the planning of a feed: a transaction locks the row as long as its turn lasts. Rows are never changed.';
comment on column gmsi.turns.turn is 'What it is the turn for.';

comment on table gmsi.warehouse_moves is 'One row if gmsi migrate --to has moved this warehouse to another database, or is filling it from one. As long as the row is there, every booking, claim, heartbeat and named moment is refused.';
comment on column gmsi.warehouse_moves.only_row is 'Always true, so that there is one row at most.';
comment on column gmsi.warehouse_moves.move_id is 'The same in both warehouses of a move.';
comment on column gmsi.warehouse_moves.direction is 'to: moved to the other warehouse, which is the one to use · from: filled from the other one by a move that has not ended; gmsi migrate --to ends it.';
comment on column gmsi.warehouse_moves.other is 'The other warehouse, without a password.';
comment on column gmsi.warehouse_moves.source is 'What identifies the old warehouse, whatever its address is: when its schema was created. Only from there may the new one be filled again.';
comment on column gmsi.warehouse_moves.marked_at is 'When the row was written.';
