import { GmsiError } from '../errors.ts';
import { oneAhead } from '../one-ahead.ts';
import { requestRange } from '../plan/cut-windows.ts';
import { dayRange, settledAt } from '../plan/days.ts';
import { CursorWithoutEnd, cursorGuard } from '../service/cursor.ts';
import { RequestRefused } from '../service/errors.ts';
import type { Day } from '../warehouse/database.ts';
import { ClaimLost, forLog } from '../warehouse/errors.ts';
import type { Checkpoint } from '../warehouse/tables/checkpoint.ts';
import { leaveRefused } from '../warehouse/tables/refusals.ts';
import { metSoFar, TooManyRetractions } from '../warehouse/tables/retract.ts';
import { seriesOnly } from '../warehouse/tables/series.ts';
import {
  beginDrain,
  type ClaimedWindow,
  forgetCursor,
  type Leaving,
  leaveWindow,
} from '../warehouse/tables/windows.ts';
import { writeTransaction } from '../warehouse/write-transaction.ts';
import { commitPage, type PageToCommit } from './commit-page.ts';
import { endedBy, type LoadEnd, type UnderWay } from './ends.ts';
import { fetchPage, type WindowRequest } from './fetch-page.ts';
import { countPage, type Load } from './load.ts';
import { type MetRows, remembered, rememberRows } from './met-rows.ts';
import { refuseOtherDays, timesAsked, warnOfOtherDays } from './other-days.ts';
import { type ReadPage, readPage } from './read-page.ts';
import { TooManyRejected, tooManyRejected } from './rejected.ts';
import { presentParts, step } from './steps.ts';

// The states of a window (gmsi.windows.state); test/warehouse/window-states.test.ts tries every event in every state.
//
//   planned ─▶ pending ───── claimed ─────▶ draining ──┬── the last page ──────────▶ drained: its days are covered
//                 ▲                          │  ▲  │   ├── an error, one refusal ──▶ failed: the next load claims it
//                 ├── stopped, load ended ───┘  │  │   └── refused once more ──────▶ refused: only --retry-refused asks
//                 │                             └──┘
//   the lease ran out: another load claims it    a page and its checkpoint, in one transaction

/**
 * How the drain of a claimed window ended. The window is in this state:
 * - `given back`: at its checkpoint; with an end if its error ends the whole load
 * - `taken over`: another load has it now
 * - `failed` or `refused`: with the error of the service or the warehouse
 */
export type WindowEnd =
  | { readonly is: 'drained' | 'taken over' }
  | {
      readonly is: 'failed' | 'refused';
      readonly error: unknown;
      /** True if the next windows may still succeed: the service refuses old days, and answers others. */
      readonly isOfItsSeries: boolean;
    }
  | { readonly is: 'given back'; readonly ends?: LoadEnd & { readonly underWay: UnderWay } };

/** Drains a claimed window, counts it, and decides what an error means for the window and for the load. */
export async function drainWindow(load: Load, window: ClaimedWindow): Promise<WindowEnd> {
  const { window_id, first_day, last_day } = window;
  const about = { window_id, first_day, last_day, ...presentParts(window) };
  try {
    if ((await step('window', load, about, () => drain(load, window))) === 'stopped')
      return giveBack(load, window);
    load.totals.windows_drained++;
    return { is: 'drained' };
  } catch (error) {
    if (load.abort.aborted) return giveBack(load, window);
    if (error instanceof ClaimLost) return takenOver(load, window);
    const ends = endedBy(error);
    if (ends) return giveBack(load, window, ends);
    return error instanceof RequestRefused ? refuse(load, window, error) : fail(load, window, error);
  }
}

/** How often a window may begin again at its first page because the service no longer accepts its token. */
const restartsAllowed = 2;

/**
 * Drains a window page by page, from its checkpoint to its end or until the load is to stop. While a page is committed, the
 * next one is fetched.
 * @throws the error of a fetch or a commit; what is committed stays
 */
