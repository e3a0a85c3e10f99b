-- The feeds' tables: rows, partitions, replaced versions, and the headlines as of a moment.

-- The only function that runs with its owner's rights, because only the owner of a table can create its partitions.
create function gmsi.ensure_month_partition(parent text, month date) returns void
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
  perform pg_advisory_xact_lock(hashtext('gmsi.ensure_month_partition'));
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
-- A reader must not be able to create tables with it.
revoke execute on function gmsi.ensure_month_partition(text, date) from public;

create table gmsi.headlines (
  headline_id uuid not null,
  country text not null,
  topic text not null,
  match_type text not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  topic_probability double precision,
  directional_positive double precision,
  directional_neutral double precision,
  directional_negative double precision,
  directional_score double precision,
  semantic_positive double precision,
  semantic_neutral double precision,
  semantic_negative double precision,
  semantic_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  window_id bigint,
  -- Includes country and the partition column, so that the table can be distributed by country.
  primary key (country, topic, match_type, published_at, headline_id)
) partition by range (published_at);
-- For gmsi.signal_at: when a headline that was not backfilled became known. The index is small, because only syncs load such rows.
create index headlines_witnessed on gmsi.headlines (country, topic, match_type, (greatest(published_at, first_seen_at)))
  where not is_backfilled;
comment on table gmsi.headlines is 'The current version of each headline, one row for each country, topic and match type that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.headlines.headline_id is 'Identity: the service''s own id if a record has one, else a hash of publication time, text, source and language, else of all its content. The same headline has the same id under every country and topic, except in the last case.';
comment on column gmsi.headlines.country is 'Country that was requested.';
comment on column gmsi.headlines.topic is 'Topic that was requested.';
comment on column gmsi.headlines.match_type is 'Match type that was requested: COMBINED, DOMESTIC or INTERNATIONAL. A record''s own match type, if it has one, is in extra.';
comment on column gmsi.headlines.published_at is 'Publication time; the service may round it to the hour. Times without a zone are read as UTC.';
comment on column gmsi.headlines.headline is 'Text of the headline.';
comment on column gmsi.headlines.language is 'Language of the headline.';
comment on column gmsi.headlines.source is 'Publisher.';
comment on column gmsi.headlines.url is 'Address of the article.';
comment on column gmsi.headlines.topic_probability is 'Probability (0 to 1) that the headline belongs to the topic.';
comment on column gmsi.headlines.directional_positive is 'Directional model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.directional_neutral is 'Directional model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.directional_negative is 'Directional model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.directional_score is 'Directional score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.semantic_positive is 'Semantic model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.semantic_neutral is 'Semantic model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.semantic_negative is 'Semantic model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.semantic_score is 'Semantic score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.extra is 'Every field of the record that has no column.';
comment on column gmsi.headlines.first_seen_at is 'When this warehouse first stored the headline.';
comment on column gmsi.headlines.changed_at is 'When this warehouse first stored this version.';
comment on column gmsi.headlines.retracted_at is 'When a load found that the service no longer returns it; null while the service returns it.';
comment on column gmsi.headlines.is_backfilled is 'True if the headline was first loaded by a backfill or an import; first_seen_at then does not show when the service published it.';
comment on column gmsi.headlines.load_id is 'Load that wrote this version.';
comment on column gmsi.headlines.window_id is 'Window that loaded this version; null if it came from the live feed, rejected_records or an imported file.';

create function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval '10 seconds';
comment on function gmsi.as_of_delay() is 'The answer of headlines_as_of never changes for a moment that is longer ago than this. A transaction that writes rows must commit within half of this time, or it is rolled back and tried again. If the disk is slow, the owner may replace the function: create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval ''30 seconds''.';

-- A function, because PostgreSQL keeps its plan; as a plain statement, these settings would be planned again for each page.
create function gmsi.bound_transaction() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quarter integer := 250 * least(greatest(extract(epoch from gmsi.as_of_delay()), 0.01), 1e6);
begin
  perform set_config('lock_timeout', quarter::text, true),
          set_config('statement_timeout', (2 * quarter)::text, true),
          set_config('idle_in_transaction_session_timeout', (2 * quarter)::text, true),
          set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('jit', 'off', true);
end $$;
comment on function gmsi.bound_transaction() is 'Ends the transaction that calls it if a statement or a pause takes longer than half of gmsi.as_of_delay(), or the wait for a lock longer than a quarter, because the transaction could no longer be committed. Called at the beginning of every transaction that writes feed rows.';

