-- A login of Grafana's own that may read what gmsi_reader may, and nothing else: whoever edits a dashboard can run any SQL with it.
-- Run at each start, by the server's superuser, so that a new password is taken.
\set ON_ERROR_STOP on
\getenv password READER_PASSWORD
do $$
begin
  -- The first migration creates it, too, whichever of the two comes first.
  if to_regrole('gmsi_reader') is null then
    create role gmsi_reader nologin;
  end if;
  if to_regrole('grafana') is null then
    create role grafana;
  end if;
end $$;
alter role grafana with login nosuperuser nocreatedb nocreaterole connection limit 20 password :'password';
alter role grafana set default_transaction_read_only = on;
alter role grafana set statement_timeout = '30s';
grant gmsi_reader to grafana;
