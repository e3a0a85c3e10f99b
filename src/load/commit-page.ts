import type { Feed, Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import { notePoll } from '../warehouse/tables/cadence.ts';
import {
  advanceCheckpoint,
  type Checkpoint,
  isCommitted,
  type PageCounts,
} from '../warehouse/tables/checkpoint.ts';
import { takeBackRefusals } from '../warehouse/tables/refusals.ts';
import { keepRejected } from '../warehouse/tables/rejected-records.ts';
import { noteLiveSightings, noteSightings, retractUnseen } from '../warehouse/tables/retract.ts';
import {
  ensurePartitions,
  type KnownPartitions,
  type Provenance,
  type Upserted,
  upsertRows,
} from '../warehouse/tables/rows.ts';
import { type WriteTransaction, writeTransaction } from '../warehouse/write-transaction.ts';
import type { ReadPage } from './read-page.ts';

export interface PageToCommit extends ReadPage {
  readonly feed: Feed;
  readonly series: Series;
  readonly backfilledBefore: Provenance['backfilledBefore'];
  /** How many records the page had, readable or not. */
  readonly records: number;
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
 * Commits a page in one transaction: its rows, the revisions of changed ones, rejected records, the window's checkpoint and
 * counters and, with the last page, the coverage and the retractions.
 * @throws ClaimLost if another load has the window; TooManyRetractions; WarehouseUnavailable if the warehouse does not answer for
 * minutes; WriteGivenUp if this page breaks the connection, or is too slow, several times
 */
export async function commitPage(
  warehouse: Warehouse,
  page: PageToCommit,
  known: KnownPartitions,
): Promise<PageCounts> {
  const { feed, at, nextToken } = page;
  let tries = 0;
  let counts: PageCounts | undefined;
  await ensurePartitions(warehouse, feed.table, page.rows.times, known);
  try {
    return await writeTransaction(warehouse, async (trx) => {
      counts = await writePage(trx, page, ++tries);
      return counts;
    });
  } catch (error) {
    // An earlier attempt may have committed the page, with only the reply to its COMMIT lost.
    if (error instanceof ClaimLost && counts && (await isCommitted(warehouse, at, nextToken))) return counts;
    throw error;
  }
}

async function writePage(trx: WriteTransaction, page: PageToCommit, attempt: number): Promise<PageCounts> {
  const { feed, series, at, nextToken, rejected, backfilledBefore, rowsMet, firstUnsettled } = page;
  const { isDrained, rejectedCount } = page;
  const { loadId, windowId } = at;
  // A window that is not compared had no rows when its drain began. If the insert conflicts after all, the second attempt upserts.
  const areLikelyNew = !page.isCompared && !page.isShared && attempt === 1;
  const provenance = { series, loadId, windowId, backfilledBefore };
  const upserted = await upsertRows(trx, feed.table, page.rows, provenance, areLikelyNew);
  await keepRejected(trx, rejected, { series, windowId, loadId });
  const retracted = page.isCompared ? await compare(trx, page, upserted) : 0;
  const counts = {
    ...upserted,
    retracted,
    records: page.records,
    rejected: rejectedCount,
    outside: page.outside.length,
  };
  if (at.pages === 0) await takeBackRefusals(trx, windowId);
  await advanceCheckpoint(trx, at, nextToken, { ...counts, rowsMet, firstUnsettled, isDrained });
  if (page.countsAsNews) {
    const isPoll = isDrained && page.reachesToday;
    await notePoll(trx, { series, loadId, at: page.now, isPoll, hasNews: hasNews(upserted) });
  }
  return counts;
}

const hasNews = ({ inserted, changed }: Upserted) => inserted + changed > 0;

/** Notes the rows of a page and, with the last page, retracts the window's rows that no page had. */
async function compare(trx: WriteTransaction, page: PageToCommit, { inserted }: Upserted): Promise<number> {
  const { feed, series, rows, at, comparedBefore } = page;
  const { windowId, loadId, pages } = at;
  await noteSightings(trx, rows, { windowId, page: pages });
  if (page.nextToken !== null) return 0;
  return retractUnseen(trx, feed, series, {
    windowId,
    loadId,
    rejected: page.rejected.length,
    now: page.now,
    acceptAll: page.acceptRetractions,
    compared: { ...comparedBefore, met: comparedBefore.met + rows.length - inserted },
  });
}

/** A live answer. Its rows belong to no window, so there is neither a checkpoint nor coverage. */
export interface LiveToCommit extends ReadPage {
  readonly feed: Feed;
  readonly series: Series;
  readonly loadId: number;
  readonly records: number;
  readonly polledAt: Date;
}

/** Commits a live answer in one transaction. Its rows are loaded as they appear, so they do not count as backfilled. */
export async function commitLive(
  warehouse: Warehouse,
  live: LiveToCommit,
  known: KnownPartitions,
): Promise<PageCounts> {
  const { feed, series, loadId, rows, rejected, rejectedCount, outside, records, polledAt } = live;
  await ensurePartitions(warehouse, feed.table, rows.times, known);
  return writeTransaction(warehouse, async (trx) => {
    await noteLiveSightings(trx, feed, series, rows, polledAt);
    const provenance = { series, loadId, windowId: null, backfilledBefore: 'never' } as const;
    const upserted = await upsertRows(trx, feed.table, rows, provenance);
    await keepRejected(trx, rejected, { series, windowId: null, loadId });
    await notePoll(trx, { series, loadId, at: polledAt, isPoll: false, hasNews: hasNews(upserted) });
    return { ...upserted, retracted: 0, records, rejected: rejectedCount, outside: outside.length };
  });
}