create function gmsi.refuse_late_commit() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
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

create function gmsi.published_by(stamp timestamptz, rounding text default 'second, some on the hour') returns timestamptz
  language sql stable parallel safe return
  stamp + case
    when rounding = 'day' then interval '24 hours'
    when rounding = 'hour' then interval '1 hour'
    when rounding in ('minute, some on the hour', 'second, some on the hour')
      and date_bin('1 hour', stamp, '1900-01-01 00:00+00') = stamp then interval '1 hour'
    when rounding in ('minute', 'minute, some on the hour') then interval '1 minute'
    when rounding in ('second', 'second, some on the hour') then interval '0'
    -- A misspelt name must fail with an error that shows it, because any default could allow look-ahead.
    else interval '1 hour' * ('no rounding: ' || coalesce(rounding, 'null'))::double precision end;
comment on function gmsi.published_by(timestamptz, text) is 'The latest time at which a row with this published_at can have been published, if the service rounds times down to the day, hour, minute or second (which is exact). "second, some on the hour" (the default) and "minute, some on the hour" mean that times on the full hour may have been rounded down to the hour. gmsi doctor --probe shows which of these fits the service''s times.';

-- The columns that a headline and its replaced versions have in common. They have a type of their own, so that a column that a user
-- adds to gmsi.headlines does not change what gmsi.headlines_as_of returns. Later migrations add columns to it
-- (gmsi.add_feed_column).
do $$ begin
  execute (select format('create type gmsi.headline_version as (%s)',
                         string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum))
           from pg_attribute where attrelid = 'gmsi.headlines'::regclass and attnum > 0);
end $$;
comment on type gmsi.headline_version is 'A version of a headline: the columns of gmsi.headlines, without those that users added.';

create table gmsi.headline_revisions (
  like gmsi.headlines,
  known_to timestamptz not null,
  reason text not null check (reason in ('rescored', 'text changed', 'retracted', 'returned', 'read again', 'other'))
);
alter table gmsi.headline_revisions rename changed_at to known_from;
alter table gmsi.headline_revisions add check (known_to > known_from),
  add primary key (country, topic, match_type, published_at, headline_id, known_from);
create index headline_revisions_witnessed
  on gmsi.headline_revisions (country, topic, match_type, (greatest(published_at, first_seen_at))) where not is_backfilled;
comment on table gmsi.headline_revisions is 'Replaced versions of headlines: each was in gmsi.headlines from known_from until known_to.';
comment on column gmsi.headline_revisions.known_from is 'When this warehouse first stored this version (its changed_at).';
comment on column gmsi.headline_revisions.known_to is 'When the next version replaced it (the changed_at of that version).';
comment on column gmsi.headline_revisions.retracted_at is 'Set if the headline was retracted in this version.';
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, returned (after a retraction), read again (a repair filled columns from extra; the service changed nothing), or other (another column).';

