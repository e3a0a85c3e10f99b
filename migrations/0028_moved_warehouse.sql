-- A warehouse that was moved to another database refuses loads: two living ones would spend one budget twice.

create table gmsi.warehouse_moves (
  only_row boolean primary key default true check (only_row),
  move_id uuid not null,
  direction text not null check (direction in ('to', 'from')),
  other text not null,
  source text not null,
  marked_at timestamptz not null default now()
);
comment on table gmsi.warehouse_moves is 'One row if gmsi move has moved this warehouse to another database, or is filling it from one. As long as the row is there, every booking, claim, heartbeat and named moment is refused.';
comment on column gmsi.warehouse_moves.only_row is 'Always true, so that there is one row at most.';
comment on column gmsi.warehouse_moves.move_id is 'The same in both warehouses of a move.';
comment on column gmsi.warehouse_moves.direction is 'to: moved to the other warehouse, which is the one to use · from: filled from the other one by a move that has not ended; gmsi move ends it.';
comment on column gmsi.warehouse_moves.other is 'The other warehouse, without a password.';
comment on column gmsi.warehouse_moves.source is 'What identifies the old warehouse, whatever its address is: when its schema was created. Only from there may the new one be filled again.';
comment on column gmsi.warehouse_moves.marked_at is 'When the row was written.';

-- With the owner's rights, because a user who could write the mark could make the owner's next move empty another warehouse.
create function gmsi.refuse_moved() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  mark gmsi.warehouse_moves;
begin
  select * into mark from gmsi.warehouse_moves;
  if mark.direction = 'to' then
    raise exception using errcode = 'GM001',
      message = format('This warehouse was moved to %s at %s UTC.', mark.other, to_char(mark.marked_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')),
      hint = 'Set DATABASE_URL to that one.';
  elsif mark.direction = 'from' then
    raise exception using errcode = 'GM001',
      message = format('This warehouse is being filled from %s, and that move has not ended.', mark.other),
      hint = 'If no gmsi move is running, run it again.';
  end if;
  return null;
end $$;
comment on function gmsi.refuse_moved() is 'Refuses a statement in a warehouse that gmsi move has moved away, or has not filled yet (SQLSTATE GM001).';

do $$ begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), '''^kysely_''', '''^(kysely_|warehouse_moves$)''');
end $$;

-- A process has to write one of these to load, to book a request, to own something, or to give a moment a name.
do $$
declare
  written text;
begin
  foreach written in array array['api_usage', 'processes', 'loads', 'windows', 'schedules', 'jobs', 'imported_files', 'moments'] loop
    execute format('create trigger refuse_moved before insert or update on gmsi.%I for each statement execute function gmsi.refuse_moved()', written);
  end loop;
end $$;
