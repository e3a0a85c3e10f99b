-- Views for analysts (is this day loaded, how did the loads go), and the roles that let them read and no more.

create view gmsi.coverage_by_day as
  select span.feed, span.country, span.topic, span.ticker, span.match_type, span.variant, day::date as day,
         coalesce(span.covered @> day::date, false) as is_covered
  from (
    select feed, country, topic, ticker, match_type, variant, c.days as covered,
           least(lower(c.days), min(w.first_day)) as first_day, greatest(upper(c.days) - 1, max(w.last_day)) as last_day
    from gmsi.coverage c
    full join gmsi.windows w using (feed, country, topic, ticker, match_type, variant)
    group by feed, country, topic, ticker, match_type, variant, c.days
  ) as span
  cross join lateral generate_series(span.first_day::timestamp, span.last_day::timestamp, interval '1 day') as day;
comment on view gmsi.coverage_by_day is 'One row per series and day (UTC), from the first day that was ever asked for to the last: whether the day is loaded to its end and settled. Left-join it to tell a day without news from one that was never fetched. Filter by series: there are many days.';
comment on column gmsi.coverage_by_day.feed is 'Feed.';
comment on column gmsi.coverage_by_day.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.coverage_by_day.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.coverage_by_day.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.coverage_by_day.match_type is 'Match type of the series.';
comment on column gmsi.coverage_by_day.variant is 'Further parameters of the series; empty if there are none.';
comment on column gmsi.coverage_by_day.day is 'Day (UTC).';
comment on column gmsi.coverage_by_day.is_covered is 'True if the day is loaded to its end and settled; false if it was asked for and is not, or not yet.';

create view gmsi.coverage_gaps as
  select span.feed, span.country, span.topic, span.ticker, span.match_type, span.variant,
         lower(part.days) as from_day, upper(part.days) - 1 as to_day, upper(part.days) - lower(part.days) as days,
         coalesce(part.state, 'unsettled') as state, part.window_id, part.last_error
  from (
    select feed, country, topic, ticker, match_type, variant, coalesce(c.days, '{}') as covered,
           daterange(least(lower(c.days), min(w.first_day)), greatest(upper(c.days) - 1, max(w.last_day)), '[]') as span
    from gmsi.coverage c
    full join gmsi.windows w using (feed, country, topic, ticker, match_type, variant)
    group by feed, country, topic, ticker, match_type, variant, c.days
  ) as span
  cross join lateral unnest(datemultirange(span.span) - span.covered) as gap
  cross join lateral (
    -- A gap is split by the windows of its days; days without a window stay as they are.
    select gap * w.days as days, w.window_id, w.state, w.last_error
    from gmsi.windows w
    where (w.feed, w.country, w.topic, w.ticker, w.match_type, w.variant)
        = (span.feed, span.country, span.topic, span.ticker, span.match_type, span.variant)
      and w.days && gap and w.state <> 'drained'
    union all
    select rest, null, null, null
    from unnest(datemultirange(gap) - coalesce((
      select range_agg(w.days) from gmsi.windows w
      where (w.feed, w.country, w.topic, w.ticker, w.match_type, w.variant)
          = (span.feed, span.country, span.topic, span.ticker, span.match_type, span.variant)
        and w.days && gap and w.state <> 'drained'), '{}')) as rest
  ) as part;
comment on view gmsi.coverage_gaps is 'Days (UTC) that were asked for, or lie between days that were, and are not loaded to their end and settled, with the window that stands for them.';
comment on column gmsi.coverage_gaps.feed is 'Feed.';
comment on column gmsi.coverage_gaps.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.coverage_gaps.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.coverage_gaps.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.coverage_gaps.match_type is 'Match type of the series.';
comment on column gmsi.coverage_gaps.variant is 'Further parameters of the series; empty if there are none.';
comment on column gmsi.coverage_gaps.from_day is 'First day of the gap (UTC).';
comment on column gmsi.coverage_gaps.to_day is 'Last day of the gap (UTC), itself included.';
comment on column gmsi.coverage_gaps.days is 'How many days that is.';
comment on column gmsi.coverage_gaps.state is 'State of the window that stands for these days (pending, draining, failed, refused). unsettled: no window stands for them now; loaded, but they may still change, and a sync loads them again; or never asked for, between days that were.';
comment on column gmsi.coverage_gaps.window_id is 'The window.';
comment on column gmsi.coverage_gaps.last_error is 'Why its last attempt failed, if it did.';

create view gmsi.load_history as
  select load_id, command, job, feed,
         case
           when outcome is not null then outcome
           when heartbeat_at > now() - interval '5 minutes' then 'running'
           else 'killed'
         end as state,
         started_at, finished_at, coalesce(finished_at, heartbeat_at) - started_at as took,
         requests, windows_drained, windows_failed, pages, records,
         rows_inserted, rows_changed, rows_retracted, records_rejected, error, run_by
  from gmsi.loads;
