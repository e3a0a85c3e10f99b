import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database, Day, LoadOutcome } from '../database.ts';
import { seriesColumns } from './series.ts';
import { releaseWindows } from './windows.ts';

/** The position of a claimed window; a page is committed only if it follows exactly this position. */
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
  /** Rows that the service no longer returns. */
  readonly retracted: number;
  readonly rejected: number;
}

/** What a page adds to its window. */
export interface PageProgress extends PageCounts {
  /** Distinct rows of the drain so far on each day of the window, with this page; `null` if it is not known. */
  readonly rowsMet: readonly number[] | null;
  /** From this day on no day counts as covered; ignored if the window has an earlier one. */
  readonly settledBefore: Day | undefined;
}

/**
 * Moves a window's checkpoint past the page of this transaction; with the last page the window is drained.
 * @param nextToken cursor of the next page, `null` with the last one
 * @returns false if the window is no longer this load's, or not at this position: the page must be dropped
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
            // Not the transaction's beginning: a row that others wrote while this transaction waited for it is older than
            // the page.
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
 * True if the page after `at` is in the warehouse, committed by this load: for a connection that broke between the commit
 * and its reply.
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
  load: { command: string; job: string; feed: string; run_by: string; windows_planned?: number | null },
): Promise<number> {
  const { load_id } = await db
    .insertInto('loads')
    .values(load)
    .returning('load_id')
    .executeTakeFirstOrThrow();
  return load_id;
}

/** A heartbeat: keeps this load's windows claimed, and its totals current. */
export async function beat(db: Kysely<Database>, loadId: number, totals: LoadTotals): Promise<void> {
  await db
    .updateTable('loads')
    .set({ ...totals, heartbeat_at: sql<Date>`now()` })
    .where('load_id', '=', loadId)
    .execute();
}

/** Ends a load: stores its final totals, and gives back windows that it still holds. */
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
