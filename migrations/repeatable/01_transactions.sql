-- What the transactions of loads use: turns, limits of time, partitions, and the refusal of a warehouse that was moved.

create or replace function gmsi.wait_for_turn(for_what text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into gmsi.turns (turn) values (for_what) on conflict do nothing;
  perform from gmsi.turns where turn = for_what for update;
end $$;
comment on function gmsi.wait_for_turn(text) is 'Waits until no other transaction has this turn, and keeps it until the transaction ends.';

-- A function, because PostgreSQL keeps its plan; as a plain statement, these settings would be planned again for each page.
create or replace function gmsi.bound_transaction(told timestamptz) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quarter integer := 250 * least(greatest(extract(epoch from gmsi.as_of_delay()), 0.01), 1e6);
begin
  if abs(extract(epoch from clock_timestamp() - told)) > 3600 then
    raise exception 'the database''s clock shows %, that of the load %', clock_timestamp(), told using errcode = 'GM002';
  end if;
  perform set_config('lock_timeout', quarter::text, true),
          set_config('statement_timeout', (2 * quarter)::text, true),
          set_config('idle_in_transaction_session_timeout', (2 * quarter)::text, true),
          set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('jit', 'off', true);
end $$;
comment on function gmsi.bound_transaction(timestamptz) is 'Refuses to begin if the database''s clock is more than an hour from the given time (SQLSTATE GM002), since all times of rows are the database''s. Ends the transaction that calls it if a statement or a pause takes longer than half of gmsi.as_of_delay(), or the wait for a lock longer than a quarter, because the transaction could no longer be committed. Called at the beginning of every transaction that writes feed rows.';

create or replace function gmsi.refuse_late_commit() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  took interval := clock_timestamp() - transaction_timestamp();
begin
  if took > gmsi.as_of_delay() / 2 then
    raise exception 'the transaction took % s, more than half of gmsi.as_of_delay(), which is % s',
                    round(extract(epoch from took), 1), extract(epoch from gmsi.as_of_delay())::float8
      using errcode = '25P04';
  end if;
end $$;
comment on function gmsi.refuse_late_commit() is 'Fails if the transaction is older than half of gmsi.as_of_delay(), because the changed_at of its rows is the time at which it began, and a query as of that moment may already have been answered. Called directly before every COMMIT of feed rows.';

-- The only function that runs with its owner's rights, because only the owner of a table can create its partitions.
create or replace function gmsi.ensure_month_partition(parent text, month date) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  parent_id oid := (select c.oid from pg_catalog.pg_class c
                    where c.relnamespace = 'gmsi'::regnamespace and c.relname = parent and c.relkind = 'p'
                      and c.relowner = (select r.oid from pg_catalog.pg_roles r where r.rolname = current_user));
  first_day date := date_trunc('month', month::timestamp)::date;
  part text := format('%s_%s', parent, to_char(first_day, 'YYYY_MM'));
  statistics text := (select string_agg(format('alter column %I set statistics %s', a.attname, a.attstattarget), ', ')
                      from pg_catalog.pg_attribute a
                      where a.attrelid = parent_id and a.attnum > 0 and not a.attisdropped and a.attstattarget >= 0);
  held record;
begin
  if parent_id is null then
    raise exception 'gmsi.% is not a partitioned table of this warehouse', parent using errcode = 'undefined_table';
  end if;
  -- Only years that a record's time may have, so that no caller can fill the catalog with partitions.
  if month is null or month not between date '1900-01-01' and date '2100-12-31' then
    raise exception 'no partition is made for %: it is not between 1900 and 2100', coalesce(month::text, 'no month')
      using errcode = 'datetime_field_overflow';
  end if;
  -- PostgreSQL would truncate the name, and two months would get the same one.
  if octet_length(part) > 63 then
    raise exception 'the name % is too long for a table', part using errcode = 'name_too_long';
  end if;
  -- Reads pg_class, because to_regclass could answer from a stale cache after the wait for the lock.
  perform gmsi.wait_for_turn('making a partition');
  if exists (select from pg_catalog.pg_class c join pg_catalog.pg_inherits i on i.inhrelid = c.oid
             where c.relnamespace = 'gmsi'::regnamespace and c.relname = part and i.inhparent = parent_id) then
    return;
  end if;
  if exists (select from pg_catalog.pg_class c where c.relnamespace = 'gmsi'::regnamespace and c.relname = part) then
    raise exception 'gmsi.% is not a partition of gmsi.%: it was detached, but rows of its month must be loaded', part, parent
      using hint = 'Attach it again, or move it to another schema.';
  end if;
  -- Created and then attached, because "create table … partition of" would wait for every running load, and block new ones
  -- meanwhile. Attaching adds identity columns, and PostgreSQL refuses a partition that already has one.
  execute format('create table gmsi.%I (like gmsi.%I including all excluding identity)', part, parent);
  if statistics is not null then
    execute format('alter table gmsi.%I %s', part, statistics);
  end if;
  execute format('alter table gmsi.%I attach partition gmsi.%I for values from (%L) to (%L)', parent, part,
                 to_char(first_day, 'YYYY-MM-DD "00:00:00+00"'),
                 to_char(first_day + interval '1 month', 'YYYY-MM-DD "00:00:00+00"'));
  for held in
    select acl.privilege_type as privilege, case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as grantee
    from pg_catalog.pg_class c cross join aclexplode(c.relacl) as acl
    where c.oid = parent_id and acl.grantee <> c.relowner
  loop
    execute format('grant %s on gmsi.%I to %s', held.privilege, part, held.grantee);
  end loop;
end $$;
comment on function gmsi.ensure_month_partition(text, date) is 'Creates the partition of a table for the month of a day, from 1900 to 2100, if it does not exist yet. Runs with the rights of its owner, so that a loading user need not own the tables.';

-- With the owner's rights, because a user who could write the mark could make the owner's next move empty another warehouse.
create or replace function gmsi.refuse_moved() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  mark gmsi.warehouse_moves;
begin
  select * into mark from gmsi.warehouse_moves;
  if mark.direction = 'to' then
    raise exception using errcode = 'GM001',
      message = format('This warehouse was moved to %s at %s UTC.', mark.other, to_char(mark.marked_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')),
      hint = 'Set DATABASE_URL to that one; if it is lost, run gmsi migrate --release here.';
  elsif mark.direction = 'from' then
    raise exception using errcode = 'GM001',
      message = format('This warehouse is being filled from %s, and that move has not ended.', mark.other),
      hint = 'If no gmsi migrate --to is running, run it again.';
  end if;
  return null;
end $$;
comment on function gmsi.refuse_moved() is 'Refuses a statement in a warehouse that gmsi migrate --to has moved away, or has not filled yet (SQLSTATE GM001).';

-- A process has to write one of these to load, to book a request, to own something, or to give a moment a name.
do $$
declare
  written text;
begin
  foreach written in array array['api_usage', 'processes', 'loads', 'queue', 'schedules', 'jobs', 'imported_files', 'moments'] loop
    execute format('create or replace trigger refuse_moved before insert or update on gmsi.%I for each statement execute function gmsi.refuse_moved()', written);
  end loop;
end $$;
