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
  const { command, job, feed, reason = null, windows_planned = null } = load;
  const { rows } = await sql<{ load_id: number }>`
    insert into gmsi.loads (command, job, feed, reason, windows_planned, run_by, process_id, idempotency_key)
    values (${command}, ${job}, ${feed}, ${reason}, ${windows_planned}, ${runBy}, ${processId}, ${randomUUID()})
    on conflict (idempotency_key) do update set idempotency_key = excluded.idempotency_key
    returning load_id
  `.execute(db);
  return { loadId: rows[0]!.load_id, processId };
}

/**
 * Stores the totals of a load so far, and more.
 * @returns false if the warehouse does not list the load as the one of the process
 */
export async function storeTotals(
  db: Kysely<Database>,
  { loadId, processId }: OwnLoad,
  totals: LoadTotals,
  { set = sql``, where = sql`` } = {},
): Promise<boolean> {
  const values = Object.entries(totals).map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
  const { numAffectedRows } = await sql`
    update gmsi.loads set ${sql.join(values)}, updated_at = now() ${set}
    where load_id = ${loadId} and process_id = ${processId} ${where}
  `.execute(db);
  return numAffectedRows! > 0n;
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
  if (!(await storeTotals(trx, load, totals, { where: sql`and pages = ${totals.pages - 1}` })))
    throw new ClaimLost('The warehouse does not list what this load has committed.');
}

/** Returns the position of a load that counts its pages as it commits them. */
export function loadAfter({ loadId, processId }: OwnLoad, pages: number): Position {
  const row = sql`gmsi.loads where load_id = ${loadId} and process_id = ${processId}`;
  return { row, isPast: sql`exists (select from ${row} and pages = ${pages})` };
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
  load: OwnLoad,
  outcome: LoadOutcome,
  totals: LoadTotals,
  error: string | null,
): Promise<void> {
  const set = sql`, outcome = ${outcome}, error = ${error}, finished_at = now()`;
  if (await storeTotals(db, load, totals, { set })) await leaveWindows(db, load.loadId);
}

/** The `reason` of loads of workers that load again what was loaded longest ago. */
export const refreshReason = 'refresh';

/**
 * Returns the requests that the refreshes of a job have sent in the present month (UTC), by the database's clock, as loads are
 * stored.
 */
export async function requestsOfRefreshes(db: Kysely<Database>, job: string): Promise<number> {
  const { rows } = await sql<{ requests: number }>`
    select coalesce(sum(requests), 0)::bigint as requests from gmsi.loads
    where job = ${job} and reason = ${refreshReason}
      and date_trunc('month', started_at, 'UTC') = date_trunc('month', now(), 'UTC')`.execute(db);
  return rows[0]!.requests;
}
