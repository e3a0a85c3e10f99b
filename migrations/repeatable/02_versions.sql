-- Versions: what an update replaces is kept, and the tables as of a moment.

create or replace function gmsi.published_by(stamp timestamptz, rounding text default 'second, some on the hour') returns timestamptz
  language sql stable parallel safe return
  stamp + case
    when rounding = 'day' then interval '24 hours'
    when rounding = 'hour' then interval '1 hour'
    when rounding in ('minute, some on the hour', 'second, some on the hour')
      and date_bin('1 hour', stamp, '1900-01-01 00:00+00') = stamp then interval '1 hour'
    when rounding in ('minute', 'minute, some on the hour') then interval '1 minute'
    when rounding in ('second', 'second, some on the hour') then interval '0'
    -- A misspelt name must fail with an error that shows it, because any default could allow look-ahead.
    else interval '1 hour' * ('no rounding: ' || coalesce(rounding, 'null')
      || ' (day, hour, minute, second, or one of the last two with ", some on the hour")')::double precision end;
comment on function gmsi.published_by(timestamptz, text) is 'The latest time at which a row with this published_at can have been published, if the service rounds times down to the day, hour, minute or second (which is exact). "second, some on the hour" (the default) and "minute, some on the hour" mean that times on the full hour may have been rounded down to the hour. gmsi doctor --probe shows which of these fits the service''s times.';

-- Moments of the future have no answer. A minute is left to clocks that differ a little.
create or replace function gmsi.refuse_future(moment timestamptz) returns boolean language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if moment > clock_timestamp() + interval '1 minute' then
    raise exception 'the moment % is in the future', moment using errcode = 'datetime_field_overflow';
  end if;
  return true;
end $$;
comment on function gmsi.refuse_future(timestamptz) is 'True; fails for a moment of the future, of which nothing is known.';

-- What lists all columns of a version, from the type.
do $define$
declare
  all_columns text[] := array(select quote_ident(attname) from pg_attribute
                              where attrelid = 'gmsi.headline_version'::regclass and attnum > 0 and not attisdropped order by attnum);
  replaced text[] := array_replace(all_columns, 'changed_at', 'known_from');
  scores text[] := array(select quote_ident(attname) from pg_attribute
                         where attrelid = 'gmsi.headline_version'::regclass and atttypid = 'float8'::regtype order by attnum);
  usable text[] := array(select name from unnest(all_columns) with ordinality as c (name, n)
                         where name not in ('extra', 'changed_at', 'retracted_at') order by n);
