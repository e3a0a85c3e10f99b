-- Workers, alerts and privileges.

-- Scheduled and queued work: what gmsi work runs, when, and by which processes.

create table gmsi.jobs (
  job text primary key,
  definition jsonb not null,
  registered_at timestamptz not null,
  registered_by text not null,
  export_due_at timestamptz
);
comment on table gmsi.jobs is 'Job files as gmsi work and gmsi backfill --enqueue have read them, so that a worker on a machine without them can run them. If a file is read again, it replaces the row. To remove a job from the schedule permanently, delete its rows here and in gmsi.schedules.';
comment on column gmsi.jobs.job is 'Name of the job file, without its ending.';
comment on column gmsi.jobs.definition is 'Content of the file, without its secrets (alerts.webhook_url).';
comment on column gmsi.jobs.registered_at is 'When this definition was first read.';
comment on column gmsi.jobs.registered_by is 'Host and process id of the process that read it, and the version of the program.';
comment on column gmsi.jobs.export_due_at is 'Since when its exports are due; null if they are not.';

create table gmsi.workers (
  worker_id text primary key,
  run_by text not null,
  version text not null,
  key_fingerprint text not null,
  concurrency integer not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz
);
comment on table gmsi.workers is 'The processes of gmsi work. If one is silent for longer than the lease, its jobs go to the others.';
comment on column gmsi.workers.worker_id is 'Id of the process.';
comment on column gmsi.workers.run_by is 'Host and process id, and the version of the program; as in gmsi.loads.';
comment on column gmsi.workers.version is 'Version of the program.';
comment on column gmsi.workers.key_fingerprint is 'Which API key it uses; as in gmsi.api_usage.';
comment on column gmsi.workers.concurrency is 'How many backfills it runs at a time, and how many syncs.';
comment on column gmsi.workers.started_at is 'When it started.';
comment on column gmsi.workers.heartbeat_at is 'Last sign of life.';
comment on column gmsi.workers.stopped_at is 'When it stopped normally; null while it runs, and if it was killed.';

create table gmsi.schedules (
  job text not null,
  command text not null check (command in ('backfill', 'sync', 'refresh')),
  cron text,
  timezone text not null default 'UTC',
  fired_at timestamptz not null,
  due_at timestamptz,
  worker_id text references gmsi.workers on delete set null,
  resumes_at timestamptz,
  paused_because text check (paused_because in ('budget', 'failures')),
  pause_error text,
  pauses integer not null default 0,
  primary key (job, command)
);
comment on table gmsi.schedules is 'When each job is due. A job that was only enqueued has a row without cron.';
comment on column gmsi.schedules.job is 'Name of the job.';
comment on column gmsi.schedules.command is 'backfill, sync, or refresh (a backfill of the days that were loaded longest ago).';
comment on column gmsi.schedules.cron is 'Cron expression of five fields, in timezone; null if nothing is scheduled.';
comment on column gmsi.schedules.timezone is 'IANA name of the time zone of cron.';
comment on column gmsi.schedules.fired_at is 'When it was last due and begun. It is due again at the first time of cron after this. If several times were missed, it runs once.';
comment on column gmsi.schedules.due_at is 'Since when it is due; null once it is loaded or paused.';
comment on column gmsi.schedules.worker_id is 'The worker that is loading it; null if none is. If that worker is silent for longer than the lease, another one continues.';
comment on column gmsi.schedules.resumes_at is 'When its pause ends; null if it is not paused.';
comment on column gmsi.schedules.paused_because is 'budget: the month''s requests are used up · failures: too many windows failed in a row, or its load could not begin.';
comment on column gmsi.schedules.pause_error is 'The error that paused it.';
comment on column gmsi.schedules.pauses is 'Pauses in a row that failures caused; each is twice as long as the one before.';

-- Alerts: one message per cause, no matter how many processes notice it.

