import { sql, type Transaction } from 'kysely';
import type { PageCounts, Position } from '../commit.ts';
import type { Database, Day } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { isWatched, sameSeries, seriesColumns } from './series.ts';

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
  /** First day that does not count as covered; ignored if the window has an earlier one. */
  readonly firstUnsettled: Day | undefined;
  /** True if the window ends with this page. */
  readonly isDrained: boolean;
}

/**
 * Moves a window's checkpoint past the page of this transaction. If it ends with this page, the window is drained, its settled
 * days are covered, and the others watched.
 * @param nextToken cursor of the next page, `null` with the last one
 * @throws ClaimLost if the window is no longer this load's, or not at this position: the page must be dropped
 */
export async function advanceCheckpoint(
  trx: Transaction<Database>,
  at: Checkpoint,
  nextToken: string | null,
  counts: PageCounts,
  { rowsMet, firstUnsettled, isDrained }: PageProgress,
): Promise<void> {
  const moved = Object.entries(counts).map(
    ([name, many]) => sql`${sql.ref(name)} = ${sql.ref(name)} + ${many}`,
  );
  // Not the beginning of the transaction: rows that others wrote while it waited are older than the page.
  const drained = sql`, state = 'drained', finished_at = clock_timestamp(), last_error = null`;
  const advanced = sql`
    update gmsi.windows
    set next_token = ${nextToken}, refused_with = null, pages = pages + 1, ${sql.join(moved)},
        rows_met = ${rowsMet && [...rowsMet]}::integer[],
        first_unsettled = least(first_unsettled, ${firstUnsettled ?? null}::date) ${isDrained ? drained : sql``}
    where window_id = ${at.windowId} and state = 'draining' and load_id = ${at.loadId}
      and pages = ${at.pages} and next_token is not distinct from ${at.nextToken}`;
  const covered = sql`, covered as (
      insert into gmsi.coverage as kept (${seriesColumns}, days) select ${seriesColumns}, datemultirange(settled) from advanced
      on conflict (${seriesColumns}) do update set days = kept.days + excluded.days,
        updated_at = case when isempty(excluded.days) then kept.updated_at else now() end
    ), watched as (
      insert into gmsi.watched as kept (${seriesColumns}, day, watched_from)
      select ${seriesColumns}, each.day::date,
             case when each.day + interval '1 day' <= drain_started_at at time zone 'UTC'
               then case when ${isWatched('advanced')} then clock_timestamp() else '-infinity' end end
      from advanced
      cross join lateral generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as each (day)
      -- Other days were settled when they were first loaded. A watched day may be settled when it is first loaded after its end.
      where each.day >= first_unsettled
          and not exists (select from gmsi.coverage c where ${sameSeries('c', 'advanced')} and c.days @> each.day::date)
        or exists (select from gmsi.watched w where ${sameSeries('w', 'advanced')} and w.day = each.day::date)
      on conflict (${seriesColumns}, day) do update set watched_from = excluded.watched_from where kept.watched_from is null
    )`;
  const { rows } = await sql`
    with advanced as (
      ${advanced} returning ${seriesColumns}, days, days * daterange(null, first_unsettled) as settled,
        first_day, last_day, first_unsettled, drain_started_at, load_id
    )${isDrained ? covered : sql``}
    select from advanced
  `.execute(trx);
  if (rows.length === 0) throw new ClaimLost(`Another load has taken over window ${at.windowId}.`);
}

/** Returns the position of a window once this load has committed the page after `at`. */
export function windowAfter({ windowId, loadId, pages }: Checkpoint, nextToken: string | null): Position {
  return {
    row: sql`gmsi.windows where window_id = ${windowId}`,
    isPast: sql`load_id = ${loadId} and pages = ${pages + 1} and next_token is not distinct from ${nextToken}`,
  };
}
