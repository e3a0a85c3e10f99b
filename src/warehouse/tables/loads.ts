import { randomUUID } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { noCounts, type PageCounts, type Position } from '../commit.ts';
import type { Database, LoadOutcome } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { leaveWindows } from './windows.ts';

/** The totals of a load so far. */
export type LoadTotals = Record<
  'requests' | 'windows_drained' | 'windows_failed' | 'pages' | keyof PageCounts,
  number
>;

export const noTotals: Readonly<LoadTotals> = {
  requests: 0,
  windows_drained: 0,
  windows_failed: 0,
  pages: 0,
  ...noCounts,
};

/** Adds a committed page, live answer or batch to the totals. */
export function addPage(totals: LoadTotals, counts: PageCounts): void {
  totals.pages++;
  for (const name of Object.keys(noCounts) as (keyof PageCounts)[]) totals[name] += counts[name];
}

/** A load of a process. A warehouse that went back in time may give its number to the load of another one. */
export interface OwnLoad {
  readonly loadId: number;
  readonly processId: string;
}

/** Registers a load. A repetition after a lost reply finds the same load, and registers no second one. */
export async function startLoad(
  db: Kysely<Database>,
  { processId, runBy }: { readonly processId: string; readonly runBy: string },
  load: { command: string; job: string; feed: string; reason?: string | null; windows_planned?: number },
): Promise<OwnLoad> {
  const { load_id } = await db
    .insertInto('gmsi.loads')
    .values({ ...load, run_by: runBy, process_id: processId, idempotency_key: randomUUID() })
    .onConflict((own) =>
      own
        .column('idempotency_key')
        .doUpdateSet((eb) => ({ idempotency_key: eb.ref('excluded.idempotency_key') })),
    )
    .returning('load_id')
    .executeTakeFirstOrThrow();
  return { loadId: load_id, processId };
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
  { loadId, processId }: OwnLoad,
  totals: LoadTotals,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('gmsi.loads')
    .set({ ...totals, updated_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .where('process_id', '=', processId)
    .where('pages', '=', totals.pages - 1)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new ClaimLost('The warehouse does not list what this load has committed.');
}

/** Returns the position of a load that counts its pages as it commits them. */
export function loadAfter({ loadId, processId }: OwnLoad, pages: number): Position {
  return {
    row: sql`gmsi.loads where load_id = ${loadId} and process_id = ${processId}`,
    isPast: sql`pages = ${pages}`,
  };
}

/** Returns true if the warehouse lists a load as the one of a process; if `pages` is given, with so many committed pages. */
export async function isListed(
  db: Kysely<Database>,
  { loadId, processId }: OwnLoad,
  pages?: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from gmsi.loads
    where load_id = ${loadId} and process_id = ${processId} and pages = coalesce(${pages ?? null}::bigint, pages)
  `.execute(db);
  return rows.length > 0;
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
