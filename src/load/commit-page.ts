import { commitRecords, type PageCounts, type Place, type ReadRecords } from '../warehouse/commit.ts';
import type { Day } from '../warehouse/database.ts';
import { notePoll } from '../warehouse/tables/cadence.ts';
import { advanceCheckpoint, type Checkpoint, windowAfter } from '../warehouse/tables/checkpoint.ts';
import { takeBackRefusals } from '../warehouse/tables/refusals.ts';
import {
  balanceRetractions,
  liveAfter,
  noteLiveSightings,
  noteSightings,
  retractMoved,
  retractUnseen,
} from '../warehouse/tables/retract.ts';
import { everyDay, type Provenance } from '../warehouse/tables/rows.ts';
import type { ClaimedWindow } from '../warehouse/tables/windows.ts';
import type { WriteTransaction } from '../warehouse/write-transaction.ts';
import type { Load } from './load.ts';

type LoadOfPages = Pick<Load, 'warehouse' | 'feed' | 'partitions' | 'acceptRetractions'> & {
  readonly job: { readonly name: string };
};

/** What is the same for all pages of a drain; decided when it begins or is resumed. */
export interface DrainRules {
  readonly window: Pick<ClaimedWindow, 'first_day' | 'last_day'>;
  /** True if the drain retracts rows that the service no longer returns. */
  readonly isCompared: boolean;
  /** True if the windows beside this one may return rows of its first and last day, at the same time. */
  readonly sharesEdges: boolean;
  /** True if its window includes the current day. */
  readonly reachesToday: boolean;
  /** True if its rows count as news for the cadence of the series. */
  readonly countsAsNews: boolean;
}

/** A page of a drain, as read. */
export interface DrainedPage extends ReadRecords {
  /** The checkpoint that the window must have; otherwise this page is not its next one. */
  readonly at: Checkpoint;
  /** Cursor of the page after this one; `null` if this is the last. */
  readonly nextToken: string | null;
  /** Distinct rows of the drain on each day of its window, up to and including this page; `null` if they are not counted. */
  readonly rowsMet: readonly number[] | null;
}

export interface PageToCommit extends DrainedPage, Pick<Provenance, 'witnessed' | 'witnessedFrom'> {
  /** True for the last page, unless too many records of the drain were rejected: then its days are not covered. */
  readonly isDrained: boolean;
  /** This day and later ones do not count as covered; `undefined` if the drain was resumed: it keeps its day. */
  readonly firstUnsettled: Day | undefined;
  /** The time of the pipeline's clock. */
  readonly now: Date;
}

/**
 * Commits a page: its rows, the revisions of changed ones, rejected records, the window's checkpoint and counters and, with the
 * last page, the coverage and the retractions.
 * @throws ClaimLost if another load has the window; TooManyRetractions; as `commitRecords`
 */
export function commitPage(load: LoadOfPages, rules: DrainRules, page: PageToCommit): Promise<PageCounts> {
  const { series, at, nextToken, witnessed, witnessedFrom, rowsMet, firstUnsettled, isDrained, now } = page;
  const { loadId, windowId } = at;
  const place: Place = {
    from: { loadId, windowId, witnessed, witnessedFrom },
    // A window that is not compared had no rows when its drain began.
    areLikelyNew: !rules.isCompared && !(rules.sharesEdges && hasRowsOfEdges(rules, page)),
    async advance(trx, written) {
      const rows_retracted = rules.isCompared ? await compare(trx, load, page, written) : 0;
      const counts = { ...written, rows_retracted };
      if (at.pages === 0) await takeBackRefusals(trx, windowId);
      await advanceCheckpoint(trx, at, nextToken, counts, { rowsMet, firstUnsettled, isDrained });
      if (rules.countsAsNews) {
        const isPoll = isDrained && rules.reachesToday;
        await notePoll(trx, { series, loadId, at: now, isPoll, hasNews: hasNews(written) });
      }
      return counts;
    },
    position: windowAfter(at, nextToken),
  };
  return commitRecords(load.warehouse, load.feed.table, [page], place, load.partitions);
}

/** True if the page has a row of a day that the windows beside this one may request, too. */
function hasRowsOfEdges({ window: { first_day, last_day } }: DrainRules, { rows }: PageToCommit): boolean {
  if (rows.length === 0) return false;
  const dayAt = (row: number) => new Date(rows.times.at(row)! / 1000).toISOString().slice(0, 10);
  return dayAt(0) <= first_day || dayAt(-1) > last_day;
}

const hasNews = ({ rows_inserted, rows_changed }: PageCounts) => rows_inserted + rows_changed > 0;

/**
 * Notes the rows of a page, retracts those that it has with another publication time and, with the last page, the window's rows
 * that no page had.
 */
async function compare(
  trx: WriteTransaction,
  { feed, job, acceptRetractions: acceptAll }: LoadOfPages,
  page: PageToCommit,
  written: PageCounts,
): Promise<number> {
  const { series, rows, at, now } = page;
  const { windowId, loadId, pages } = at;
  await noteSightings(trx, rows, { windowId, page: pages });
  // A headline that has moved was sent, so an outage cannot explain it.
  const moved = hasNews(written) ? await retractMoved(trx, feed, series, rows, at) : 0;
  if (page.nextToken !== null) return moved;
  const rejected = page.rejectedCount;
  const retracted = await retractUnseen(trx, feed, series, { windowId, loadId, rejected, now, acceptAll });
  await balanceRetractions(trx, job.name, { series, windowId, retracted, sent: rows.length, acceptAll });
  return moved + retracted;
}

/**
 * Commits a live answer. Its rows belong to no window, so there is neither a checkpoint nor coverage; they are loaded as they
 * appear, so none counts as backfilled.
 * @param at when it was requested
 */
export async function commitLive(
  { warehouse, feed, loadId, partitions }: Load,
  live: ReadRecords,
  at: Date,
): Promise<PageCounts> {
  const { series, rows } = live;
  await noteLiveSightings(warehouse, feed, series, rows, at);
  const place: Place = {
    from: { loadId, windowId: null, witnessed: everyDay },
    areLikelyNew: false,
    async advance(trx, counts) {
      await notePoll(trx, { series, loadId, at, isPoll: false, hasNews: hasNews(counts) });
      if (!hasNews(counts)) return counts;
      const rows_retracted = await retractMoved(trx, feed, series, rows, { loadId, windowId: null });
      return { ...counts, rows_retracted };
    },
    position: liveAfter(feed.table, series, { rows, loadId }),
  };
  return commitRecords(warehouse, feed.table, [live], place, partitions);
}