async function drain(load: Load, window: ClaimedWindow): Promise<'drained' | 'stopped'> {
  for (let restarts = 0; ; restarts++) {
    const isResumed = restarts === 0 && canResume(load, window);
    const drain = isResumed ? await resume(load, window) : await begin(load, window, restarts > 0);
    try {
      for await (const page of oneAhead(pagesOf(load, drain))) {
        await commit(load, drain, page);
        if (page.nextToken === null) return 'drained';
      }
      return 'stopped';
    } catch (error) {
      // Of an endless cursor, it is not known which token was the first wrong one; after most rows were missing, only new
      // pages can have them again.
      if (error instanceof CursorWithoutEnd || error instanceof TooManyRetractions)
        await forgetCursor(load.warehouse, { windowId: window.window_id, loadId: load.loadId });
      if (!(error instanceof TokenRefused)) throw error;
      if (restarts === restartsAllowed) throw error.cause;
      load.log.warn(
        { window: window.window_id, status: error.cause.status, words: error.cause.words },
        'the service refused the cursor; the window begins again at its first page',
      );
    }
  }
}

/** A drain under way, with the parameters of its requests. */
interface Drain extends WindowRequest {
  readonly window: ClaimedWindow;
  /** True if it retracts rows that the service no longer returns. */
  readonly isCompared: boolean;
  /** When its first page was asked for, by this machine's clock; `undefined` if another load asked for it. */
  readonly begunAt: Date | undefined;
  /** Where it begins: at its first page, or at its checkpoint. */
  readonly from: Checkpoint;
  /** What its pages have had so far. */
  readonly met: MetRows;
  readonly read: { records: number; rejected: number };
}

/** A page that waits to be committed. */
interface DrainedPage extends ReadPage {
  /** Where the window must stand for it to be the next one. */
  readonly at: Checkpoint;
  /** How many records it had, readable or not. */
  readonly records: number;
  readonly nextToken: string | null;
  readonly rowsMet: readonly number[] | null;
}

/** The pages of a drain, each asked for with the token of the one before, until the last one or until the load is to stop. */
async function* pagesOf(load: Load, drain: Drain): AsyncGenerator<DrainedPage> {
  const acceptToken = cursorGuard(drain.from.nextToken);
  for (let at = drain.from; ; ) {
    if (!(await load.lease.holds(at.windowId))) throw claimLost(at);
    const page = await onePage(load, drain, at);
    await load.origin.check(load.client.servedBy);
    refuseOtherDays(page, drain);
    if (page.nextToken !== null) acceptToken(page.nextToken);
    drain.met.take(page);
    yield { ...page, rowsMet: drain.met.perDay };
    if (page.nextToken === null || load.stop.aborted) return;
    at = { ...at, pages: at.pages + 1, nextToken: page.nextToken };
  }
}

/** Fetches a page, and reads it at once: what waits to be committed should be rows, which are much smaller. */
async function onePage(load: Load, drain: Drain, at: Checkpoint): Promise<Omit<DrainedPage, 'rowsMet'>> {
  const about = { window_id: at.windowId, page: at.pages + 1 };
  try {
    const { records, nextToken } = await step('fetch', load, about, () =>
      fetchPage(load.client, drain, at.nextToken, load.abort),
    );
    const read = await step('read', load, { ...about, records: records.length }, () =>
      readPage(records, load.reader, load.feed.table, timesAsked(drain, load.clock())),
    );
    return { ...read, at, records: records.length, nextToken };
  } catch (error) {
    if (at.nextToken !== null && error instanceof RequestRefused) throw new TokenRefused(error);
    throw error;
  }
}

/** The service refused a request that carried a token: it may have expired, so the window can begin again. */
class TokenRefused extends Error {
  override readonly cause: RequestRefused;

  constructor(cause: RequestRefused) {
    super(cause.message);
    this.cause = cause;
  }
}

