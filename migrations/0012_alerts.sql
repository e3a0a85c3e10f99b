-- Alerts: one message for each cause, whichever process notices it, however often.

create table gmsi.alerts (
  alert_id bigint generated always as identity primary key,
  kind text not null check (kind in ('failed windows', 'budget', 'late')),
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
-- The cause. Processes that notice one at the same time add one row, and that row is sent once.
create unique index alerts_open on gmsi.alerts (job, kind) where resolved_at is null;
comment on table gmsi.alerts is 'One row for each time that a job was in trouble of one kind, from the first sign of it to its end. Where it is posted is not stored.';
comment on column gmsi.alerts.alert_id is 'Number of the alert.';
comment on column gmsi.alerts.kind is 'failed windows: some windows failed and are not drained since · budget: the month''s requests will not last for the schedule · late: the newest covered day is older than max_lag.';
comment on column gmsi.alerts.job is 'Name of the job file, without its ending.';
comment on column gmsi.alerts.message is 'What there is to say, as of seen_at.';
comment on column gmsi.alerts.details is 'The same as numbers.';
comment on column gmsi.alerts.raised_at is 'When it was noticed first.';
comment on column gmsi.alerts.seen_at is 'When it was noticed last.';
comment on column gmsi.alerts.resolved_at is 'When its cause was found to be gone; null while it lasts.';
comment on column gmsi.alerts.sent_at is 'When the webhook took the message; null if it was over before it could be sent.';
comment on column gmsi.alerts.resolution_sent_at is 'When the webhook took the message that it is over.';
comment on column gmsi.alerts.sending_since is 'Since when a process has been at sending one of the two; after two minutes another may try.';

-- Few windows are in trouble, and each check asks for them.
create index windows_in_trouble on gmsi.windows (feed, match_type)
  where state in ('pending', 'draining', 'failed') and last_error is not null;
