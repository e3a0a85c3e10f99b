-- A job that has just ended is not begun again within its minute. What is owned names a process, also files and alerts.

alter table gmsi.schedules add column ended_at timestamptz;
comment on column gmsi.schedules.ended_at is 'When a worker last ended it, by the database''s clock. No worker begins it again within that minute, whatever due_at says.';