/** Commits a page with its checkpoint: rows, revisions and, with the last one, coverage and retractions. */
async function commit(load: Load, drain: Drain, page: DrainedPage): Promise<void> {
  const { window, read } = drain;
  const { at, records, nextToken } = page;
  read.records += records;
  read.rejected += page.rejectedCount;
  const isLast = nextToken === null;
  const incomplete = isLast ? tooManyRejected(read, load.job.service.maxRejectedPercent) : undefined;
  // Compares the clocks, so it comes before the time is told.
  const settledBefore = await settledByClocks(load, drain);
  const now = load.clock();
  const reachesToday = window.last_day >= now.toISOString().slice(0, 10);
  const ready: PageToCommit = {
    ...{ ...page, feed: load.feed, series: drain.series, now, reachesToday },
    ...{ isCompared: drain.isCompared, acceptRetractions: load.acceptRetractions },
    backfilledBefore: backfilledUntil(load, now),
    settledBefore,
    isShared: isShared(load, window, page),
    isDrained: isLast && incomplete === undefined,
    tellsOfNews: load.command === 'sync' || reachesToday,
  };
  const about = { window_id: at.windowId, page: at.pages + 1, records };
  countPage(
    load,
    await step('commit', load, about, () => commitPage(load.warehouse, ready, load.partitions)),
  );
  warnOfOtherDays(load, { window: at.windowId }, page.outside);
  if (incomplete !== undefined) throw new TooManyRejected(incomplete);
}

/**
 * Which days count as covered once a drain ends, by all clocks. The service's clock is known from its first page on, before
 * any window can be covered. No day counts if the clocks are too far apart.
 */
async function settledByClocks({ clocks, job }: Load, { window, begunAt }: Drain): Promise<Day | undefined> {
  await clocks.compare();
  if (clocks.apart) return window.first_day;
  return begunAt && settledAt(clocks.earliest(begunAt), job.lookbackDays);
}

/** While it is not known whether end_date is included, a window also asks for the first day of the next one. */
function isShared({ job }: Load, { first_day, last_day }: ClaimedWindow, { rows }: ReadPage): boolean {
  if (job.service.endDate !== 'unknown' || rows.length === 0) return false;
  const dayAt = (row: number) => new Date(rows.times.at(row)! / 1000).toISOString().slice(0, 10);
  return dayAt(0) <= first_day || dayAt(-1) > last_day;
}

/** Which days are backfilled: not those that only seemed settled because a clock was ahead. */
function backfilledUntil({ unsettledFrom, job }: Load, now: Date): PageToCommit['backfilledBefore'] {
  if (unsettledFrom === null) return 'always';
  return [unsettledFrom, settledAt(now, job.lookbackDays)].sort()[0]!;
}

/** Fixes what is asked for, and which of the days count as covered at the end, by the day on which the drain begins. */
async function begin(load: Load, window: ClaimedWindow, isRestart: boolean): Promise<Drain> {
  const { job, feed, warehouse, clocks } = load;
  const { startDate, endDate } = requestRange(
    dayRange(window.first_day, window.last_day),
    job.service.endDate,
  );
  await clocks.compare();
  const begunAt = clocks.machine();
  const range = { start: startDate.toString(), end: endDate?.toString() ?? null };
  const { pageSize } = job.service;
  const settledBefore = settledAt(clocks.earliest(begunAt), job.lookbackDays);
  const from = { windowId: window.window_id, loadId: load.loadId, pages: 0, nextToken: null };
  const series = seriesOnly(window);
  const begun = await writeTransaction(warehouse, (trx) =>
    beginDrain(trx, from, { table: feed.table, series }, { ...range, pageSize, settledBefore, isRestart }),
  );
  if (!begun) throw claimLost(from);
  return {
    ...requestOf(load, window, { startDate: range.start, endDate: range.end, pageSize }),
    ...{ window, isCompared: begun.isCompared, begunAt, from },
    met: rememberRows(window, job.service.maxPagesWithoutNews),
    read: { records: 0, rejected: 0 },
  };
}

/**
 * A window continues at its checkpoint, with the page size of its cursor. If the job now asks for smaller pages, they may be
 * needed to drain it, so it begins again. Without a token, it begins at its first page, whatever an earlier drain counted.
 */
function canResume({ job }: Load, { next_token, page_size }: ClaimedWindow): boolean {
  return next_token !== null && page_size! <= job.service.pageSize;
}

