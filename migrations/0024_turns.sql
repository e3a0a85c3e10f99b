-- What the program locks is a row that only those who load may lock. Anybody who may connect can take an advisory lock and keep it.

create table gmsi.turns (
  turn text primary key
);
comment on table gmsi.turns is 'What one transaction does at a time, such as the rollups of a series or the planning of a feed: a transaction locks the row as long as its turn lasts. Rows are never changed.';
comment on column gmsi.turns.turn is 'What it is the turn for.';

create function gmsi.wait_for_turn(for_what text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into gmsi.turns (turn) values (for_what) on conflict do nothing;
  perform from gmsi.turns where turn = for_what for update;
end $$;
comment on function gmsi.wait_for_turn(text) is 'Waits until no other transaction has this turn, and keeps it until the transaction ends.';

do $$
declare
  define text;
  part text[];
begin
  foreach part slice 1 in array array[
    ['roll_up(text, text, text, timestamptz, timestamptz, boolean)',
     '  -- One of 1,024 locks, because one transaction cannot hold a lock for each series (error 53200, at about 8,000).
  perform pg_advisory_xact_lock(hashtext(''gmsi.roll_up''),
                                hashtext(format(''%s|%s|%s'', in_country, in_topic, in_match_type)) & 1023);',
     '  perform gmsi.wait_for_turn(format(''rollups of %s|%s|%s'', in_country, in_topic, in_match_type));'],
    ['ensure_month_partition(text, date)', 'perform pg_advisory_xact_lock(hashtext(''gmsi.ensure_month_partition''));',
     'perform gmsi.wait_for_turn(''making a partition'');'],
    ['grant_roles()', 'perform pg_advisory_xact_lock(hashtext(''gmsi.grant_roles''));',
     'perform gmsi.wait_for_turn(''granting'');']
  ] loop
    define := pg_catalog.pg_get_functiondef(('gmsi.' || part[1])::regprocedure);
    if strpos(define, part[2]) = 0 then raise exception 'gmsi.% has no %', part[1], part[2]; end if;
    execute replace(define, part[2], part[3]);
  end loop;
end $$;
