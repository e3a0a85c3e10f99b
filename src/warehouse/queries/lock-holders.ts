import { type Kysely, sql } from 'kysely';
import type { Database } from '../tables/database.ts';

/**
 * The sessions that have held locks in the schema `gmsi` for longest, as a person would look for them; nobody but
 * PostgreSQL knows which of them another session has waited for.
 */
export async function lockHolders(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ holder: string }>`
    select concat_ws(' ', 'process', a.pid, '(' || nullif(a.application_name, '') || ')',
                     'for ' || round(extract(epoch from clock_timestamp() - a.xact_start)) || ' s') as holder
    from pg_stat_activity a
    where a.pid <> pg_backend_pid() and exists (
      select from pg_locks l left join pg_class c on c.oid = l.relation
      where l.pid = a.pid and l.granted and l.database = (select oid from pg_database where datname = current_database())
        and ((c.relnamespace = 'gmsi'::regnamespace and l.mode <> 'AccessShareLock') or l.locktype = 'advisory'))
    order by a.xact_start nulls last limit 1
  `.execute(db);
  return rows.map(({ holder }) => holder);
}
