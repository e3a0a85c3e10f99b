-- Who may do what. A reader who could have another user's function run on values of their own making could become that user.

-- Rollups are written with the rights of the user who changes headlines, so that user may write rollups too.
alter function gmsi.roll_up(text, text, text, timestamptz, timestamptz, boolean) security invoker;
alter function gmsi.roll_up_changes() security invoker;

-- The only function that runs with its owner's rights: only the owner of a table can create its partitions.
create or replace function gmsi.ensure_month_partition(parent text, month date) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  parent_id oid := (select c.oid from pg_catalog.pg_class c
                    where c.relnamespace = 'gmsi'::regnamespace and c.relname = parent and c.relkind = 'p'
                      and c.relowner = (select r.oid from pg_catalog.pg_roles r where r.rolname = current_user));
  first_day date := date_trunc('month', month::timestamp)::date;
  part text := format('%s_%s', parent, to_char(first_day, 'YYYY_MM'));
  held record;
begin
  if parent_id is null then
    raise exception 'gmsi.% is no partitioned table of this warehouse', parent using errcode = 'undefined_table';
  end if;
  -- Only years that a record's time may have, so that nobody can fill the catalog.
  if month is null or month not between date '1900-01-01' and date '2100-12-31' then
    raise exception 'no partition is made for %: it is not between 1900 and 2100', coalesce(month::text, 'no month')
      using errcode = 'datetime_field_overflow';
  end if;
  -- PostgreSQL would cut the name, and two months would share one.
  if octet_length(part) > 63 then
    raise exception 'the name % is too long for a table', part using errcode = 'name_too_long';
  end if;
  -- Read from the table itself: after the wait for the lock, to_regclass could answer from a stale cache.
  perform pg_advisory_xact_lock(hashtext('gmsi.ensure_month_partition'));
  if exists (select from pg_catalog.pg_class c join pg_catalog.pg_inherits i on i.inhrelid = c.oid
             where c.relnamespace = 'gmsi'::regnamespace and c.relname = part and i.inhparent = parent_id) then
    return;
  end if;
  if exists (select from pg_catalog.pg_class c where c.relnamespace = 'gmsi'::regnamespace and c.relname = part) then
    raise exception 'gmsi.% is no partition of gmsi.%: it was detached, and rows of its month are to be loaded', part, parent
      using hint = 'Attach it again, or move it to another schema.';
  end if;
  -- Attached, not created as PARTITION OF: that would wait behind every load in flight, and they behind it.
  -- An identity column is the table's: it comes with attaching, and a partition that has one of its own is refused.
  execute format('create table gmsi.%I (like gmsi.%I including all excluding identity)', part, parent);
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
comment on function gmsi.ensure_month_partition(text, date) is 'Makes the partition of a partitioned table of the warehouse for the month of a day, if there is none yet; from 1900 to 2100. Runs with the rights of its owner, so that a loading user need not own the tables.';

-- By the names of its columns: a column that somebody adds to gmsi.headlines is none of this function's, and breaks nothing.
do $$
begin
  drop function gmsi.headlines_as_of(timestamptz);
exception when dependent_objects_still_exist then
  -- A user's view may read from it, and goes on reading what it was made with.
  alter function gmsi.headlines_as_of(timestamptz) rename to headlines_as_of_before_0013;
end $$;
create function gmsi.headlines_as_of(moment timestamptz) returns table (
  headline_id uuid, country text, topic text, match_type text, published_at timestamptz,
  headline text, language text, source text, url text, topic_probability double precision,
  directional_positive double precision, directional_neutral double precision, directional_negative double precision,
  directional_score double precision, semantic_positive double precision, semantic_neutral double precision,
  semantic_negative double precision, semantic_score double precision,
  extra jsonb, first_seen_at timestamptz, changed_at timestamptz, retracted_at timestamptz,
  is_backfilled boolean, load_id bigint, window_id bigint)
  -- No set, no PL/pgSQL: PostgreSQL reads it as part of the query around it, whose filters reach the indexes.
  language sql stable parallel safe rows 100000 as $$
  select h.headline_id, h.country, h.topic, h.match_type, h.published_at, h.headline, h.language, h.source, h.url,
         h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
         h.directional_score, h.semantic_positive, h.semantic_neutral, h.semantic_negative, h.semantic_score,
         h.extra, h.first_seen_at, h.changed_at, h.retracted_at, h.is_backfilled, h.load_id, h.window_id
  from gmsi.headlines h where h.changed_at <= moment
  union all
  select r.headline_id, r.country, r.topic, r.match_type, r.published_at, r.headline, r.language, r.source, r.url,
         r.topic_probability, r.directional_positive, r.directional_neutral, r.directional_negative,
         r.directional_score, r.semantic_positive, r.semantic_neutral, r.semantic_negative, r.semantic_score,
         r.extra, r.first_seen_at, r.known_from, r.retracted_at, r.is_backfilled, r.load_id, r.window_id
  from gmsi.headline_revisions r where r.known_from <= moment and r.known_to > moment
