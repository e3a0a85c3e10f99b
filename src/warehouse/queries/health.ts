import { type Kysely, sql } from 'kysely';
import type { Database } from '../tables/database.ts';

/** How many seconds this machine's clock is ahead of the warehouse's, less half of the way there and back. */
export async function clockDifference(db: Kysely<Database>): Promise<number> {
  const sentAt = Date.now();
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return ((sentAt + Date.now()) / 2 - rows[0]!.now.getTime()) / 1000;
}

/** What a loading user needs and does not have; none before the schema is there, where creating it is what is needed. */
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
      and relname in ('windows', 'drain_sightings', 'live_sightings', 'rejected_records', 'workers',
                      'sentiment_hourly', 'sentiment_daily')
      and not has_table_privilege(oid, 'DELETE')
    union all
    select format('EXECUTE on gmsi.%I', proname)
    from pg_proc
    where pronamespace = to_regnamespace('gmsi') and proname in ('ensure_month_partition', 'roll_up')
      and not has_function_privilege(oid, 'EXECUTE')
    union all
    select format('%s on gmsi.%I', privilege, relname)
    from pg_class
    cross join unnest(array['SELECT', 'INSERT', 'UPDATE']) as privilege
    where relnamespace = to_regnamespace('gmsi') and relkind in ('r', 'p') and not relispartition
      and relname !~ '^kysely_' and not has_table_privilege(oid, privilege)
    order by 1
  `.execute(db);
  return rows.map(({ missing }) => missing);
}

/** The roles of analysts and loaders, as docs/operating.md describes them. */
const roles = ['gmsi_reader', 'gmsi_loader'];

/** Those of the two roles that the server does not have: the user who migrated may not create roles. */
export async function missingRoles(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${roles}::text[]) as name where to_regrole(name) is null`.execute(db);
  return rows.map(({ name }) => name);
}

/** Grants the roles that are there what they need. Only the owner of the schema may. */
export async function grantRoles(db: Kysely<Database>): Promise<void> {
  await sql`select gmsi.grant_roles()`.execute(db);
}
