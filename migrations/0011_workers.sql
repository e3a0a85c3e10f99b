-- Scheduled and queued work: what gmsi work runs, when, and by which processes. The queue itself is the schema graphile_worker,
-- which graphile-worker installs. It holds the next few hundred windows only; the rest wait in gmsi.windows.

create table gmsi.jobs (
  job text primary key,
  definition jsonb not null,
  registered_at timestamptz not null,
  registered_by text not null
);
comment on table gmsi.jobs is 'Job files as gmsi work and gmsi backfill --enqueue have read them, so that a worker on a machine without them can run them. The newest reading counts. Delete a row here and in gmsi.schedules to take a job out of the schedule for good.';
comment on column gmsi.jobs.job is 'Name of the job file, without its ending.';
comment on column gmsi.jobs.definition is 'What the file says, without its secrets (alerts.webhook_url).';
comment on column gmsi.jobs.registered_at is 'When this definition was read first.';
comment on column gmsi.jobs.registered_by is 'Host and process id of who read it, and the version of the program.';

create table gmsi.schedules (
  job text not null,
  command text not null check (command in ('backfill', 'sync')),
  cron text,
  timezone text not null default 'UTC',
  fired_at timestamptz not null,
  resumes_at timestamptz,
  paused_because text check (paused_because in ('budget', 'failures')),
  pause_error text,
  pauses integer not null default 0,
  primary key (job, command)
);
comment on table gmsi.schedules is 'When each job is due. A row also stands for a job that was only enqueued; it has no cron.';
comment on column gmsi.schedules.job is 'Name of the job.';
comment on column gmsi.schedules.command is 'backfill or sync.';
comment on column gmsi.schedules.cron is 'Cron expression of five fields, in timezone; null if nothing is scheduled.';
comment on column gmsi.schedules.timezone is 'IANA name of the time zone of cron.';
comment on column gmsi.schedules.fired_at is 'When it was last due and begun. It is due again at the first time after this that cron names; however many were missed, it is begun once.';
comment on column gmsi.schedules.resumes_at is 'Until when it is paused; null if it is not.';
comment on column gmsi.schedules.paused_because is 'budget: the month''s requests are used up · failures: one window after the other failed, or it could not be planned.';
comment on column gmsi.schedules.pause_error is 'The error that paused it.';
comment on column gmsi.schedules.pauses is 'Pauses for failures in a row; each is twice as long as the one before.';

create table gmsi.runs (
  run_id bigint generated always as identity primary key,
  job text not null,
  command text not null check (command in ('backfill', 'sync')),
  scope jsonb not null,
  unsettled_from date,
  live_series jsonb not null default '[]',
  live_begun_at timestamptz,
  live_failed integer not null default 0,
  newest_first boolean not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('done', 'incomplete', 'budget', 'failed')),
  error text
);
create unique index runs_under_way on gmsi.runs (job, command) where finished_at is null;
comment on table gmsi.runs is 'One row per scheduled or enqueued run of a job, shared by all workers; each worker that takes part in it has a load of its own in gmsi.loads.';
comment on column gmsi.runs.run_id is 'Number of the run.';
comment on column gmsi.runs.job is 'Name of the job.';
comment on column gmsi.runs.command is 'backfill or sync.';
comment on column gmsi.runs.scope is 'Series and days of the run, as they were planned.';
comment on column gmsi.runs.unsettled_from is 'First day that a sync loads as it happens; null for a backfill.';
comment on column gmsi.runs.live_series is 'Series whose live answers a sync reads, once its windows are drained.';
comment on column gmsi.runs.live_begun_at is 'When these were handed to the workers.';
comment on column gmsi.runs.live_failed is 'Live answers that could not be had.';
comment on column gmsi.runs.newest_first is 'True if the newest days are drained first, as the job says or since the service refuses old ones.';
comment on column gmsi.runs.started_at is 'When it was planned.';
comment on column gmsi.runs.finished_at is 'End of the run; null while it is under way.';
comment on column gmsi.runs.outcome is 'As in gmsi.loads; null while it is under way.';
comment on column gmsi.runs.error is 'Why it ended early, if it did.';

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
comment on table gmsi.workers is 'The processes of gmsi work. Tasks of one that has been silent for longer than the lease go to the others.';
comment on column gmsi.workers.worker_id is 'Under which its tasks are locked in graphile_worker.jobs (locked_by).';
comment on column gmsi.workers.run_by is 'Host and process id, and the version of the program; as in gmsi.loads.';
comment on column gmsi.workers.version is 'Version of the program.';
comment on column gmsi.workers.key_fingerprint is 'Which API key it uses; as in gmsi.api_usage.';
comment on column gmsi.workers.concurrency is 'Tasks that it works on at a time.';
comment on column gmsi.workers.started_at is 'When it started.';
comment on column gmsi.workers.heartbeat_at is 'Last sign of life.';
comment on column gmsi.workers.stopped_at is 'When it stopped in order; null while it runs, and for ever if it was killed.';
