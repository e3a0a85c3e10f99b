import { commitRecords, type PageCounts, type Place, type ReadRecords } from '../warehouse/commit.ts';
import type { Day } from '../warehouse/database.ts';
import { advanceCheckpoint, type Checkpoint, windowAfter } from '../warehouse/tables/checkpoint.ts';
import { type AskedDays, liveAfter, recordLive } from '../warehouse/tables/readings.ts';
import { takeBackRefusals } from '../warehouse/tables/refusals.ts';
import {
  noteLiveSightings,
  noteSightings,
  refuseLosses,
  retractMoved,
  retractUnseen,
} from '../warehouse/tables/retract.ts';
import type { ClaimedWindow } from '../warehouse/tables/windows.ts';
import type { WriteTransaction } from '../warehouse/write-transaction.ts';
import type { Load } from './load.ts';

type LoadOfPages = Pick<Load, 'warehouse' | 'feed' | 'partitions' | 'acceptRetractions'>;

/** What is the same for all pages of a drain; decided when it begins or is resumed. */
export interface DrainRules {
  readonly window: Pick<ClaimedWindow, 'first_day' | 'last_day'>;
  /** True if the drain retracts rows that the service no longer returns. */
  readonly isCompared: boolean;
  /** True if the windows beside this one may return rows of its first and last day, at the same time. */
  readonly sharesEdges: boolean;
  /** When it began, by the database's clock. */
  readonly askedAt: string;
  /** The day on which it began. */
  readonly askedOn: Day;
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

export interface PageToCommit extends DrainedPage {
  /** True for the last page, unless too many records of the drain were rejected: then its days are not covered. */
  readonly isDrained: boolean;
  /** The days of the drain as the clocks show them now; the window keeps the earlier ones. */
  readonly asked: AskedDays;
  /** The time of the pipeline's clock. */
  readonly now: Date;
}

/**
 * Commits a page: its rows, the revisions of changed ones, rejected records, the window's checkpoint and counters and, with the
 * last page, the retractions and the reading.
 * @throws ClaimLost if another load has the window; TooManyRetractions; as `commitRecords`
 */
export function commitPage(load: LoadOfPages, rules: DrainRules, page: PageToCommit): Promise<PageCounts> {
  const { at, nextToken, rowsMet, asked, isDrained } = page;
  const { loadId, windowId } = at;
  const { askedAt, window: days } = rules;
  // If the clocks were found apart since it began, the earlier day.
  const hereOn = asked.askedOn < rules.askedOn ? asked.askedOn : rules.askedOn;
  const place: Place = {
    from: { loadId, windowId, askedAt, hereOn, days },
    // A window that is not compared had no rows when its drain began.
    areLikelyNew: !rules.isCompared && !(rules.sharesEdges && hasRowsOfEdges(rules, page)),
    async advance(trx, written) {
      const { moved, gone, held } = rules.isCompared
        ? await compare(trx, load, rules, page, written)
        : noneCompared;
      const counts = { ...written, rows_retracted: moved + gone };
      if (at.pages === 0) await takeBackRefusals(trx, windowId);
      const compared = isDrained ? { gone, held, isAccepted: load.acceptRetractions } : undefined;
      await advanceCheckpoint(trx, at, nextToken, counts, { rowsMet, asked }, compared);
      return counts;
    },
    position: windowAfter(at, nextToken, isDrained),
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
  { feed, acceptRetractions }: LoadOfPages,
  { askedAt }: DrainRules,
  page: PageToCommit,
  written: PageCounts,
): Promise<typeof noneCompared> {
  const { series, rows, at, now } = page;
  const { windowId, loadId, pages } = at;
  await noteSightings(trx, rows, { windowId, loadId, page: pages });
  // A headline that has moved was sent, so an outage cannot explain it.
  const moved = hasNews(written) ? await retractMoved(trx, feed, series, rows, { ...at, askedAt }) : 0;
  if (!page.isDrained) return { ...noneCompared, moved };
  const rejected = page.rejectedCount;
  const sent = {
    sent: written.records - rejected - written.records_outside,
    inserted: written.rows_inserted,
  };
  const compared = await retractUnseen(trx, feed, series, { windowId, loadId, rejected, now, ...sent });
  if (!acceptRetractions) await refuseLosses(trx, feed.name, compared);
  return { moved, ...compared };
}

const noneCompared = { moved: 0, gone: 0, held: 0 };

/**
 * Commits a live answer. Its rows belong to no window, so there is neither a checkpoint nor coverage: its reading is not whole.
 * @param asked.at when it was requested, by this machine's clock
 */
export async function commitLive(
  { warehouse, feed, loadId, partitions, clocks }: Load,
  live: ReadRecords,
  asked: AskedDays & { readonly at: Date },
): Promise<PageCounts> {
  const { series, rows } = live;
  const times = {
    now: clocks.earliest(asked.at),
    secondsAgo: Math.max(0, clocks.machine().getTime() - asked.at.getTime()) / 1000,
  };
  const { readingId, askedAt } = await noteLiveSightings(warehouse, feed, series, rows, times);
  const place: Place = {
    from: { loadId, windowId: null, askedAt, hereOn: asked.askedOn, isLive: true },
    areLikelyNew: false,
    async advance(trx, written) {
      const rows_retracted = hasNews(written)
        ? await retractMoved(trx, feed, series, rows, { loadId, windowId: null, askedAt })
        : 0;
      const counts = { ...written, rows_retracted };
      await recordLive(trx, { readingId, askedAt, loadId, series, rows, ...asked }, counts);
      return counts;
    },
    position: liveAfter(readingId),
  };
  return commitRecords(warehouse, feed.table, [live], place, partitions);
}
