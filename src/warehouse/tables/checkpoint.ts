import { sql, type Transaction } from 'kysely';
import type { PageCounts, Position } from '../commit.ts';
import type { Database } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { type AskedDays, ofWindow, recordReading } from './readings.ts';

/** The position of a claimed window. A page is committed only if it follows exactly this position. */
export interface Checkpoint {
  readonly windowId: number;
  readonly loadId: number;
  readonly pages: number;
  readonly nextToken: string | null;
}

/** The progress that a page adds to its window, beside what it counts. */
export interface PageProgress {
  /** Distinct rows of the drain so far on each day of the window, with this page; `null` if it is not known. */
  readonly rowsMet: readonly number[] | null;
  /** As the clocks show it now; the window keeps the earlier days. */
  readonly asked: AskedDays;
}

/** What a drain has compared, as its last page knows it. */
export interface Compared {
  /** Rows that its days had; 0 if it has compared none. */
  readonly held: number;
  /** Those of them that no page had. */
  readonly gone: number;
  /** True if the load accepts all retractions. */
  readonly isAccepted: boolean;
}

/**
 * Moves a window's checkpoint past the page of this transaction. If the window ends with this page, it leaves the queue and
 * becomes a reading.
 * @param nextToken cursor of the next page, `null` with the last one
 * @param compared set if the window ends with this page
 * @throws ClaimLost if the window is no longer this load's, or not at this position: the page must be dropped
 */
export async function advanceCheckpoint(
  trx: Transaction<Database>,
  at: Checkpoint,
  nextToken: string | null,
  counts: PageCounts,
  { rowsMet, asked }: PageProgress,
  compared: Compared | undefined,
): Promise<void> {
  const isAt = sql`window_id = ${at.windowId} and state = 'draining' and load_id = ${at.loadId}
      and pages = ${at.pages} and next_token is not distinct from ${at.nextToken}`;
  const added = Object.entries(counts).map(
    ([name, many]) => [name, sql`${sql.ref(name)} + ${many}::int`] as const,
  );
  const askedOn = sql`least(asked_on, ${asked.askedOn}::date)`;
  const settledBefore = sql`least(settled_before, ${asked.settledBefore}::date)`;
  const met = sql`${rowsMet && [...rowsMet]}::integer[]`;
  const statement = compared
    ? recordReading(
        sql`drained as (delete from gmsi.queue where ${isAt} returning *)`,
        {
          ...ofWindow,
          ...Object.fromEntries(added),
          asked_on: askedOn,
          settled_before: settledBefore,
          is_whole: sql`true`,
          is_accepted: sql`${compared.isAccepted}::boolean`,
          rows_held: sql`${compared.held}::int`,
          rows_gone: sql`${compared.gone}::int`,
          pages: sql`pages + 1`,
          rows_met: met,
        },
        sql`drained`,
      )
    : sql`
      update gmsi.queue
      set next_token = ${nextToken}, refused_with = null, pages = pages + 1, rows_met = ${met},
          asked_on = ${askedOn}, settled_before = ${settledBefore},
          ${sql.join(added.map(([name, value]) => sql`${sql.ref(name)} = ${value}`))}
      where ${isAt} returning window_id`;
  const { rows } = await statement.execute(trx);
  if (rows.length === 0) throw new ClaimLost(`Another load has taken over window ${at.windowId}.`);
}

/** Returns the position of a window once this load has committed the page after `at`. */
export function windowAfter(
  { windowId, loadId, pages }: Checkpoint,
  nextToken: string | null,
  isDrained: boolean,
): Position {
  const isIt = isDrained
    ? sql`gmsi.readings where reading_id = ${windowId} and load_id = ${loadId}`
    : sql`gmsi.queue where window_id = ${windowId} and load_id = ${loadId} and pages = ${pages + 1}
          and next_token is not distinct from ${nextToken}`;
  return { row: sql`gmsi.queue where window_id = ${windowId}`, isPast: sql`exists (select from ${isIt})` };
}
