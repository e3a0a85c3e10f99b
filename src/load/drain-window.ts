import type { Attributes, Span } from '@opentelemetry/api';
import { requestRange } from '../plan/cut-windows.ts';
import { dayRange, settledAt } from '../plan/days.ts';
import { CursorWithoutEnd, cursorGuard } from '../service/cursor.ts';
import { RequestRefused } from '../service/errors.ts';
import type { Day } from '../warehouse/database.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import type { Checkpoint } from '../warehouse/tables/checkpoint.ts';
import { metSoFar, TooManyRetractions } from '../warehouse/tables/retract.ts';
import { seriesOnly } from '../warehouse/tables/series.ts';
import { beginDrain, type ClaimedWindow, forgetCursor } from '../warehouse/tables/windows.ts';
import { writeTransaction } from '../warehouse/write-transaction.ts';
import { commitPage, type PageToCommit } from './commit-page.ts';
import { fetchPage, type WindowRequest } from './fetch-page.ts';
import { countPage, type Load } from './load.ts';
import { type MetRows, remembered, rememberRows } from './met-rows.ts';
import { refuseOtherDays, timesAsked, warnOfOtherDays } from './other-days.ts';
import { type ReadPage, readPage } from './read-page.ts';
import { type ReadCounts, TooManyRejected, tooManyRejected } from './rejected.ts';
import { atStage, endFailed, inSpan, seriesAttributes, startSpan, within } from './spans.ts';

/** How often a window may begin again at its first page because the service no longer accepts its token. */
const restartsAllowed = 2;

/**
 * Drains a claimed window page by page, to its end or until the load is to stop. Each page is asked for with the token of the
 * page before, and committed with its checkpoint. The next page is fetched while the last one is being committed.
 * @returns `drained`, or `stopped` if the load stops and the window stays at its checkpoint
 * @throws the error of a fetch or a commit; what is committed stays
 */
export async function drainWindow(load: Load, claimed: ClaimedWindow): Promise<'drained' | 'stopped'> {
  const { window_id, first_day, last_day } = claimed;
  const about = { ...idsOf(load, window_id), 'gmsi.first_day': first_day, 'gmsi.last_day': last_day };
  const span = startSpan('window', { ...about, ...seriesAttributes(claimed) }, load.span);
  return inSpan(span, () => drain(load, claimed));
}

async function drain(load: Load, claimed: ClaimedWindow): Promise<'drained' | 'stopped'> {
  let window = canResume(load, claimed) ? claimed : { ...claimed, next_token: null, pages: 0 };
  for (let restarts = 0; ; restarts++) {
    const request =
      window.next_token === null ? await begin(load, window, restarts > 0) : resume(load, window);
    try {
      return await drainFrom(load, window, request);
    } catch (error) {
      if (error instanceof CursorWithoutEnd || error instanceof TooManyRetractions)
        await beginAnewNextTime(load, window);
      if (!(error instanceof TokenRefused)) throw error;
      if (restarts === restartsAllowed) throw error.cause;
      load.log.warn(
        { window: window.window_id, status: error.cause.status, words: error.cause.words },
        'the service refused the cursor; the window begins again at its first page',
      );
      window = { ...window, next_token: null, pages: 0 };
    }
  }
}

/**
 * A window continues at its checkpoint, with the page size of its cursor. If the job now asks for smaller pages, they may be
 * needed to drain it, so it begins again. Without a token, it begins at its first page, whatever an earlier drain counted.
 */
function canResume({ job }: Load, { next_token, page_size }: ClaimedWindow): boolean {
  return next_token !== null && page_size! <= job.service.pageSize;
}

/**
 * Drops the cursor of a drain whose pages cannot be trusted: of an endless one, it is not known which token was the first wrong
 * one; after most rows were missing, only new pages can have them again.
 */
async function beginAnewNextTime(load: Load, { window_id: windowId }: ClaimedWindow): Promise<void> {
  const at = { windowId, loadId: load.loadId };
  await forgetCursor(load.warehouse, at);
}

