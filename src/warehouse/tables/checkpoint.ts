import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database, Day, LoadOutcome } from '../database.ts';
import { seriesColumns } from './series.ts';
import { releaseWindows } from './windows.ts';

/** What a window's claim says of how far it is; a page is only committed on top of exactly this. */
export interface Checkpoint {
  readonly windowId: number;
  readonly loadId: number;
  readonly pages: number;
  readonly nextToken: string | null;
}

export interface PageCounts {
  readonly records: number;
  readonly inserted: number;
  readonly changed: number;
  /** Rows that the service was found not to return any more. */
  readonly retracted: number;
  readonly rejected: number;
}

/** What a page adds to its window. */
export interface PageProgress extends PageCounts {
  /** Distinct rows that the drain has met on each day of the window, this page's included; `null` if it is not known. */
  readonly rowsMet: readonly number[] | null;
  /** From this day on none counts as covered; a later one than the window has already changes nothing. */
  readonly settledBefore: Day | undefined;
}

/**
 * Moves a window's checkpoint past the page that this transaction holds; with the last page the window is drained.
 * @param nextToken cursor of the next page, `null` with the last one
 * @returns false if the window is no longer this load's, or not if this load left it: the page must be given up
 */
export async function advanceCheckpoint(
  trx: Transaction<Database>,
  at: Checkpoint,
  nextToken: string | null,
  counts: PageProgress,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('windows')
    .set((eb) => ({
      next_token: nextToken,
      refused_with: null,
      pages: eb('pages', '+', 1),
      records: eb('records', '+', counts.records),
      rows_inserted: eb('rows_inserted', '+', counts.inserted),
      rows_changed: eb('rows_changed', '+', counts.changed),
      rows_retracted: eb('rows_retracted', '+', counts.retracted),
      records_rejected: eb('records_rejected', '+', counts.rejected),
      rows_met: sql<number[] | null>`${counts.rowsMet && [...counts.rowsMet]}::integer[]`,
      ...(counts.settledBefore === undefined
        ? {}
        : { settled_before: sql<Day>`least(settled_before, ${counts.settledBefore}::date)` }),
      ...(nextToken === null
        ? {
            state: 'drained' as const,
            // Not the transaction's beginning: a row that somebody else wrote while this waited for it was there before this.
            finished_at: sql<Date>`clock_timestamp()`,
            last_error: null,
          }
        : {}),
    }))
    .where('window_id', '=', at.windowId)
    .where('state', '=', 'draining')
    .where('load_id', '=', at.loadId)
    .where('pages', '=', at.pages)
    .where('next_token', 'is not distinct from', at.nextToken)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Counts the settled days of a drained window as covered. */
export async function addCoverage(trx: Transaction<Database>, windowId: number): Promise<void> {
  await sql`
    insert into gmsi.coverage as kept (${seriesColumns}, days)
    select ${seriesColumns}, datemultirange(days * daterange(null, settled_before))
    from gmsi.windows
    where window_id = ${windowId} and not isempty(days * daterange(null, settled_before))
    on conflict (${seriesColumns})
    do update set days = kept.days + excluded.days, updated_at = now()
  `.execute(trx);
}

/**
 * True if the page after `at` is in the warehouse, committed by this load: asked after a connection broke between
 * the commit and its reply.
 */
export async function isCommitted(
  trx: Transaction<Database>,
  at: Checkpoint,
  nextToken: string | null,
): Promise<boolean> {
  const row = await trx
    .selectFrom('windows')
    .select('window_id')
    .where('window_id', '=', at.windowId)
    .where('load_id', '=', at.loadId)
    .where('pages', '=', at.pages + 1)
    .where('next_token', 'is not distinct from', nextToken)
    .executeTakeFirst();
  return row !== undefined;
}

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
