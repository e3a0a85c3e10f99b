-- Which jobs a worker runs, and an alert for a job file that cannot be read.

alter table gmsi.processes add column jobs text[];
comment on column gmsi.processes.jobs is 'The jobs that a worker runs: those that it names, or those of its folder. null for a worker without job files, which runs every job of gmsi.jobs, and for other commands.';

comment on table gmsi.jobs is 'Job files as gmsi work and gmsi backfill --enqueue have read them: workers run what is stored here. A file replaces the row when a worker that has it starts, when the file changes under a worker, and with --enqueue. If the file is removed under the last worker that has it, the row is removed.';
comment on column gmsi.jobs.registered_by is 'Host and process id of the process that read this definition, and the version of the program.';

alter table gmsi.alerts drop constraint alerts_kind_check;
alter table gmsi.alerts add constraint alerts_kind_check check (kind in
  ('failed windows', 'budget', 'late', 'key refused', 'export failed', 'check failed', 'fields changed', 'job file'));
comment on column gmsi.alerts.kind is 'failed windows: some windows failed and have not been drained since · budget: the month''s requests will not last for the schedule · late: the newest covered day is older than max_lag · key refused: the service refuses the API key · export failed: an export after a load failed, and none has succeeded since · check failed: the last run of a check failed · fields changed: fields of the feed have appeared or vanished in the last 7 days (unknown_fields) · job file: a worker cannot read its file, and runs the last version that it could read.';

-- A worker removes jobs whose files are gone.
do $$ begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), 
    '''check_results'', ''processes''', '''check_results'', ''processes'', ''jobs''');
end $$;