/** The service refused a request that carried a token: it may have expired, so the window can begin again. */
class TokenRefused extends Error {
  override readonly cause: RequestRefused;

  constructor(cause: RequestRefused) {
    super(cause.message);
    this.cause = cause;
  }
}

/** A drain under way, with the parameters of its requests. */
interface Drain extends WindowRequest {
  /** True if it retracts rows that the service no longer returns. */
  readonly isCompared: boolean;
  /** When its first page was asked for, by this machine's clock; `undefined` if another load asked for it. */
  readonly begunAt: Date | undefined;
}

/** A page that waits to be committed. */
interface PageInHand extends ReadPage {
  /** How many records the page had, readable or not. */
  readonly records: number;
  readonly nextToken: string | null;
  /** Ends when the page is committed or dropped. */
  readonly span: Span;
}

async function drainFrom(load: Load, window: ClaimedWindow, request: Drain): Promise<'drained' | 'stopped'> {
  const acceptToken = cursorGuard(window.next_token);
  const met = await memoryOf(load, window, request);
  const { window_id: windowId, pages, next_token: nextToken } = window;
  let read: ReadCounts =
    nextToken === null
      ? { records: 0, rejected: 0 }
      : { records: window.records, rejected: window.records_rejected };
  let settledBefore: Day | undefined;
  let at: Checkpoint = { windowId, loadId: load.loadId, pages, nextToken };
  let pending = ask(load, request, at);
  try {
    for (;;) {
      const page = await pending;
      await load.origin.check(load.client.servedBy);
      refuseOtherDays(page, request);
      if (page.nextToken !== null) acceptToken(page.nextToken);
      met.take(page);
      if (at.pages === pages) settledBefore = await settledByClocks(load, window, request);
      const rowsMet = met.perDay;
      const next = { ...at, pages: at.pages + 1, nextToken: page.nextToken };
      const goesOn = page.nextToken !== null && !load.stop.aborted;
      if (goesOn) {
        pending = ask(load, request, next);
        // Awaited in the next round. If this page's commit fails first, the error of the next page does not matter.
        pending.catch(() => {});
      }
      read = { records: read.records + page.records, rejected: read.rejected + page.rejectedCount };
      const isLast = page.nextToken === null;
      const incomplete = isLast ? tooManyRejected(read, load.job.service.maxRejectedPercent) : undefined;
      const ready = { ...page, rowsMet, settledBefore, isDrained: isLast && incomplete === undefined };
      await inSpan(page.span, () => commit(load, window, request, at, ready));
      if (incomplete !== undefined) throw new TooManyRejected(incomplete);
      if (isLast) return 'drained';
      if (!goesOn) return 'stopped';
      at = next;
    }
  } catch (error) {
    pending.then(
      ({ span }) => {
        if (span.isRecording()) span.end();
      },
      () => {},
    );
    throw error;
  }
}

/**
 * Which days count as covered once a drain ends, by all clocks. The service's clock is known from its first page on, before
 * any window can be covered. No day counts if the clocks are too far apart.
 */
async function settledByClocks(
  { clocks, job }: Load,
  { first_day }: ClaimedWindow,
  { begunAt }: Drain,
): Promise<Day | undefined> {
  await clocks.compare();
  if (clocks.apart) return first_day;
  return begunAt && settledAt(clocks.earliest(begunAt), job.lookbackDays);
}

/** The rows that the drain has met; if it resumes, also those of its earlier pages. */
async function memoryOf(load: Load, window: ClaimedWindow, { feed, series }: Drain): Promise<MetRows> {
  const { maxPagesWithoutNews } = load.job.service;
  if (window.next_token === null) return rememberRows(window, maxPagesWithoutNews);
  const of = { table: feed.table, series };
  const rows = await metSoFar(load.warehouse, of, window, remembered);
  return rememberRows(window, maxPagesWithoutNews, { rows, perDay: window.rows_met });
}

