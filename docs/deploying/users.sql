-- Run once, by the superuser, when the volume of PostgreSQL is new: the program's own user, who owns its two databases and nothing
-- else. The superuser keeps no password, so it is reached from within the container only:
--   docker compose exec postgres psql -U postgres
\set ON_ERROR_STOP on
\getenv password POSTGRES_PASSWORD
create role gmsi login password :'password';
-- The program would create them itself if it might create roles.
create role gmsi_reader nologin;
create role gmsi_loader nologin;
create database gmsi owner gmsi;
create database demo owner gmsi;
alter role postgres password null;