$$;
comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it stood at a moment: the version of each headline that this warehouse held then, the retracted ones (retracted_at is set) included. Its columns are those of gmsi.headlines that come with the warehouse. Filters on country, topic and published_at reach the indexes.';

-- What each of the two roles may do. Called again after every later migration, so nothing that one adds is open by default.
create or replace function gmsi.grant_roles() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- What analysts use: not the program's own tables, and not the requests of each key.
  readable text[] := array[
    'headlines', 'headline_revisions', 'headlines_point_in_time', 'sentiment_hourly', 'sentiment_daily',
    'ticker_headlines', 'ticker_events', 'ticker_event_headlines', 'ticker_index', 'gmsi_index',
    'ticker_event_metrics', 'event_query_metrics', 'revisions', 'countries', 'topics', 'lookups',
    'coverage', 'coverage_by_day', 'coverage_gaps', 'windows', 'loads', 'load_history', 'rejected_records',
    -- Every command reads it to see whether the schema is the one that it knows.
    'kysely_migration'];
  -- Tables that loading deletes rows from. By name, since later migrations make some of these.
  deletable text[] := array['windows', 'drain_sightings', 'live_sightings', 'rejected_records', 'workers',
                            'sentiment_hourly', 'sentiment_daily'];
  -- Functions that read nothing but what the caller may read, or nothing at all.
  for_everybody text[] := array['headlines_as_of', 'headlines_as_of_before_0013', 'as_of_delay', 'summable'];
  has_reader boolean := to_regrole('gmsi_reader') is not null;
  has_loader boolean := to_regrole('gmsi_loader') is not null;
  held record;
begin
  -- Two grants on one table at once would be an error.
  perform pg_advisory_xact_lock(hashtext('gmsi.grant_roles'));
  if has_reader then
    grant usage on schema gmsi to gmsi_reader;
  end if;
  if has_loader then
    grant usage on schema gmsi to gmsi_loader;
  end if;
  -- Objects that somebody else added to the schema are theirs to grant.
  for held in
    select c.relname as name, c.relkind in ('r', 'p') as is_table, c.relname ~ '^kysely_' as is_migrators,
           coalesce(parent.relname, c.relname) = any(readable) as is_readable, c.relname = any(deletable) as is_deletable
    from pg_catalog.pg_class c
    left join pg_catalog.pg_inherits i on i.inhrelid = c.oid
    left join pg_catalog.pg_class parent on parent.oid = i.inhparent
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v') and pg_has_role(c.relowner, 'usage')
  loop
    if has_reader and held.is_readable then
      execute format('grant select on gmsi.%I to gmsi_reader', held.name);
    end if;
    if has_loader and held.is_migrators then
      -- A user who could write these could make an owner's command take the schema for another one.
      execute format('revoke all on gmsi.%I from gmsi_loader', held.name);
    end if;
    if has_loader and (held.is_readable or not held.is_migrators) then
      execute format('grant select on gmsi.%I to gmsi_loader', held.name);
    end if;
    if has_loader and held.is_table and not held.is_migrators then
      execute format('grant insert, update on gmsi.%I to gmsi_loader', held.name);
    elsif has_loader and not held.is_table then
      execute format('revoke insert, update on gmsi.%I from gmsi_loader', held.name);
    end if;
    if has_loader and held.is_deletable then
      execute format('grant delete on gmsi.%I to gmsi_loader', held.name);
    end if;
  end loop;
  for held in
    select p.oid::regprocedure::text as name, p.proname = any(for_everybody) as is_for_everybody,
           p.proname <> 'grant_roles' and p.prorettype <> 'trigger'::regtype as is_for_loading
    from pg_catalog.pg_proc p
    where p.pronamespace = 'gmsi'::regnamespace and p.prokind = 'f' and pg_has_role(p.proowner, 'usage')
  loop
    if held.is_for_everybody then
      execute format('grant execute on function %s to public', held.name);
    else
      execute format('revoke execute on function %s from public', held.name);
    end if;
    if has_loader and held.is_for_loading then
      execute format('grant execute on function %s to gmsi_loader', held.name);
    end if;
  end loop;
end $$;
comment on function gmsi.grant_roles() is 'Grants gmsi_reader and gmsi_loader, if these roles are there, what they need, and takes every function that is not for analysts from PUBLIC. Called by the owner of the schema.';