create table gmsi.alerts (
  alert_id bigint generated always as identity primary key,
  kind text not null check (kind in
    ('failed windows', 'budget', 'late', 'key refused', 'export failed', 'check failed', 'fields changed')),
  job text not null,
  message text not null,
  details jsonb not null,
  raised_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  resolved_at timestamptz,
  sent_at timestamptz,
  resolution_sent_at timestamptz,
  sending_since timestamptz
);
comment on table gmsi.alerts is 'One row per problem of a job, from the time at which it was noticed until it is resolved. The address of the webhook is not stored.';
comment on column gmsi.alerts.alert_id is 'Number of the alert.';
comment on column gmsi.alerts.kind is 'failed windows: some windows failed and have not been drained since · budget: the month''s requests will not last for the schedule · late: the newest covered day is older than max_lag · key refused: the service refuses the API key · export failed: an export after a load failed, and none has succeeded since · check failed: the last run of a check failed · fields changed: fields of the feed have appeared or vanished in the last 7 days (unknown_fields).';
comment on column gmsi.alerts.job is 'Name of the job file, without its ending.';
comment on column gmsi.alerts.message is 'Text of the alert, as of seen_at.';
comment on column gmsi.alerts.details is 'The same, as numbers.';
comment on column gmsi.alerts.raised_at is 'When it was first noticed.';
comment on column gmsi.alerts.seen_at is 'When it was last noticed.';
comment on column gmsi.alerts.resolved_at is 'When the problem was found to be over; null until then.';
comment on column gmsi.alerts.sent_at is 'When the webhook accepted the message; null if the problem was over before it could be sent.';
comment on column gmsi.alerts.resolution_sent_at is 'When the webhook accepted the message that the problem is over.';
comment on column gmsi.alerts.sending_since is 'When a process began to send one of the two messages; after two minutes, another process may try.';
-- Processes that notice the same cause at the same time add one row, and that row is sent once.
create unique index alerts_open on gmsi.alerts (job, kind) where resolved_at is null;

create table gmsi.check_results (
  job text not null,
  check_name text not null,
  title text not null,
  severity text not null check (severity in ('fail', 'warn')),
  result text not null check (result in ('passed', 'failed', 'warned', 'skipped')),
  findings bigint not null,
  reason text,
  checked_at timestamptz not null default now(),
  primary key (job, check_name)
);
comment on table gmsi.check_results is 'The last result of each check (gmsi check) in each job, as of the rows that were loaded at the time.';
comment on column gmsi.check_results.job is 'Name of the job file, without its ending.';
comment on column gmsi.check_results.check_name is 'Name of the check''s file, without its ending.';
comment on column gmsi.check_results.title is 'The rule that the check verifies.';
comment on column gmsi.check_results.severity is 'fail, or warn if correct data may have findings, too.';
comment on column gmsi.check_results.result is 'passed: no findings · failed or warned, by its severity: findings, or it took too long · skipped: it is not for the job''s feed, or a table or set that it needs is empty.';
comment on column gmsi.check_results.findings is 'Number of findings.';
comment on column gmsi.check_results.reason is 'Why it was skipped or did not finish; else null.';
comment on column gmsi.check_results.checked_at is 'When it was run.';

-- Roles. Readers must not run functions that have another user's rights: with values of their choice, they could gain those rights.

do $$
declare
  name text;
begin
  if (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) then
    foreach name in array array['gmsi_reader', 'gmsi_loader'] loop
      begin
        execute format('create role %I nologin', name);
      exception
        -- Roles belong to the server: another warehouse may have created them, or may be creating them now.
        when duplicate_object or unique_violation then null;
      end;
    end loop;
  end if;
end $$;