-- Creates all objects that list the columns of a version, from the type. Called again when a migration adds a column.
create function gmsi.define_headline_versions() returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $define$
declare
  all_columns text[] := array(select quote_ident(attname) from pg_attribute
                              where attrelid = 'gmsi.headline_version'::regclass and attnum > 0 and not attisdropped order by attnum);
  replaced text[] := array_replace(all_columns, 'changed_at', 'known_from');
  scores text[] := array(select quote_ident(attname) from pg_attribute
                         where attrelid = 'gmsi.headline_version'::regclass and atttypid = 'float8'::regtype order by attnum);
  usable text[] := array(select name from unnest(all_columns) with ordinality as c (name, n)
                         where name not in ('extra', 'changed_at', 'retracted_at') order by n);
  held record;
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
               when o.retracted_at is null and n.retracted_at is not null then 'retracted'
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
      language sql stable parallel safe rows 100000 as $query$
      select h.%s from gmsi.headlines h where h.changed_at <= moment
      union all
      select r.%s from gmsi.headline_revisions r where r.known_from <= moment and r.known_to > moment
      $query$
    $sql$, array_to_string(all_columns, ', h.'), array_to_string(replaced, ', r.'));

  -- The headline's own columns come last: a view can only grow at its end.
  execute format($sql$
    create or replace view gmsi.headlines_point_in_time as
      select case when is_backfilled then gmsi.published_by(published_at) else greatest(published_at, first_seen_at) end as entered_at,
             greatest(published_at, known_from) as usable_from, usable_to,
             case when not (is_backfilled and is_first) then greatest(published_at, known_from)
                  -- A repair does not make a new version, it only completes one: only the completed one counts.
                  when reason is distinct from 'read again' then gmsi.published_by(published_at) end as assumed_from,
             known_from, is_first, reason, %1$s
      from (
        select h.changed_at as known_from, null::timestamptz as usable_to, null::text as reason,
               h.changed_at = h.first_seen_at or not exists (
                 select from gmsi.headline_revisions before
                 where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                     = (h.country, h.topic, h.match_type, h.published_at, h.headline_id)
                   and before.reason <> 'read again') as is_first,
               h.%2$s
        from gmsi.headlines h where h.retracted_at is null
        union all
        select r.known_from, r.known_to, r.reason,
               r.known_from = r.first_seen_at or not exists (
                 select from gmsi.headline_revisions before
                 where (before.country, before.topic, before.match_type, before.published_at, before.headline_id)
                     = (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
                   and before.known_to <= r.known_from and before.reason <> 'read again'),
               r.%3$s
        from gmsi.headline_revisions r where r.retracted_at is null
      ) as version
    $sql$, array_to_string(usable, ', '), array_to_string(usable, ', h.'), array_to_string(usable, ', r.'));

  for held in
    select attrelid::regclass as relation, attname as name from pg_attribute
    where attrelid in ('gmsi.headline_revisions'::regclass, 'gmsi.headlines_point_in_time'::regclass) and attnum > 0
      and not attisdropped and quote_ident(attname) = any(all_columns) and col_description(attrelid, attnum) is null
  loop
    execute format('comment on column %s.%I is %L', held.relation, held.name, 'As in gmsi.headlines, in this version.');
  end loop;
end $define$;
comment on function gmsi.define_headline_versions() is 'Creates the objects that list all columns of a headline: keep_headline_revisions, headlines_as_of and headlines_point_in_time. gmsi.add_feed_column calls it.';

select gmsi.define_headline_versions();
create trigger keep_revisions after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_headline_revisions();
comment on function gmsi.keep_headline_revisions() is 'Stores each version that an update of gmsi.headlines replaces. A statement-level trigger: one call per page, no matter how many rows.';
comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it was at a moment: the version of each headline that this warehouse held then, including retracted ones (retracted_at is set). It does not have columns that users added to gmsi.headlines. For a moment more than gmsi.as_of_delay() ago, the answer never changes. Filters on country, topic and published_at use the indexes.';
comment on view gmsi.headlines_point_in_time is 'Every version of every headline with the time in which a back-test may use it: from usable_from (inclusive) until usable_to (exclusive). A back-test that follows these times uses nothing that was not known at the time. Versions in which the headline was retracted are omitted.';
comment on column gmsi.headlines_point_in_time.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.headlines_point_in_time.usable_to is 'When the next version replaced it, or when it was marked retracted; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.reason is 'Why it was replaced, as in gmsi.headline_revisions; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.is_backfilled is 'True if the headline was first loaded by a backfill or an import, so that it is not known when it appeared, or with which scores.';
comment on column gmsi.headlines_point_in_time.is_first is 'True for the first version of the headline that this warehouse held, and for a version that differs from it only because a repair filled columns.';
comment on column gmsi.headlines_point_in_time.entered_at is 'When the headline became known; the same in all its versions. This is the later of published_at and first_seen_at, or for a backfilled headline, its publication (gmsi.published_by). A back-test that counts, at each decision, the headlines that entered since the previous decision counts each headline once.';
comment on column gmsi.headlines_point_in_time.usable_from is 'The first moment at which a back-test may use this version without look-ahead: the later of published_at and known_from.';
comment on column gmsi.headlines_point_in_time.assumed_from is 'As usable_from, on the assumption that a backfilled headline had its scores when it was published. If the service revised them before the backfill, that is look-ahead. A headline with a time on the full hour counts from the end of that hour, because the service may round times down (gmsi.published_by). Null for a version that a repair completed: the completed one counts instead.';

-- Autovacuum analyzes a partition each time that it has grown by a tenth. With the default target, that took half of the CPU time
-- that PostgreSQL spent on loading the rows; with a target of 30, ANALYZE reads 9,000 rows instead of 30,000. The columns url and
-- extra have no statistics, which took almost half of the time of ANALYZE on headlines and change no plan. The column headline has,
-- because PostgreSQL needs them for an index on its words.
create function gmsi.set_statistics(feed_table regclass) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute (
    select format('alter table %s %s', feed_table, string_agg(
      format('alter column %I set statistics %s', attname, case when attname in ('url', 'extra') then 0 else 30 end), ', '))
    from pg_attribute where attrelid = feed_table and attnum > 0 and not attisdropped);
end $$;
comment on function gmsi.set_statistics(regclass) is 'Sets how much ANALYZE reads of each column of a feed''s table.';
select gmsi.set_statistics('gmsi.headlines'), gmsi.set_statistics('gmsi.headline_revisions');

create table gmsi.revisions (
  table_name text not null,
  row_id uuid not null,
  series jsonb not null,
  version jsonb not null,
  known_from timestamptz not null,
  known_to timestamptz not null check (known_to > known_from),
  reason text not null default 'changed' check (reason in ('changed', 'retracted', 'returned', 'read again')),
  primary key (table_name, series, row_id, known_from)
);
comment on table gmsi.revisions is 'Replaced versions of the rows of all feeds'' tables except gmsi.headlines, which has gmsi.headline_revisions.';
comment on column gmsi.revisions.table_name is 'Table of the row.';
comment on column gmsi.revisions.row_id is 'Id of the row in that table.';
comment on column gmsi.revisions.series is 'The columns that identify its series, and its time.';
comment on column gmsi.revisions.version is 'The whole row in this version.';
comment on column gmsi.revisions.known_from is 'When this warehouse first stored this version.';
comment on column gmsi.revisions.known_to is 'When the next version replaced it.';
comment on column gmsi.revisions.reason is 'Why it was replaced: changed (by the service), retracted, returned (after a retraction), or read again (a repair filled columns from extra; the service changed nothing).';

create function gmsi.keep_row_revisions() returns trigger
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

-- Adds what the tables of all feeds except gmsi-headlines have in common. The primary key must consist of the series, the time and
-- the id of a row, in this order. A migration for a new feed creates a table with the feed's own columns and calls this function.
create function gmsi.complete_feed_table(table_name text, is_hourly boolean default false) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  feed_table regclass := format('gmsi.%I', table_name)::regclass;
  key text[] := array(select a.attname::text from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
                      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
                      where i.indrelid = feed_table and i.indisprimary order by k.n);
  id text := key[cardinality(key)];
  note record;
begin
  execute format(
    'alter table %s
       add extra jsonb,
       add first_seen_at timestamptz not null default now(),
       add changed_at timestamptz not null default now(),
       add retracted_at timestamptz,
       add is_backfilled boolean not null,
       add load_id bigint not null,
       add window_id bigint', feed_table);
  if is_hourly then
    execute format(
      $f$alter table %1$s
           add hour_stamp text not null generated always as (
             case substring(variant from '(?:^|&)align_to_period_end=([^&]*)')
               when 'true' then 'end' when 'false' then 'beginning' else 'unknown' end) stored,
           add hour_ends_at timestamptz not null generated always as (
             case substring(variant from '(?:^|&)align_to_period_end=([^&]*)')
               when 'true' then published_at else (published_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC' end) stored$f$,
      feed_table);
  end if;
  perform gmsi.set_statistics(feed_table);
  execute format(
    'create trigger keep_revisions after update on %s referencing old table as old_rows new table as new_rows
       for each statement execute function gmsi.keep_row_revisions(%s)',
    feed_table, (select string_agg(quote_literal(name), ', ') from unnest(id || trim_array(key, 1)) as name));
  -- "select *", so that the function also returns columns that a migration or a user adds later.
  execute format(
    'create function gmsi.%1$I(moment timestamptz) returns setof %2$s language sql stable parallel safe rows 100000 as $f$
       select * from %2$s where changed_at <= moment
       union all
       select version.* from gmsi.revisions r cross join lateral jsonb_populate_record(null::%2$s, r.version) as version
       where r.table_name = %3$L and r.known_from <= moment and r.known_to > moment $f$', table_name || '_as_of', feed_table, table_name);
  execute format('comment on function gmsi.%I(timestamptz) is %L', table_name || '_as_of', format(
    'gmsi.%s exactly as it was at a moment, including retracted rows (retracted_at is set). For a moment more than gmsi.as_of_delay() ago, the answer never changes.', table_name));
  for note in
    select names.name, names.says
    from (values
      ('ticker', 'Ticker that was requested.'),
      ('country', 'Country that was requested.'),
      ('variant', 'Further parameters of the request, as name=value&name=value; empty if there were none.'),
      ('headline_id', 'The headline, as in gmsi.headlines.'),
      ('published_at', case when is_hourly
         then 'The hour as the service stamps it: its beginning or its end (hour_stamp). An hour that is stamped at its beginning includes headlines that were published after that time.'
         else 'Publication time. Times without a zone are read as UTC.' end),
      ('headline', 'Text of the headline, if the service sends it.'),
      ('language', 'Language of the headline, if the service sends it.'),
      ('source', 'Publisher, if the service sends it.'),
      ('url', 'Address of the article, if the service sends it.'),
      ('topic', 'Topic, according to the record.'),
      ('topic_probability', 'Probability (0 to 1) of the topic.'),
      ('event_at', 'Date of the event (event_date).'),
      ('event_name', 'Name of the event.'),
      ('event_type', 'Type of the event, according to the record.'),
      ('event_count', 'Number of events.'),
      ('headline_count', 'Number of headlines in the hour.'),
      ('sentiment_sum', 'Sum of their scores; divided by their number, it is the mean.'),
      ('sentiment_abs_sum', 'Sum of the absolute values of their scores.'),
      ('sentiment_std', 'Standard deviation of their scores.'),
      ('hour_stamp', 'Whether published_at is the end or the beginning of the hour, as requested with align_to_period_end; unknown if that was not sent, because the service''s default is not known.'),
      ('hour_ends_at', 'The latest time at which the hour can end: published_at if that is the end of the hour, else an hour later. A back-test may use the row only from this time on. Filter by published_at, too, because the table is partitioned by it; it is at most an hour earlier.'),
      ('extra', 'Every field of the record that has no column.'),
      ('first_seen_at', 'When this warehouse first stored the row.'),
      ('changed_at', 'When this warehouse first stored this version.'),
      ('retracted_at', 'When a load found that the service no longer returns it; null while the service returns it.'),
      ('is_backfilled', 'True if the row was first loaded by a backfill or an import.'),
      ('load_id', 'Load that wrote this version.'),
      ('window_id', 'Window that loaded this version; null if it came from the live feed, rejected_records or an imported file.')
    ) as names (name, says)
    join pg_attribute on attrelid = feed_table and attname = name and col_description(attrelid, attnum) is null
  loop
    execute format('comment on column %s.%I is %L', feed_table, note.name, note.says);
  end loop;
end $$;
comment on function gmsi.complete_feed_table(text, boolean) is 'Completes the table of a feed. Adds the columns that all feeds have (and hour_stamp and hour_ends_at to an hourly index), the trigger that keeps revisions, the as-of function, statistics, and comments on columns that have none.';

create function gmsi.add_feed_column(feed_table text, name text, type regtype, says text) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('alter table gmsi.%1$I add %2$I %3$s, alter %2$I set statistics 30', feed_table, name, type);
  execute format('comment on column gmsi.%I.%I is %L', feed_table, name, says);
  if feed_table = 'headlines' then
    execute format('alter table gmsi.headline_revisions add %1$I %2$s, alter %1$I set statistics 30', name, type);
    execute format('alter type gmsi.headline_version add attribute %I %s cascade', name, type);
    perform gmsi.define_headline_versions();
  end if;
end $$;
comment on function gmsi.add_feed_column(text, text, regtype, text) is 'For migrations: adds a column with its comment to a feed''s table, to its revisions and to its as-of function. Views on them stay.';

create table gmsi.ticker_headlines (
  ticker text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  ticker_name text,
  headline text,
  language text,
  source text,
  url text,
  topic text,
  topic_probability double precision,
  record_match_type text,
  sentiment_score double precision,
  bearish_probability double precision,
  neutral_probability double precision,
  bullish_probability double precision,
  primary key (ticker, match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_headlines is 'The current version of each headline, one row for each ticker, match type and variant that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.ticker_headlines.match_type is 'Match type that was requested: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.entry_id is 'Identity: a hash of headline_id and topic. A headline about several topics has a row for each.';
comment on column gmsi.ticker_headlines.ticker_name is 'Name of the asset.';
comment on column gmsi.ticker_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.ticker_headlines.record_match_type is 'How the headline mentions the asset, according to the record: EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.ticker_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.ticker_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.ticker_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';
select gmsi.complete_feed_table('ticker_headlines');

create table gmsi.ticker_events (
  ticker text not null,
  variant text not null,
  event_id uuid not null,
  event_at timestamptz not null,
  event_name text,
  summary text,
  event_type text,
  direction text,
  impact text,
  topic text,
  impact_number double precision generated always as (case when impact ~ '^[-+]?[0-9]*[.]?[0-9]+$' then impact::double precision end) stored,
  primary key (ticker, variant, event_at, event_id)
);
comment on table gmsi.ticker_events is 'The current version of each event of a ticker.';
comment on column gmsi.ticker_events.event_id is 'Identity: the service''s own id if there is one, else a hash of time, name, type and topic, else of all content.';
comment on column gmsi.ticker_events.summary is 'Summary.';
comment on column gmsi.ticker_events.direction is 'Bullish or Bearish.';
comment on column gmsi.ticker_events.impact is 'Impact as sent: a number, or a word such as High.';
comment on column gmsi.ticker_events.impact_number is 'impact as a number, if it is one.';
select gmsi.complete_feed_table('ticker_events');

create table gmsi.ticker_event_headlines (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  event_id text,
  event_name text,
  event_at timestamptz,
  event_type text,
  topic text,
  sentiment_score double precision,
  primary key (ticker, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_event_headlines is 'The current version of each headline about an event of a ticker. Partitioned by month of published_at.';
comment on column gmsi.ticker_event_headlines.entry_id is 'Identity: a hash of headline_id and event. A headline about several events has a row for each.';
comment on column gmsi.ticker_event_headlines.event_id is 'Id of the event as the service sends it.';
comment on column gmsi.ticker_event_headlines.sentiment_score is 'Sentiment, if the service sends it.';
select gmsi.complete_feed_table('ticker_event_headlines');

create table gmsi.ticker_index (
  ticker text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  record_match_type text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (ticker, match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_index is 'Hourly headline sentiment of a ticker by topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.ticker_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_index.entry_id is 'Identity: a hash of time, topic and record_match_type.';
comment on column gmsi.ticker_index.record_match_type is 'Match type, according to the record (index_type).';
select gmsi.complete_feed_table('ticker_index', is_hourly => true);

create table gmsi.gmsi_index (
  country text not null,
  topic text not null,
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic_name text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_type text generated always as (substring(variant from '(?:^|&)sentiment_type=([^&]*)')) stored,
  primary key (country, topic, match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.gmsi_index is 'Hourly headline sentiment of a country and topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.gmsi_index.topic is 'Topic that was requested.';
comment on column gmsi.gmsi_index.match_type is 'Match type that was requested (index_type): COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.gmsi_index.variant is 'Further parameters of the request, as name=value&name=value: sentiment_type and others. An hour has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.gmsi_index.sentiment_type is 'Model that was requested: directional or semantic_sentiment.';
comment on column gmsi.gmsi_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.gmsi_index.topic_name is 'Topic, according to the record.';
select gmsi.complete_feed_table('gmsi_index', is_hourly => true);

create table gmsi.regional_index (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.regional_index is 'Hourly headline sentiment of each country of a group by topic, as the service aggregates it (the regional macro index). Partitioned by month of published_at.';
comment on column gmsi.regional_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT; DOMESTIC or INTERNATIONAL for rows of an archive.';
comment on column gmsi.regional_index.variant is 'Further parameters of the request, as name=value&name=value: model, country_preset and others. An hour of a country has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.regional_index.entry_id is 'Identity: a hash of time, topic and country_name.';
comment on column gmsi.regional_index.country_name is 'Name of the country, according to the record.';
comment on column gmsi.regional_index.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.regional_index.sentiment_avg is 'Mean of their scores as the service sends it.';
comment on column gmsi.regional_index.model is 'Model that was requested: macro_1, macro_2 or macro_3; null in rows of an archive, which does not name the model.';
select gmsi.complete_feed_table('regional_index', is_hourly => true);

create table gmsi.global_index (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.global_index is 'Hourly headline sentiment of the world by topic, as the service aggregates it (the global macro index). Partitioned by month of published_at.';
comment on column gmsi.global_index.match_type is 'Match type that was requested (index_type): COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.global_index.variant is 'Further parameters of the request, as name=value&name=value: model and others. An hour has a row in each variant that it was requested with, so filter by variant.';
comment on column gmsi.global_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.global_index.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.global_index.sentiment_avg is 'Mean of their scores as the service sends it.';
comment on column gmsi.global_index.model is 'Model that was requested: macro_1, macro_2 or macro_3.';
select gmsi.complete_feed_table('global_index', is_hourly => true);

create table gmsi.ticker_event_metrics (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  event_type text,
  topic text,
  event_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (ticker, variant, published_at, entry_id)
);
comment on table gmsi.ticker_event_metrics is 'Event sentiment metrics of a ticker, as the service aggregates them. Their fields are not documented; those without a column are in extra.';
comment on column gmsi.ticker_event_metrics.entry_id is 'Identity: a hash of time, event type and topic.';
comment on column gmsi.ticker_event_metrics.published_at is 'Time of the metric.';
select gmsi.complete_feed_table('ticker_event_metrics');

create table gmsi.event_query_metrics (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  ticker text,
  event_type text,
  topic text,
  event_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  primary key (variant, published_at, entry_id)
);
comment on table gmsi.event_query_metrics is 'Results of the custom query for event sentiment metrics (POST /events/index/query).';
comment on column gmsi.event_query_metrics.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.event_query_metrics.entry_id is 'Identity: a hash of time, ticker, event type and topic.';
comment on column gmsi.event_query_metrics.published_at is 'Time of the metric.';
comment on column gmsi.event_query_metrics.ticker is 'Ticker, according to the record.';
select gmsi.complete_feed_table('event_query_metrics');

create table gmsi.regional_index_query (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  primary key (variant, published_at, entry_id)
);
comment on table gmsi.regional_index_query is 'Results of the custom query for the regional macro index (POST /headlines/index/macro/query/regional).';
comment on column gmsi.regional_index_query.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.regional_index_query.entry_id is 'Identity: a hash of time, topic and country_name.';
comment on column gmsi.regional_index_query.country_name is 'Name of the country, according to the record.';
comment on column gmsi.regional_index_query.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.regional_index_query.sentiment_avg is 'Mean of their scores as the service sends it.';
select gmsi.complete_feed_table('regional_index_query', is_hourly => true);

create table gmsi.global_index_query (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  headline_count bigint,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  sentiment_avg double precision,
  primary key (variant, published_at, entry_id)
);
comment on table gmsi.global_index_query is 'Results of the custom query for the global macro index (POST /headlines/index/macro/query/global).';
comment on column gmsi.global_index_query.variant is 'Identifies the query: a hash of the body in the job file.';
comment on column gmsi.global_index_query.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.global_index_query.sentiment_abs_sum is 'Sum of the absolute values of their scores, if the service sends it.';
comment on column gmsi.global_index_query.sentiment_avg is 'Mean of their scores as the service sends it.';
select gmsi.complete_feed_table('global_index_query', is_hourly => true);

create table gmsi.macro_headlines (
  match_type text not null,
  variant text not null,
  entry_id uuid not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  country_name text not null,
  headline text,
  language text,
  source text,
  url text,
  topic text,
  topic_probability double precision,
  record_match_type text,
  sentiment_score double precision,
  bearish_probability double precision,
  neutral_probability double precision,
  bullish_probability double precision,
  model text generated always as (substring(variant from '(?:^|&)model=([^&]*)')) stored,
  primary key (match_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.macro_headlines is 'The current version of each headline of a macro model, one row for each country, topic, match type and variant that it was requested with. Partitioned by month of published_at.';
comment on column gmsi.macro_headlines.match_type is 'Match type that was requested.';
comment on column gmsi.macro_headlines.variant is 'Further parameters of the request, with the model: model=macro_1.';
comment on column gmsi.macro_headlines.entry_id is 'Identity: a hash of headline_id, country_name and topic.';
comment on column gmsi.macro_headlines.country_name is 'Name of the country, according to the record.';
comment on column gmsi.macro_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.macro_headlines.record_match_type is 'Match type, according to the record.';
comment on column gmsi.macro_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.macro_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.macro_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.macro_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';
comment on column gmsi.macro_headlines.model is 'Model that was requested: macro_1, macro_2 or macro_3.';
select gmsi.complete_feed_table('macro_headlines');
