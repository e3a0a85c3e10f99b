-- A job that has just ended is not begun again within its minute. A file and an alert are a process's, as a job is.

alter table gmsi.schedules add column ended_at timestamptz;
comment on column gmsi.schedules.ended_at is 'When a worker last ended it, by the database''s clock. No worker begins it again within that minute, whatever due_at says.';

alter table gmsi.imported_files add column process_id text references gmsi.processes on delete set null;
comment on column gmsi.imported_files.process_id is 'The process that reads it, or read it last. As long as that sends heartbeats, other imports wait.';

alter table gmsi.alerts drop column sending_since;
alter table gmsi.alerts add column process_id text references gmsi.processes on delete set null;
comment on column gmsi.alerts.process_id is 'The process that sends one of the two messages, or sent one last. As long as that sends heartbeats, no other one sends.';
