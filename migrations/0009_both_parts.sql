-- What is said of a file is compared with what it contains.

alter table gmsi.imported_files add column records_by_day jsonb not null default '{}';
comment on column gmsi.imported_files.records_by_day is 'How many records of each day (UTC) were read so far, rejected ones excluded. Stated days count as covered only if these records are of them.';
-- Files that were read before are read again when they are next imported, because the days of their records are not known.
update gmsi.imported_files set content = content || ' (read before the days of records were counted)';