async function resume(load: Load, window: ClaimedWindow): Promise<Drain> {
  const { warehouse, feed, job, loadId } = load;
  const { window_id: windowId, pages, next_token: nextToken, request_start, request_end, page_size } = window;
  const of = { table: feed.table, series: seriesOnly(window) };
  const rows = await metSoFar(warehouse, of, window, remembered);
  const asked = { startDate: request_start!, endDate: request_end, pageSize: page_size! };
  return {
    ...requestOf(load, window, asked),
    ...{ window, isCompared: window.is_compared, begunAt: undefined },
    from: { windowId, loadId, pages, nextToken },
    met: rememberRows(window, job.service.maxPagesWithoutNews, { rows, perDay: window.rows_met }),
    read: { records: window.records, rejected: window.records_rejected },
  };
}

function requestOf(
  { feed, job }: Load,
  window: ClaimedWindow,
  asked: Pick<WindowRequest, 'startDate' | 'endDate' | 'pageSize'>,
): WindowRequest {
  return { ...asked, feed, series: seriesOnly(window), parameters: job.service.parameters, body: job.body };
}

function claimLost({ windowId }: Checkpoint): ClaimLost {
  return new ClaimLost(`Window ${windowId} is no longer this load's.`);
}

function takenOver({ log }: Load, window: ClaimedWindow): WindowEnd {
  log.warn({ window: window.window_id }, 'another load has taken this window over');
  return { is: 'taken over' };
}

async function giveBack(
  load: Load,
  window: ClaimedWindow,
  ends?: LoadEnd & { readonly underWay: UnderWay },
): Promise<WindowEnd> {
  await leave(load, window, { state: 'pending' });
  return ends ? { is: 'given back', ends } : { is: 'given back' };
}

async function fail(load: Load, window: ClaimedWindow, error: unknown): Promise<WindowEnd> {
  load.totals.windows_failed++;
  const message = error instanceof Error ? error.message : String(error);
  await leave(load, window, { state: 'failed', error: message });
  const about = describeWindow(window);
  load.log.warn({ ...about, why: message }, 'a window failed');
  if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'this was not expected');
  return { is: 'failed', error, isOfItsSeries: false };
}

/** Leaves a window that was refused; the warehouse decides what that means for its series. */
async function refuse(load: Load, window: ClaimedWindow, error: RequestRefused): Promise<WindowEnd> {
  const { warehouse, loadId, totals, log } = load;
  const at = { windowId: window.window_id, loadId };
  const refusal = { status: error.status, error: error.message };
  const left = await warehouse.transaction().execute((trx) => leaveRefused(trx, at, refusal));
  if (!left) return takenOver(load, window);
  totals.windows_failed += left.counted;
  const about = { ...describeWindow(window), why: error.message };
  log.warn(about, left.state === 'failed' ? 'a window failed' : 'a window was refused');
  if (left.skipped > 0)
    log.warn(
      { ...about, windows: left.skipped },
      'two windows in a row of this series were refused with the same status; its older ones are not asked for in this load',
    );
  return {
    is: left.state,
    error,
    isOfItsSeries: left.is_older_than_answered || totals.windows_drained > 0,
  };
}

async function leave(load: Load, window: ClaimedWindow, leaving: Leaving): Promise<void> {
  const at = { windowId: window.window_id, loadId: load.loadId };
  try {
    // A window that may have crashed the server must be marked as failed once the server is back, or this load would drain
    // it again.
    const warehouse = leaving.state === 'pending' ? load.warehouse.plain : load.warehouse;
    await leaveWindow(warehouse, at, leaving);
  } catch (error) {
    // Then the lease frees the window.
    load.log.warn(
      { window: window.window_id, ...forLog(error) },
      'the window could not be given back; its lease will run out',
    );
  }
}

/** A window for the log. */
function describeWindow(window: ClaimedWindow) {
  const { match_type: _, ...series } = presentParts(window);
  const { window_id, first_day, last_day } = window;
  return { window: window_id, ...series, first_day, last_day };
}
