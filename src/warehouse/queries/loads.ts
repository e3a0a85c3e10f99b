import { type Kysely, sql } from 'kysely';
import type { Database, LoadOutcome } from '../tables/database.ts';
import { releaseWindows } from './claims.ts';

/** What a load has done so far. */
export interface LoadTotals {
  requests: number;
  windows_drained: number;
  windows_failed: number;
  pages: number;
  records: number;
  rows_inserted: number;
  rows_changed: number;
  rows_retracted: number;
  records_rejected: number;
}

export async function startLoad(
  db: Kysely<Database>,
  load: { command: string; job: string; feed: string; run_by: string },
): Promise<number> {
  const { load_id } = await db
    .insertInto('loads')
    .values(load)
    .returning('load_id')
    .executeTakeFirstOrThrow();
  return load_id;
}

/** A sign of life: keeps this load's windows its own, and its totals current. */
export async function beat(db: Kysely<Database>, loadId: number, totals: LoadTotals): Promise<void> {
  await db
    .updateTable('loads')
    .set({ ...totals, heartbeat_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .execute();
}

/** Ends a load: its totals are final, and windows that it still holds are given back. */
export async function finishLoad(
  db: Kysely<Database>,
  loadId: number,
  outcome: LoadOutcome,
  totals: LoadTotals,
  error: string | null,
): Promise<void> {
  await releaseWindows(db, loadId);
  await db
    .updateTable('loads')
    .set({ ...totals, outcome, error, heartbeat_at: sql<Date>`now()`, finished_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .execute();
}
