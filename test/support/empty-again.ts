import { sql } from 'kysely';
import { version } from '../../src/package.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/** What the tests' own sessions are called, other than those of programs that they start. */
export const sessionName = `gmsi ${version} (test)`;

/**
 * Empties a warehouse that a test leaves.
 * @param fresh what `schemaOf` says of a new one
 * @returns false if it is not like a new one then, or is still in use: it must not be used again
 */
export async function emptyAgain(db: Warehouse, fresh: string): Promise<boolean> {
  try {
    return await db.transaction().execute(async (trx) => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and (application_name <> ${sessionName} or state <> 'idle')
        union all
        select from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())
      `.execute(trx);
      if (rows.length > 0) return false;
      await sql.raw(empty).execute(trx);
      return (await schemaOf(trx)) === fresh;
    });
  } catch {
    return false;
  }
}

const empty = `
  set local session_replication_role = replica;
  set local lock_timeout = '5s';
  do $$
  declare
    part regclass;
    filled regclass;
    has_rows boolean;
  begin
    for part in select oid from pg_class where relispartition and relkind = 'r' loop
      execute 'drop table ' || part;
    end loop;
    for filled in select oid from pg_class
      where oid >= 16384 and relkind = 'r' and relname not like 'kysely_%' and relname <> 'migrations' loop
      execute 'select exists (select from ' || filled || ')' into has_rows;
      if has_rows then execute 'delete from ' || filled; end if;
    end loop;
    perform setval(seqrelid::regclass, seqstart, false) from pg_sequence
      where pg_sequence_last_value(seqrelid) is not null;
  end $$`;

/** Whatever a test can make of a database besides filling its tables, in one line. */
export async function schemaOf(db: Warehouse): Promise<string> {
  const { rows } = await sql<{ state: string }>`
    select md5(string_agg(part, ' ' order by part)) as state from (
      select 'class ' || concat_ws(' ', oid, relname, relowner, relkind, relacl, reloptions, relrowsecurity) as part
        from pg_class where oid >= 16384
      union all select 'column ' || concat_ws(' ', attrelid, attnum, xmin) from pg_attribute where attrelid >= 16384
      union all select 'function ' || concat_ws(' ', oid, xmin) from pg_proc where oid >= 16384
      union all select 'trigger ' || concat_ws(' ', oid, xmin) from pg_trigger
      union all select 'constraint ' || concat_ws(' ', oid, xmin) from pg_constraint where oid >= 16384
      union all select 'rule ' || concat_ws(' ', oid, xmin) from pg_rewrite where oid >= 16384
      union all select 'event trigger ' || concat_ws(' ', oid, xmin) from pg_event_trigger
      union all select 'policy ' || concat_ws(' ', oid, xmin) from pg_policy
      union all select 'defaults ' || concat_ws(' ', oid, xmin) from pg_default_acl
      union all select 'schema ' || concat_ws(' ', oid, nspname, nspowner, nspacl) from pg_namespace
        where nspname not like 'pg\_%'
      union all select 'type ' || oid from pg_type where oid >= 16384
      union all select 'extension ' || extname from pg_extension
      union all select 'comment ' || concat_ws(' ', objoid, objsubid, description) from pg_description where objoid >= 16384
      union all select 'database ' || concat_ws(' ', datdba, datconnlimit, datacl) from pg_database
        where datname = current_database()
      union all select 'setting ' || concat_ws(' ', setdatabase, setrole, setconfig) from pg_db_role_setting
        where setdatabase = 0 or setdatabase = (select oid from pg_database where datname = current_database())
      union all select 'migration ' || m from (select m::text from gmsi.kysely_migration m) as done
    ) as parts`.execute(db);
  return rows[0]!.state;
}
