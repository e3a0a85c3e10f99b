import { sql } from 'kysely';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/** The columns with the time at which something came. */
const cameAt = {
  headlines: ['first_seen_at', 'changed_at', 'retracted_at'],
  headline_revisions: ['known_to'],
  readings: ['completed_at'],
  series_days: ['watch_here'],
};

/**
 * Stamps what a load has written since `begunAt`, by the database's clock, as if it had been written at another instant: a past.
 * The times at which it was asked move by as much as `begunAt` does, so their order stays.
 */
export async function stampAs(db: Warehouse, instant: string, begunAt: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    const stamp = async (table: string, column: string, as = sql`${instant}::timestamptz`) => {
      const [name, time] = [sql.table(`gmsi.${table}`), sql.ref(column)];
      await sql`update ${name} set ${time} = ${as} where ${time} >= ${begunAt}::timestamptz`.execute(trx);
    };
    for (const [table, columns] of Object.entries(cameAt))
      for (const column of columns) await stamp(table, column);
    for (const table of ['headlines', 'queue', 'readings'])
      await stamp(table, 'asked_at', sql`${instant}::timestamptz + (asked_at - ${begunAt}::timestamptz)`);
  });
}

/** Runs a load as if at another instant. @returns what the load does */
export async function loadAs<Result>(
  db: Warehouse,
  instant: string,
  load: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db);
  const result = await load();
  await stampAs(db, instant, rows[0]!.at);
  return result;
}
