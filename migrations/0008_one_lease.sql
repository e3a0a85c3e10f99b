-- A load's windows are its process's: one heartbeat a process, instead of another one for each load.

-- No foreign key: a load stays when its process is no longer listed, and then counts as silent.
alter table gmsi.loads add column process_id text;
comment on column gmsi.loads.process_id is 'The process that runs it; see gmsi.processes. If that process is silent for longer than the lease, other loads may take its windows. Null for loads of older versions.';
alter table gmsi.loads rename column heartbeat_at to updated_at;
comment on column gmsi.loads.updated_at is 'When its totals were last stored.';
comment on table gmsi.processes is 'The processes that own work: gmsi work, and the commands that load. A process owns what names it in a column process_id or export_process_id, and the windows of its loads, as long as it sends heartbeats; if it is silent for longer than the lease, another process may take what it owns.';

-- Analysts see whether a load is running. Nothing reads the key's fingerprint here, which is not for them.
alter table gmsi.processes drop column key_fingerprint;
do $$ begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), '''imported_files'',', '''imported_files'', ''processes'',');
end $$;
