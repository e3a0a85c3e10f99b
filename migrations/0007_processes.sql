-- One table of the processes that own work: workers, and commands while they do something that nobody else may do. A load is
-- registered once, even if the reply is lost.

alter table gmsi.workers rename to processes;
alter table gmsi.processes rename column worker_id to process_id;
alter table gmsi.processes rename constraint workers_pkey to processes_pkey;
alter table gmsi.processes alter column key_fingerprint drop not null;
alter table gmsi.processes alter column concurrency drop not null;
alter table gmsi.processes add column command text not null default 'work';
alter table gmsi.processes alter column command drop default;
comment on table gmsi.processes is 'The processes of gmsi work, and of commands that own a job. What names one of them in a column process_id or export_process_id is owned by it, as long as it sends heartbeats; if it is silent for longer than the lease, another process may take what it owns.';
comment on column gmsi.processes.command is 'work for a worker, else the command that the process runs.';
comment on column gmsi.processes.key_fingerprint is 'Which API key a worker uses; as in gmsi.api_usage.';
comment on column gmsi.processes.concurrency is 'How many backfills a worker runs at a time, and how many syncs.';

alter table gmsi.schedules rename column worker_id to process_id;
alter table gmsi.schedules rename constraint schedules_worker_id_fkey to schedules_process_id_fkey;
comment on table gmsi.schedules is 'When each job is due, and which process is loading it. A job that was only enqueued or synced by hand has a row without cron.';
comment on column gmsi.schedules.process_id is 'The process that is loading it, a worker or gmsi sync; null if none is. If that process is silent for longer than the lease, another one continues.';

alter table gmsi.jobs add column export_process_id text references gmsi.processes on delete set null;
comment on column gmsi.jobs.export_process_id is 'The worker that is making its exports; null if none is.';

alter table gmsi.loads add column idempotency_key uuid unique;
comment on column gmsi.loads.idempotency_key is 'Chosen by the process that began it, so that a repetition after a lost reply adds no second row.';

do $$ begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), '''workers''', '''processes''');
end $$;
