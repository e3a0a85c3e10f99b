import { randomUUID } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database, LoadOutcome } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { leaveWindows } from './windows.ts';

/** The totals of a load so far. */
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
  records_outside: number;
}

export const noTotals: Readonly<LoadTotals> = {
  requests: 0,
  windows_drained: 0,
  windows_failed: 0,
  pages: 0,
  records: 0,
  rows_inserted: 0,
  rows_changed: 0,
  rows_retracted: 0,
  records_rejected: 0,
  records_outside: 0,
};

/** Registers a load. A repetition after a lost reply finds the same load, and registers no second one. */
export async function startLoad(
  db: Kysely<Database>,
  load: {
    command: string;
    job: string;
    feed: string;
    reason?: string | null;
    run_by: string;
    process_id: string;
    windows_planned?: number | null;
  },
): Promise<number> {
  const { load_id } = await db
    .insertInto('gmsi.loads')
    .values({ ...load, idempotency_key: randomUUID() })
    .onConflict((own) =>
      own
        .column('idempotency_key')
        .doUpdateSet((eb) => ({ idempotency_key: eb.ref('excluded.idempotency_key') })),
    )
    .returning('load_id')
    .executeTakeFirstOrThrow();
  return load_id;
}

/** A load of a process. A warehouse that went back in time may give its number to the load of another one. */
export interface OwnLoad {
  readonly loadId: number;
  readonly processId: string;
}

/** Stores the totals of a load so far. */
export async function storeTotals(
  db: Kysely<Database>,
  { loadId, processId }: OwnLoad,
  totals: LoadTotals,
): Promise<void> {
  await db
    .updateTable('gmsi.loads')
    .set({ ...totals, updated_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .where('process_id', '=', processId)
    .execute();
}

/**
 * Stores the totals of a load with one more page, in the transaction of that page.
 * @throws ClaimLost if the warehouse does not list the load with the pages before
 */
export async function advanceLoad(
  trx: Transaction<Database>,
  load: OwnLoad,
  totals: LoadTotals,
): Promise<void> {
  if (!(await hasCommitted(trx, load, totals.pages - 1)))
    throw new ClaimLost('The warehouse does not list what this load has committed.');
  await storeTotals(trx, load, totals);
}

/** Returns true if the warehouse lists a load as the one of a process. */
export async function isListed(db: Kysely<Database>, { loadId, processId }: OwnLoad): Promise<boolean> {
  const load = db
    .selectFrom('gmsi.loads')
    .select('load_id')
    .where('load_id', '=', loadId)
    .where('process_id', '=', processId);
  return (await load.executeTakeFirst()) !== undefined;
}

/** Returns true if a load has stored so many committed pages. Locks the load. */
export async function hasCommitted(
  db: Kysely<Database>,
  { loadId, processId }: OwnLoad,
  pages: number,
): Promise<boolean> {
  const load = db.selectFrom('gmsi.loads').select('pages').where('load_id', '=', loadId);
  return (await load.where('process_id', '=', processId).forUpdate().executeTakeFirst())?.pages === pages;
}

/** Ends a load: stores its final totals, and leaves its windows. */
export async function finishLoad(
  db: Kysely<Database>,
  { loadId, processId }: OwnLoad,
  outcome: LoadOutcome,
  totals: LoadTotals,
  error: string | null,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('gmsi.loads')
    .set({ ...totals, outcome, error, updated_at: sql<Date>`now()`, finished_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .where('process_id', '=', processId)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) await leaveWindows(db, loadId);
}

/** The `reason` of loads of workers that load again what was loaded longest ago. */
export const refreshReason = 'refresh';

/** Returns the requests that the refreshes of a job have sent in the present month (UTC), by the database's clock, as loads are stored. */
export async function requestsOfRefreshes(db: Kysely<Database>, job: string): Promise<number> {
  const { rows } = await sql<{ requests: number }>`
    select coalesce(sum(requests), 0)::bigint as requests from gmsi.loads
    where job = ${job} and reason = ${refreshReason}
      and date_trunc('month', started_at, 'UTC') = date_trunc('month', now(), 'UTC')`.execute(db);
  return rows[0]!.requests;
}