-- Grants the two roles what they need. Called again after every later migration, so that nothing that a migration adds is open by
-- default.
create function gmsi.grant_roles() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- What analysts may read besides the feeds' tables. The program's own tables and the requests of each key are not here.
  readable text[] := array[
    'headline_revisions', 'headlines_point_in_time', 'sentiment_hourly', 'sentiment_daily', 'revisions', 'countries', 'topics',
    'lookups', 'origin', 'coverage', 'coverage_by_day', 'coverage_gaps', 'index_daily', 'sentiment_by_day', 'windows', 'loads',
    'rejected_records', 'check_results', 'imported_files', 'learned_facts', 'moments',
    -- Every command reads it to check that it knows the schema.
    'kysely_migration'];
  -- Tables that loading deletes rows from.
  deletable text[] := array['windows', 'drain_sightings', 'live_sightings', 'rejected_records', 'check_results', 'workers',
                            'hourly_sums', 'daily_sums', 'moments'];
  -- Functions that read only what the caller may read, or nothing.
  for_everybody text[] := array['signal_at', 'moment', 'state_of', 'series_days', 'as_of_delay', 'summable', 'published_by', 'story_key'];
  -- Functions that change the schema.
  for_owners text[] := array['grant_roles', 'complete_feed_table', 'add_feed_column', 'define_headline_versions', 'set_statistics'];
  has_reader boolean := to_regrole('gmsi_reader') is not null;
  has_loader boolean := to_regrole('gmsi_loader') is not null;
  held record;
begin
  -- Two concurrent grants on one table would be an error.
  perform pg_advisory_xact_lock(hashtext('gmsi.grant_roles'));
  if has_reader then
    grant usage on schema gmsi to gmsi_reader;
  end if;
  if has_loader then
    grant usage on schema gmsi to gmsi_loader;
  end if;
  -- Only objects of this owner, because only their owners can grant objects that others added to the schema.
  for held in
    select c.relname as name, c.relkind in ('r', 'p') as is_table, c.relname ~ '^kysely_' as is_migrators,
           c.relname = any(readable)
             -- The feeds' tables and their partitions.
             or exists (select from pg_catalog.pg_trigger t
                        where t.tgrelid = coalesce(i.inhparent, c.oid) and t.tgname = 'keep_revisions') as is_readable,
           c.relname = any(deletable) as is_deletable
    from pg_catalog.pg_class c
    left join pg_catalog.pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v') and pg_has_role(c.relowner, 'usage')
  loop
    if has_reader and held.is_readable then
      execute format('grant select on gmsi.%I to gmsi_reader', held.name);
    end if;
    if has_loader and held.is_migrators then
      -- A user who could write these could make an owner's command mistake the schema's version.
      execute format('revoke all on gmsi.%I from gmsi_loader', held.name);
    end if;
    if has_loader and (held.is_readable or not held.is_migrators) then
      execute format('grant select on gmsi.%I to gmsi_loader', held.name);
    end if;
    if has_loader and held.is_table and not held.is_migrators then
      execute format('grant insert, update on gmsi.%I to gmsi_loader', held.name);
    elsif has_loader and not held.is_table then
      execute format('revoke insert, update on gmsi.%I from gmsi_loader', held.name);
    end if;
    if has_loader and held.is_deletable then
      execute format('grant delete on gmsi.%I to gmsi_loader', held.name);
    end if;
  end loop;
  for held in
    select p.oid::regprocedure::text as name, p.proname = any(for_everybody) or p.proname ~ '_as_of$' as is_for_everybody,
           p.proname <> all(for_owners) and p.prorettype <> 'trigger'::regtype as is_for_loading
    from pg_catalog.pg_proc p
    where p.pronamespace = 'gmsi'::regnamespace and p.prokind = 'f' and pg_has_role(p.proowner, 'usage')
  loop
    if held.is_for_everybody then
      execute format('grant execute on function %s to public', held.name);
    else
      execute format('revoke execute on function %s from public', held.name);
    end if;
    if has_loader and held.is_for_loading then
      execute format('grant execute on function %s to gmsi_loader', held.name);
    end if;
  end loop;
end $$;
comment on function gmsi.grant_roles() is 'Grants the roles gmsi_reader and gmsi_loader, if they exist, what they need, and revokes every function that is not for analysts from PUBLIC. Called by the owner of the schema.';