comment on view gmsi.load_history is 'How each load went. The load_id of a headline leads here.';
comment on column gmsi.load_history.load_id is 'Number of the load.';
comment on column gmsi.load_history.command is 'backfill, sync or replay.';
comment on column gmsi.load_history.job is 'Name of the job file, without its ending; empty for a replay of a whole feed.';
comment on column gmsi.load_history.feed is 'Feed that the job loads.';
comment on column gmsi.load_history.state is 'As outcome in gmsi.loads; running, or killed if it has no outcome and was silent for five minutes.';
comment on column gmsi.load_history.started_at is 'Start of the load.';
comment on column gmsi.load_history.finished_at is 'End of the load; null while it runs, and for ever if it was killed.';
comment on column gmsi.load_history.took is 'How long it ran; of one that has no end, until its last sign of life.';
comment on column gmsi.load_history.requests is 'Requests sent, retries included.';
comment on column gmsi.load_history.windows_drained is 'Windows drained to their end.';
comment on column gmsi.load_history.windows_failed is 'Windows that failed or were refused.';
comment on column gmsi.load_history.pages is 'Pages committed.';
comment on column gmsi.load_history.records is 'Records on those pages.';
comment on column gmsi.load_history.rows_inserted is 'Rows that were new.';
comment on column gmsi.load_history.rows_changed is 'Rows that replaced an older version.';
comment on column gmsi.load_history.rows_retracted is 'Rows that the service was found not to return any more.';
comment on column gmsi.load_history.records_rejected is 'Records put into rejected_records.';
comment on column gmsi.load_history.error is 'Why the load ended early, if it did.';
comment on column gmsi.load_history.run_by is 'Host and process id, and the version of the program.';

-- A partition is granted like its table: it can be read by its own name, and be detached one day.
create or replace function gmsi.ensure_month_partition(parent text, month date) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  part text := format('%s_%s', parent, to_char(month, 'YYYY_MM'));
  held record;
begin
  -- Read from the table itself: after the wait for the lock, to_regclass could answer from a stale cache.
  perform pg_advisory_xact_lock(hashtext('gmsi.ensure_month_partition'));
  if exists (select from pg_class c join pg_inherits i on i.inhrelid = c.oid
             where c.relnamespace = 'gmsi'::regnamespace and c.relname = part) then
    return;
  end if;
  if exists (select from pg_class where relnamespace = 'gmsi'::regnamespace and relname = part) then
    raise exception 'gmsi.% is no partition of gmsi.%: it was detached, and rows of its month are to be loaded', part, parent
      using hint = 'Attach it again, or move it to another schema.';
  end if;
  -- Attached, not created as PARTITION OF: that would wait behind every load in flight, and they behind it.
  execute format('create table gmsi.%I (like gmsi.%I including all)', part, parent);
  execute format('alter table gmsi.%I attach partition gmsi.%I for values from (%L) to (%L)', parent, part,
                 to_char(month, 'YYYY-MM-01 "00:00:00+00"'),
                 to_char(month + interval '1 month', 'YYYY-MM-01 "00:00:00+00"'));
  for held in
    select acl.privilege_type as privilege, case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as grantee
    from pg_class c cross join aclexplode(c.relacl) as acl
    where c.oid = format('gmsi.%I', parent)::regclass and acl.grantee <> c.relowner
  loop
    execute format('grant %s on gmsi.%I to %s', held.privilege, part, held.grantee);
  end loop;
end $$;

-- What each of the two roles may do. Called again after every later migration.
create function gmsi.grant_roles() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- What analysts use: not the program's own tables, and not the requests of each key.
  readable text[] := array[
    'headlines', 'headline_revisions', 'headlines_point_in_time', 'sentiment_hourly', 'sentiment_daily',
    'ticker_headlines', 'ticker_events', 'ticker_event_headlines', 'ticker_index', 'gmsi_index',
    'ticker_event_metrics', 'event_query_metrics', 'revisions', 'countries', 'topics', 'lookups',
    'coverage', 'coverage_by_day', 'coverage_gaps', 'windows', 'loads', 'load_history', 'rejected_records',
    -- Every command reads it to see whether the schema is the one that it knows.
    'kysely_migration'];
  -- Tables that loading deletes rows from. By name, since later migrations make some of these.
  deletable text[] := array['windows', 'drain_sightings', 'live_sightings', 'rejected_records', 'workers'];
  held text;
begin
  -- Two grants on one table at once would be an error.
  perform pg_advisory_xact_lock(hashtext('gmsi.grant_roles'));
  if to_regrole('gmsi_reader') is not null then
    grant usage on schema gmsi to gmsi_reader;
    for held in
      select c.relname from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
      where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v')
        and coalesce(parent.relname, c.relname) = any(readable)
    loop
      execute format('grant select on gmsi.%I to gmsi_reader', held);
    end loop;
  end if;
  if to_regrole('gmsi_loader') is not null then
    grant usage on schema gmsi to gmsi_loader;
    grant select, insert, update on all tables in schema gmsi to gmsi_loader;
    for held in
      select relname from pg_class where relnamespace = 'gmsi'::regnamespace and relname = any(deletable)
    loop
      execute format('grant delete on gmsi.%I to gmsi_loader', held);
    end loop;
    grant execute on function gmsi.ensure_month_partition(text, date) to gmsi_loader;
    grant execute on function gmsi.rebuild_rollups(date, date) to gmsi_loader;
    grant execute on function gmsi.roll_up(text, text, text, timestamptz, timestamptz, boolean) to gmsi_loader;
  end if;
end $$;
revoke execute on function gmsi.grant_roles() from public;
comment on function gmsi.grant_roles() is 'Grants gmsi_reader and gmsi_loader what they need, if these roles exist. Called by the owner of the schema.';

do $$
declare
  name text;
begin
  if (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) then
    foreach name in array array['gmsi_reader', 'gmsi_loader'] loop
      begin
        execute format('create role %I nologin', name);
      exception
        -- Roles belong to the server: another warehouse may have made them, or may be making them now.
        when duplicate_object or unique_violation then null;
      end;
    end loop;
  end if;
end $$;