begin
  -- No nested loops: the plan is made for the first call, which may have no rows, and a nested loop would be slow for the thousands
  -- of rows of later calls. No JIT: if PostgreSQL up to 17 needs a nested loop anyway, its cost looks so high that the plan is
  -- compiled, which takes longer than the query.
  execute format($sql$
    create or replace function gmsi.keep_headline_revisions() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $trigger$
    declare
      is_read_again boolean := current_setting('gmsi.reading_again', true) = 'on';
    begin
      insert into gmsi.headline_revisions (%1$s, known_to, reason)
      select o.%2$s, n.changed_at,
             case
               when is_read_again then 'read again'
               when o.retracted_at is null and n.retracted_at is not null then case
                 -- One statement retracts the row with the old time and changes the one with the new time.
                 when (n.country, n.topic, n.match_type, n.headline_id) in (
                   select m.country, m.topic, m.match_type, m.headline_id from new_rows m where m.retracted_at is null) then 'moved'
                 else 'retracted' end
               when o.retracted_at is not null and n.retracted_at is null then 'returned'
               when (o.headline, o.language, o.source) is distinct from (n.headline, n.language, n.source) then 'text changed'
               when (o.%3$s) is distinct from (n.%4$s) then 'rescored'
               else 'other'
             end
      from old_rows o
      join new_rows n using (country, topic, match_type, published_at, headline_id)
      where n.changed_at > o.changed_at;
      return null;
    end $trigger$
    $sql$, array_to_string(replaced, ', '), array_to_string(all_columns, ', o.'),
    array_to_string(scores, ', o.'), array_to_string(scores, ', n.'));

  -- Plain SQL without "set", so that PostgreSQL inlines it and the filters of the query around it use the indexes.
  execute format($sql$
    create or replace function gmsi.headlines_as_of(moment timestamptz) returns setof gmsi.headline_version
      language sql stable parallel safe rows 100000 begin atomic
      select h.%s from gmsi.headlines h where h.changed_at <= moment and gmsi.refuse_future(moment)
      union all
      select r.%s from gmsi.headline_revisions r where r.known_from <= moment and r.known_to > moment and gmsi.refuse_future(moment);
      end
    $sql$, array_to_string(all_columns, ', h.'), array_to_string(replaced, ', r.'));

  -- The headline's own columns come last: a view can only grow at its end. "(select true … limit 1) is null" instead of "not exists",
  -- which PostgreSQL may plan as one pass over all revisions for each partition.
  execute format($sql$
    create or replace view gmsi.headlines_point_in_time as
      select case when is_backfilled then gmsi.published_by(coalesce(moved_from, published_at))
                  else greatest(coalesce(moved_from, published_at), first_seen_at) end as entered_at,
             greatest(published_at, known_from) as usable_from, usable_to,
             case when not (is_backfilled and is_first) then greatest(published_at, known_from)
                  -- A repair does not make a new version, it only completes one: only the completed one counts.
                  when reason is distinct from 'read again' then gmsi.published_by(published_at) end as assumed_from,
             known_from, is_first, reason, %1$s
      from (
        select h.changed_at as known_from, null::timestamptz as usable_to, null::text as reason,
               h.changed_at = h.first_seen_at or h.moved_from is null and (
                 select true from gmsi.headline_revisions before
                 where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                     = (h.country, h.topic, h.match_type, h.published_at, h.headline_id)
                   and before.reason <> 'read again' limit 1) is null as is_first,
               h.%2$s
        from gmsi.headlines h where h.retracted_at is null
        union all
        select r.known_from, r.known_to, r.reason,
               r.known_from = r.first_seen_at or r.moved_from is null and (
                 select true from gmsi.headline_revisions before
                 where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                     = (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
                   and before.known_to <= r.known_from and before.reason <> 'read again' limit 1) is null,
               r.%3$s
        from gmsi.headline_revisions r where r.retracted_at is null
      ) as version
    $sql$, array_to_string(usable, ', '), array_to_string(usable, ', h.'), array_to_string(usable, ', r.'));
end $define$;

comment on function gmsi.keep_headline_revisions() is 'Stores each version that an update of gmsi.headlines replaces. A statement-level trigger: one call per page, no matter how many rows.';
comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it was at a moment: the version of each headline that this warehouse held then, including retracted ones (retracted_at is set). It does not have columns that users added to gmsi.headlines. Fails for a moment of the future. For a moment longer ago than gmsi.as_of_delay(), the answer never changes. Filters on country, topic and published_at use the indexes. The exception is gmsi import --known-at, which writes rows as of a past moment (gmsi.loads.reason keeps it), but not before one that has a name (gmsi.moments).';
comment on function gmsi.as_of_delay() is 'The answer of headlines_as_of never changes for a moment that is longer ago than this. A transaction that writes rows must commit within half of this time, or it is rolled back and tried again. If the disk is slow, the owner may replace the function: create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval ''30 seconds''. The exception is gmsi import --known-at, which writes rows as of a past moment (gmsi.loads.reason keeps it), but not before one that has a name (gmsi.moments).';

create or replace trigger keep_revisions after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_headline_revisions();

create or replace function gmsi.keep_row_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $$
declare
  id text := tg_argv[0];
  key text := (select string_agg(format('%I', a), ', ') from unnest(tg_argv[1:]) as a);
  is_read_again boolean := coalesce(current_setting('gmsi.reading_again', true) = 'on', false);
begin
  execute format(
    'insert into gmsi.revisions (table_name, row_id, series, version, known_from, known_to, reason)
     select %L, o.%I, (select jsonb_object_agg(k, to_jsonb(o) -> k) from unnest(%L::text[]) as k), to_jsonb(o), o.changed_at, n.changed_at,
            case when %L::boolean then ''read again''
                 when o.retracted_at is null and n.retracted_at is not null then ''retracted''
                 when o.retracted_at is not null and n.retracted_at is null then ''returned''
                 else ''changed'' end
     from old_rows o join new_rows n using (%s, %I) where n.changed_at > o.changed_at',
    tg_table_name, id, tg_argv[1:], is_read_again, key, id);
  return null;
end $$;
comment on function gmsi.keep_row_revisions() is 'Stores each version that an update of a feed''s table replaces.';

-- The tables of all feeds. ANALYZE reads 9,000 rows instead of 30,000 for the columns that nobody has set: autovacuum analyzes a
-- partition each time that it has grown by a tenth, which took half of the CPU time that PostgreSQL spent on loading. url and extra
-- have no statistics, which took almost half of the rest and change no plan; headline has, because PostgreSQL needs them for an
-- index on its words. Except headlines, each gets its trigger, and the function that returns it as of a moment: with "select *", so
-- that it also returns columns that somebody adds, and with the schema of each name, because it is looked up when the function runs,
-- with the search_path of the reader. A path of the function's own would keep PostgreSQL from inlining it.
do $define$
declare
  feed record;
  key text[];
  unset text;
begin
  for feed in
    select c.oid, c.relname as name, c.oid::regclass as relation from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'is_backfilled' and not a.attisdropped
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and pg_has_role(c.relowner, 'usage')
  loop
    unset := (
      select string_agg(format('alter column %I set statistics %s', attname, case when attname in ('url', 'extra') then 0 else 30 end), ', ')
      from pg_catalog.pg_attribute
      where attrelid = feed.oid and attnum > 0 and not attisdropped and attgenerated <> 'v' and coalesce(attstattarget, -1) = -1);
    if unset is not null then
      execute format('alter table %s %s', feed.relation, unset);
    end if;
    continue when feed.name in ('headlines', 'headline_revisions');
    -- The series and the time, then the id.
    key := array(select a.attname::text from pg_catalog.pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
                 join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
                 where i.indrelid = feed.oid and i.indisprimary order by k.n);
    execute format(
      'create or replace trigger keep_revisions after update on %s referencing old table as old_rows new table as new_rows
         for each statement execute function gmsi.keep_row_revisions(%s)', feed.relation,
      (select string_agg(quote_literal(name), ', ') from unnest(key[cardinality(key)] || trim_array(key, 1)) as name));
    execute format(
      'create or replace function gmsi.%1$I(moment timestamptz) returns setof %2$s language sql stable parallel safe rows 100000 as $f$
         select * from %2$s where changed_at operator(pg_catalog.<=) moment and gmsi.refuse_future(moment)
         union all
         select version.* from gmsi.revisions r cross join lateral pg_catalog.jsonb_populate_record(null::%2$s, r.version) as version
         where r.table_name operator(pg_catalog.=) %3$L and r.known_from operator(pg_catalog.<=) moment
           and r.known_to operator(pg_catalog.>) moment and gmsi.refuse_future(moment) $f$', feed.name || '_as_of', feed.relation, feed.name);
    execute format('comment on function gmsi.%I(timestamptz) is %L', feed.name || '_as_of', format(
      'gmsi.%s exactly as it was at a moment, including retracted rows (retracted_at is set). Fails for a moment of the future. For a moment longer ago than gmsi.as_of_delay(), the answer never changes. The exception is gmsi import --known-at, which writes rows as of a past moment (gmsi.loads.reason keeps it), but not before one that has a name (gmsi.moments).', feed.name));
  end loop;
end $define$;
