import type { Feed } from '../feeds/feed.ts';
import { commitRecords, type PageCounts, type Place, type ReadRecords } from '../warehouse/commit.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { notePoll } from '../warehouse/tables/cadence.ts';
import { advanceCheckpoint, type Checkpoint, isCommitted } from '../warehouse/tables/checkpoint.ts';
import { takeBackRefusals } from '../warehouse/tables/refusals.ts';
import { hasLiveRows, noteLiveSightings, noteSightings, retractUnseen } from '../warehouse/tables/retract.ts';
import type { KnownPartitions, Provenance } from '../warehouse/tables/rows.ts';
import type { WriteTransaction } from '../warehouse/write-transaction.ts';

export interface PageToCommit extends ReadRecords {
  readonly feed: Feed;
  readonly backfilledBefore: Provenance['backfilledBefore'];
  /** This day and later ones do not count as covered; `undefined` if the drain was resumed: it keeps its day. */
  readonly firstUnsettled: Day | undefined;
  /** Distinct rows of the drain on each day of its window, up to and including this page; `null` if they are not counted. */
  readonly rowsMet: readonly number[] | null;
  /** The checkpoint that the window must have; otherwise this page is not its next one. */
  readonly at: Checkpoint;
  /** True if the drain retracts rows that the service no longer returns. */
  readonly isCompared: boolean;
  /** True to allow the drain to retract most rows of the window's days. */
  readonly acceptRetractions: boolean;
  /** The load's earlier pages: records that were loaded already, and retracted rows. */
  readonly comparedBefore: { readonly met: number; readonly retracted: number };
  /** True if another window may load some of these rows at the same time. */
  readonly isShared: boolean;
  /** Cursor of the page after this one; `null` if this is the last. */
  readonly nextToken: string | null;
  /** True for the last page, unless too many records of the drain were rejected: then its days are not covered. */
  readonly isDrained: boolean;
  /** The time of the pipeline's clock. */
  readonly now: Date;
  /** True if its rows count as news for the cadence of the series. */
  readonly countsAsNews: boolean;
  /** True if its window includes the current day. */
  readonly reachesToday: boolean;
}

/**
 * Commits a page: its rows, the revisions of changed ones, rejected records, the window's checkpoint and counters and, with the
 * last page, the coverage and the retractions.
 * @throws ClaimLost if another load has the window; TooManyRetractions; as `commitRecords`
 */
export function commitPage(
  warehouse: Warehouse,
  page: PageToCommit,
  known: KnownPartitions,
): Promise<PageCounts> {
  return commitRecords(warehouse, page.feed.table, [page], windowOf(page), known);
}

function windowOf(page: PageToCommit): Place {
  const { series, at, nextToken, backfilledBefore, rowsMet, firstUnsettled, isDrained } = page;
  const { loadId, windowId } = at;
  return {
    of: { loadId, windowId, backfilledBefore },
    // A window that is not compared had no rows when its drain began.
    areLikelyNew: !page.isCompared && !page.isShared,
    async advance(trx, written) {
      const retracted = page.isCompared ? await compare(trx, page, written) : 0;
      const counts = { ...written, retracted };
      if (at.pages === 0) await takeBackRefusals(trx, windowId);
      await advanceCheckpoint(trx, at, nextToken, { ...counts, rowsMet, firstUnsettled, isDrained });
      if (page.countsAsNews) {
        const isPoll = isDrained && page.reachesToday;
        await notePoll(trx, { series, loadId, at: page.now, isPoll, hasNews: hasNews(written) });
      }
      return counts;
    },
    isPast: (trx) => isCommitted(trx, at, nextToken),
  };
}

const hasNews = ({ inserted, changed }: PageCounts) => inserted + changed > 0;

/** Notes the rows of a page and, with the last page, retracts the window's rows that no page had. */
async function compare(trx: WriteTransaction, page: PageToCommit, { inserted }: PageCounts): Promise<number> {
  const { feed, series, rows, at, comparedBefore } = page;
  const { windowId, loadId, pages } = at;
  await noteSightings(trx, rows, { windowId, page: pages });
  if (page.nextToken !== null) return 0;
  return retractUnseen(trx, feed, series, {
    windowId,
    loadId,
    rejected: page.rejectedCount,
    now: page.now,
    acceptAll: page.acceptRetractions,
    compared: { ...comparedBefore, met: comparedBefore.met + rows.length - inserted },
  });
}

/** A live answer. Its rows belong to no window, so there is neither a checkpoint nor coverage. */
export interface LiveToCommit extends ReadRecords {
  readonly feed: Feed;
  readonly loadId: number;
  readonly polledAt: Date;
}

/** Commits a live answer. Its rows are loaded as they appear, so they do not count as backfilled. */
export async function commitLive(
  warehouse: Warehouse,
  live: LiveToCommit,
  known: KnownPartitions,
): Promise<PageCounts> {
  const { feed, series, loadId, rows, polledAt: at } = live;
  await noteLiveSightings(warehouse, feed, series, rows, at);
  const place: Place = {
    of: { loadId, windowId: null, backfilledBefore: 'never' },
    areLikelyNew: false,
    async advance(trx, counts) {
      await notePoll(trx, { series, loadId, at, isPoll: false, hasNews: hasNews(counts) });
      return counts;
    },
    // A load reads one live answer of a series. Writing one again that had no news changes nothing.
    isPast: (trx) => hasLiveRows(trx, feed.table, series, { rows, loadId }),
  };
  return commitRecords(warehouse, feed.table, [live], place, known);
}