async function ask(load: Load, request: Drain, at: Checkpoint): Promise<PageInHand> {
  const { windowId, nextToken: token } = at;
  if (!(await load.lease.holds(windowId))) {
    throw new ClaimLost(`Window ${windowId} is no longer this load's.`);
  }
  const span = startSpan('page', { ...idsOf(load, windowId), 'gmsi.page': at.pages + 1 });
  try {
    return await within(span, async () => {
      const page = await atStage(load, 'fetch', () => fetchPage(load.client, request, token, load.abort));
      const { records, nextToken } = page;
      span.setAttribute('gmsi.records', records.length);
      // Read at once, because rows are much smaller than what the service sent, and the pages that wait decide how much memory
      // a load needs.
      const read = await atStage(load, 'map', () =>
        readPage(records, load.reader, load.feed.table, timesAsked(request, load.clock())),
      );
      return { ...read, records: records.length, nextToken, span };
    });
  } catch (error) {
    endFailed(span, error);
    if (token !== null && error instanceof RequestRefused) throw new TokenRefused(error);
    throw error;
  }
}

async function commit(
  load: Load,
  window: ClaimedWindow,
  { feed, series, isCompared }: Drain,
  at: Checkpoint,
  page: PageInHand & Pick<PageToCommit, 'rowsMet' | 'settledBefore' | 'isDrained'>,
): Promise<void> {
  const now = load.clock();
  const backfilledBefore = backfilledUntil(load, now);
  const reachesToday = window.last_day >= now.toISOString().slice(0, 10);
  const tellsOfNews = load.command === 'sync' || reachesToday;
  const { acceptRetractions } = load;
  const about = {
    ...{ feed, series, backfilledBefore, at, now, tellsOfNews, reachesToday },
    ...{ isCompared, acceptRetractions, isShared: isShared(load, window, page) },
  };
  const counts = await atStage(load, 'commit', () =>
    commitPage(load.warehouse, { ...about, ...page }, load.partitions),
  );
  countPage(load, counts);
  warnOfOtherDays(load, { window: at.windowId }, page.outside);
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
  const { job, feed } = load;
  const { startDate, endDate } = requestRange(
    dayRange(window.first_day, window.last_day),
    job.service.endDate,
  );
  await load.clocks.compare();
  const begunAt = load.clocks.machine();
  const range = { start: startDate.toString(), end: endDate?.toString() ?? null };
  const fixed = {
    ...range,
    pageSize: job.service.pageSize,
    settledBefore: settledAt(load.clocks.earliest(begunAt), job.lookbackDays),
    isRestart,
  };
  const at = { windowId: window.window_id, loadId: load.loadId };
  const series = seriesOnly(window);
  const begun = await writeTransaction(load.warehouse, (trx) =>
    beginDrain(trx, at, { table: feed.table, series }, fixed),
  );
  if (!begun) {
    throw new ClaimLost(`Window ${window.window_id} is no longer this load's.`);
  }
  const { pageSize } = fixed;
  return {
    feed,
    series,
    isCompared: begun.isCompared,
    begunAt,
    startDate: range.start,
    endDate: range.end,
    pageSize,
    parameters: job.service.parameters,
    body: job.body,
  };
}

function resume({ feed, job }: Load, window: ClaimedWindow): Drain {
  return {
    feed,
    series: seriesOnly(window),
    isCompared: window.is_compared,
    begunAt: undefined,
    startDate: window.request_start!,
    endDate: window.request_end,
    pageSize: window.page_size!,
    parameters: job.service.parameters,
    body: job.body,
  };
}

/** What connects a span with its rows. */
function idsOf({ loadId, feed }: Load, windowId: number): Attributes {
  return { 'gmsi.feed': feed.name, 'gmsi.load_id': loadId, 'gmsi.window_id': windowId };
}
