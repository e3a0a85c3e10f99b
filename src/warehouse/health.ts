import { type Kysely, sql } from 'kysely';
import type { Database } from './database.ts';

/** Returns the time by the database's clock, in milliseconds: a time to store, not one that is stored. */
export async function databaseTime(db: Kysely<Database>): Promise<Date> {
  const { rows } = await sql<{ ms: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return new Date(rows[0]!.ms);
}

/** Returns how many seconds this machine's clock is ahead of the warehouse's, corrected by half of the round trip. */
export async function clockDifference(db: Kysely<Database>): Promise<number> {
  const sentAt = Date.now();
  const now = await databaseTime(db);
  return ((sentAt + Date.now()) / 2 - now.getTime()) / 1000;
}

/** Returns true if the server or the session takes no writes. */
export async function isReadOnly(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select current_setting('transaction_read_only')::boolean as yes`.execute(db);
  return rows[0]!.yes;
}

/** Returns the privileges that a loading user lacks; none before the schema exists, when creating it is enough. */
export async function missingPrivileges(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ missing: string }>`
    select 'CREATE on the database' as missing
    where to_regnamespace('gmsi') is null and not has_database_privilege(current_database(), 'CREATE')
    union all
    select 'USAGE on schema gmsi'
    from pg_namespace where nspname = 'gmsi' and not has_schema_privilege(oid, 'USAGE')
    union all
    select format('DELETE on gmsi.%I', relname)
    from pg_class
    where relnamespace = to_regnamespace('gmsi')
      and relname in ('queue', 'readings', 'drain_sightings', 'live_sightings', 'rejected_records', 'processes',
                      'hourly_sums', 'daily_sums')
      and not has_table_privilege(oid, 'DELETE')
    union all
    select format('EXECUTE on gmsi.%I', proname)
    from pg_proc
    where pronamespace = to_regnamespace('gmsi') and proname in ('ensure_month_partition', 'roll_up', 'wait_for_turn')
      and not has_function_privilege(oid, 'EXECUTE')
    union all
    select format('%s on gmsi.%I', privilege, relname)
    from pg_class
    cross join unnest(array['SELECT', 'INSERT', 'UPDATE']) as privilege
    where relnamespace = to_regnamespace('gmsi') and relkind in ('r', 'p') and not relispartition
      and relname !~ '^(kysely_|warehouse_moves$)' and not has_table_privilege(oid, privilege)
    order by 1
  `.execute(db);
  return rows.map(({ missing }) => missing);
}

/** Returns the logins of readers whose queries the server compiles by default (JIT); names are quoted for SQL. */
export async function compiledLogins(db: Kysely<Database>): Promise<string[]> {
  return db.transaction().execute(async (trx) => {
    // pg_jit_available() is false in a session that has it off, as those of the program do.
    await sql`set local jit = on`.execute(trx);
    const { rows } = await sql<{ name: string }>`
      select quote_ident(rolname) as name
      from pg_roles r
      join pg_database d on datname = current_database()
      join pg_namespace on nspname = 'gmsi'
      join pg_settings s on s.name = 'jit' and reset_val = 'on' and pg_jit_available()
      where rolcanlogin and not rolsuper and pg_has_role(r.oid, to_regrole('gmsi_reader'), 'USAGE')
        and not pg_has_role(r.oid, nspowner, 'USAGE')
        and not exists (select from pg_db_role_setting, unnest(setconfig) as one
                        where setdatabase in (d.oid, 0) and setrole in (r.oid, 0) and one ~* '^jit=(off|false|no|0)$')
      order by 1`.execute(trx);
    return rows.map(({ name }) => name);
  });
}

/**
 * Writes 4 MB into a table that is gone at the end.
 * @returns false if the user may not create temporary tables
 * @throws WarehouseFull
 */
export async function tryWriting(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select has_database_privilege(current_database(), 'TEMP') as yes`.execute(db);
  if (!rows[0]!.yes) return false;
  await db.transaction().execute((trx) =>
    sql`create temp table gmsi_space on commit drop as
        select repeat('x', 1000) as filling from generate_series(1, 4000)`.execute(trx),
  );
  return true;
}

/** Returns what the current user may do in the database; names are quoted for SQL. */
export async function readStanding(db: Kysely<Database>) {
  const { rows } = await sql<{
    readonly user: string;
    readonly database: string;
    /** The owner of the schema; `null` if there is none. */
    readonly owner: string | null;
    /** Whether the user acts as the owner, or may create the schema if there is none. */
    readonly may_migrate: boolean;
    readonly may_read: boolean;
    readonly is_superuser: boolean;
    readonly is_standby: boolean;
    readonly loader_role: 'missing' | 'not granted' | 'granted';
  }>`
    select quote_ident(current_user) as user, quote_ident(current_database()) as database,
           quote_ident(pg_get_userbyid(schema.nspowner)) as owner,
           case when schema.oid is null then has_database_privilege(current_database(), 'CREATE')
                else pg_has_role(schema.nspowner, 'USAGE') end as may_migrate,
           coalesce(has_schema_privilege(schema.oid, 'USAGE'), true)
             and coalesce(has_table_privilege(migrations.oid, 'SELECT'), true) as may_read,
           (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
           pg_is_in_recovery() as is_standby,
           case when loader.oid is null then 'missing'
                when pg_has_role(loader.oid, 'USAGE') then 'granted' else 'not granted' end as loader_role
    from (values (1)) as one
    left join pg_namespace as schema on nspname = 'gmsi'
    left join pg_class as migrations on relnamespace = schema.oid and relname = 'kysely_migration'
    left join pg_roles as loader on rolname = 'gmsi_loader'
  `.execute(db);
  return rows[0]!;
}

/** Returns which roles of analysts and loaders are missing on the server, because the user who migrated may not create roles. */
export async function missingRoles(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(array['gmsi_reader', 'gmsi_loader']) as name where to_regrole(name) is null`.execute(
    db,
  );
  return rows.map(({ name }) => name);
}
