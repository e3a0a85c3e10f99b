-- Workers: their jobs, when these are due, alerts, results of checks; and what one process does at a time.

create table gmsi.jobs (
  job text primary key,
  definition jsonb not null,
  registered_at timestamptz not null,
  registered_by text not null,
  export_due_at timestamptz,
  export_process_id text references gmsi.processes on delete set null
);

create table gmsi.schedules (
  job text not null,
  command text not null check (command in ('backfill', 'sync', 'refresh')),
  cron text,
  timezone text not null default 'UTC',
  fired_at timestamptz not null,
  due_at timestamptz,
  ended_at timestamptz,
  process_id text references gmsi.processes on delete set null,
  resumes_at timestamptz,
  paused_because text check (paused_because in ('budget', 'failures', 'operator')),
  pause_error text,
  pauses integer not null default 0,
  primary key (job, command)
);

-- Alerts: one message per cause, no matter how many processes notice it.
create table gmsi.alerts (
  alert_id bigint generated always as identity primary key,
  kind text not null check (kind in
    ('failed windows', 'budget', 'late', 'rows gone', 'load failed', 'key refused', 'export failed', 'check failed',
     'fields changed', 'job file')),
  job text not null,
  message text not null,
  details jsonb not null,
  raised_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  resolved_at timestamptz,
  sent_at timestamptz,
  resolution_sent_at timestamptz,
  process_id text references gmsi.processes on delete set null
);

-- Processes that notice the same cause at the same time add one row, and that row is sent once.
create unique index alerts_open on gmsi.alerts (job, kind) where resolved_at is null;

create table gmsi.check_results (
  job text not null,
  check_name text not null,
  title text not null,
  severity text not null check (severity in ('fail', 'warn')),
  result text not null check (result in ('passed', 'failed', 'warned', 'known', 'skipped')),
  findings bigint not null,
  known bigint not null default 0,
  reason text,
  checked_at timestamptz not null default now(),
  primary key (job, check_name)
);

create table gmsi.known_findings (
  job text not null,
  check_name text not null,
  digest text not null,
  finding jsonb not null,
  reason text not null,
  known_since timestamptz not null default now(),
  primary key (job, check_name, digest)
);

-- What the program locks is a row that only those who load may lock. Anybody who may connect can take an advisory lock and keep it.
create table gmsi.turns (
  turn text primary key
);

-- A warehouse that was moved to another database refuses loads: two living ones would spend one budget twice.
create table gmsi.warehouse_moves (
  only_row boolean primary key default true check (only_row),
  move_id uuid not null,
  direction text not null check (direction in ('to', 'from')),
  other text not null,
  source text not null,
  marked_at timestamptz not null default now()
);
