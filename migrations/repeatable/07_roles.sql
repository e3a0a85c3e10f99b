-- Roles. Nothing that a migration adds is open by default. Readers must not run functions that have another user's rights: with
-- values of their choice, they could gain those rights.

do $$
declare
  role text;
  -- What analysts may read besides the feeds' tables. The program's own tables and the requests of each key are not here.
  readable text[] := array[
    'headline_revisions', 'headlines_point_in_time', 'sentiment_hourly', 'sentiment_daily', 'revisions', 'countries', 'topics',
    'lookups', 'origin', 'coverage', 'coverage_by_day', 'coverage_gaps', 'index_daily', 'rescorings', 'arrival_delays',
    'sentiment_by_day', 'topic_guide', 'windows', 'loads', 'rejected_records', 'check_results', 'known_findings', 'imported_files', 'processes', 'learned_facts', 'service_descriptions', 'wire_fields', 'moments', 'closes', 'markets', 'market_closes', 'watched',
    'series', 'series_days', 'series_states', 'readings', 'queue',
    -- Every command reads it to check that it knows the schema.
    'kysely_migration'];
  -- Tables that loading deletes rows from.
  deletable text[] := array['queue', 'readings', 'drain_sightings', 'live_sightings', 'rejected_records', 'check_results', 'known_findings', 'processes', 'jobs',
                            'api_usage', 'hourly_sums', 'daily_sums', 'moments'];
  -- Functions that read only what the caller may read, or nothing.
  for_everybody text[] := array['signals', 'sentiment_daily_as_known', 'known_state', 'novelty', 'moment', 'state_of', 'series_days', 'day_facts', 'days_at', 'loss', 'losses',
                                'derive_days', 'cause_of',
                                'refuse_future', 'refuse_days', 'refuse_unknown',
                                'as_of_delay', 'summable', 'published_by', 'story_key'];
  has_reader boolean;
  has_loader boolean;
  held record;
begin
  if (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) then
    foreach role in array array['gmsi_reader', 'gmsi_loader'] loop
      begin
        execute format('create role %I nologin', role);
      exception
        -- Roles belong to the server: another warehouse may have created them, or may be creating them now.
        when duplicate_object or unique_violation then null;
      end;
    end loop;
  end if;
  has_reader := to_regrole('gmsi_reader') is not null;
  has_loader := to_regrole('gmsi_loader') is not null;
  if has_reader then
    grant usage on schema gmsi to gmsi_reader;
  end if;
  if has_loader then
    grant usage on schema gmsi to gmsi_loader;
    grant usage on sequence gmsi.reading_ids to gmsi_loader;
  end if;
  -- Only objects of this owner, because only their owners can grant objects that others added to the schema.
  for held in
    select c.relname as name, c.relkind in ('r', 'p') as is_table, c.relname ~ '^(kysely_|warehouse_moves$)' as is_migrators,
           c.relname = any(readable)
             -- The feeds' tables and their partitions.
             or exists (select from pg_catalog.pg_trigger t
                        where t.tgrelid = coalesce(i.inhparent, c.oid) and t.tgname = 'keep_revisions') as is_readable,
           c.relname = any(deletable) as is_deletable
    from pg_catalog.pg_class c
    left join pg_catalog.pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v') and pg_has_role(c.relowner, 'usage')
  loop
    if has_reader and held.is_readable then
      execute format('grant select on gmsi.%I to gmsi_reader', held.name);
    end if;
    if has_loader and held.is_migrators then
      -- A user who could write these could make an owner's command mistake the schema's version.
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
    select p.oid::regprocedure::text as name, p.proname = any(for_everybody) or p.proname ~ '_as_of$' as is_for_everybody,
           p.prorettype <> 'trigger'::regtype as is_for_loading
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
