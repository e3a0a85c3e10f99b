import { oneAhead } from '../one-ahead.ts';
import { requestRange } from '../plan/cut-windows.ts';
import { dayRange } from '../plan/days.ts';
import { CursorWithoutEnd, cursorGuard } from '../service/cursor.ts';
import { RequestRefused } from '../service/errors.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import type { Checkpoint } from '../warehouse/tables/checkpoint.ts';
import { metSoFar, TooManyRetractions } from '../warehouse/tables/retract.ts';
import { seriesOnly } from '../warehouse/tables/series.ts';
import { beginDrain, type ClaimedWindow, forgetCursor, ownsWindow } from '../warehouse/tables/windows.ts';
import { commitPage, type DrainedPage, type DrainRules, type PageToCommit } from './commit-page.ts';
import { fetchPage, type WindowRequest } from './fetch-page.ts';
import { type LeftWindow, leaveAfter, leavePending } from './leave-window.ts';
import { countPage, type Load } from './load.ts';
import { type MetRows, remembered, rememberRows } from './met-rows.ts';
import { refuseOtherDays, timesRequested, warnOfOtherDays } from './other-days.ts';
import { readPage } from './read-page.ts';
import { TooManyRejected, tooManyRejected } from './rejected.ts';
import { inStage, presentParts } from './stages.ts';
import { refuseUnknownFields } from './unknown-fields.ts';

// The states of a window (gmsi.queue.state); test/warehouse/window-states.test.ts tries every event in every state.
//
//   planned ─▶ pending ───── claimed ─────▶ draining ──┬── the last page ──────────▶ drained: it is a reading
//                 ▲                          │  ▲  │   ├── an error ───────────────▶ failed: the next load claims it
//                 ├── stopped, load ended ───┘  │  │   └── refused ────────────────▶ refused: each load asks a few of them again
//                 │                             └──┘
//   the lease ran out: another load claims it    a page and its checkpoint, in one transaction

/** Drains a claimed window, counts it, and leaves it in its next state. */
export async function drainWindow(load: Load, window: ClaimedWindow): Promise<LeftWindow> {
  const { window_id, first_day, last_day } = window;
  const about = { window_id, first_day, last_day, ...presentParts(window) };
  try {
    if ((await inStage('window', load, about, () => drainPages(load, window))) === 'stopped')
      return leavePending(load, window);
    load.totals.windows_drained++;
    return { is: 'drained' };
  } catch (error) {
    return leaveAfter(load, window, error);
  }
}

/** How often a window may begin again at its first page because the service refuses its token. */
const restartsAllowed = 2;

/**
 * Drains a window page by page, from its checkpoint to its end or until the load stops. Fetches the next page while one is
 * committed.
 * @throws the error of a fetch or a commit; committed pages stay
 */
async function drainPages(load: Load, window: ClaimedWindow): Promise<'drained' | 'stopped'> {
  for (let restarts = 0; ; restarts++) {
    try {
      const isAgain = restarts > 0 || window.pages > 0;
      const drain = await (restarts === 0 && canResume(load, window)
        ? resume(load, window)
        : begin(load, window, isAgain));
      for await (const page of oneAhead(pagesOf(load, drain))) {
        await commitNext(load, drain, page);
        if (page.nextToken === null) return 'drained';
      }
      return 'stopped';
    } catch (error) {
      // Resuming would not help: any token of an endless cursor may be wrong, and missing rows can only be on pages that
      // were already read.
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

/** A drain under way. */
interface Drain extends WindowRequest, DrainRules {
  readonly window: ClaimedWindow;
  /** When its first page was requested, by this machine's clock; `undefined` if an earlier load requested it. */
  readonly begunAt: Date | undefined;
  /** The checkpoint at which it begins. */
  readonly from: Checkpoint;
  /** The process's `silences` before the warehouse last said that the window is this load's; `undefined` if none is known. */
  readonly silences: number | undefined;
  /** The rows of its pages so far. */
  readonly met: MetRows;
  readonly read: { records: number; rejected: number; outside: number };
}

/** Yields the pages of a drain, each requested with the token of the page before, up to the last one or until the load stops. */
async function* pagesOf(load: Load, drain: Drain): AsyncGenerator<DrainedPage> {
  const acceptToken = cursorGuard(drain.from.nextToken);
  let { silences } = drain;
  // Also before the first page: the window may have been claimed while the load was stopped.
  for (let at = drain.from; !load.stop.aborted; ) {
    silences = await refuseIfLost(load, at, silences);
    const page = await onePage(load, drain, at);
    await load.origin.check(load.client.servedBy, load.client.answeredAt);
    refuseOtherDays(page, drain);
    if (page.nextToken !== null) acceptToken(page.nextToken);
    drain.met.take(page);
    yield { ...page, series: drain.series, rowsMet: drain.met.perDay };
    if (page.nextToken === null) return;
    at = { ...at, pages: at.pages + 1, nextToken: page.nextToken };
  }
}

/**
 * Asks the warehouse whether the window is still this load's, if its process has been silent since that was last known; then no
 * request is spent on another load's window. A process may have sent a heartbeat again after its silence.
 * @returns the process's silences before the answer
 */
async function refuseIfLost(
  { process, warehouse }: Load,
  at: Checkpoint,
  known: number | undefined,
): Promise<number> {
  if (process.silences === known) return known;
  await process.beat();
  const { silences } = process;
  if (!(await ownsWindow(warehouse, at))) throw claimLost(at);
  return silences;
}

/** Fetches a page and reads it at once: rows need much less memory than records while they wait for the commit. */
async function onePage(load: Load, drain: Drain, at: Checkpoint) {
  const { client, feed, clocks } = load;
  const about = { window_id: at.windowId, page: at.pages + 1 };
  try {
    const fetch = () => fetchPage(client, drain, at.nextToken, load.abort);
    const { records, nextToken } = await inStage('fetch', load, about, fetch);
    clocks.compare();
    refuseUnknownFields(records, load.knownFields);
    const times = timesRequested(drain, clocks.now());
    const read = await inStage('read', load, { ...about, records: records.length }, () =>
      readPage(records, { ...load, table: feed.table, series: drain.series }, times),
    );
    return { ...read, at, nextToken };
  } catch (error) {
    if (at.nextToken !== null && error instanceof RequestRefused) throw new TokenRefused(error);
    throw error;
  }
}

/** The service refused a request that carried a token. The token may have expired, so the window can begin again. */
class TokenRefused extends Error {
  override readonly cause: RequestRefused;

  constructor(cause: RequestRefused) {
    super(cause.message);
    this.cause = cause;
  }
}

/** Commits a page. @throws TooManyRejected with the last one, if its days do not count as covered */
async function commitNext(load: Load, drain: Drain, page: DrainedPage): Promise<void> {
  const { at, records, rejectedCount, outside, nextToken } = page;
  const { read } = drain;
  read.records += records;
  read.rejected += rejectedCount;
  read.outside += outside.length;
  const isLast = nextToken === null;
  const lacks = isLast ? tooManyRejected(read, load.job.service.maxRejectedPercent) : undefined;
  const ready: PageToCommit = {
    ...page,
    isDrained: isLast && lacks === undefined,
    // The clocks may have been found apart since it began.
    asked: load.clocks.daysAt(drain.begunAt ?? load.clocks.machine(), load.job.lookbackDays),
    now: load.clock(),
  };
  const about = { window_id: at.windowId, page: at.pages + 1, records };
  countPage(load, await inStage('commit', load, about, () => commitPage(load, drain, ready)));
  warnOfOtherDays(load, { window: at.windowId }, outside);
  if (lacks !== undefined) throw new TooManyRejected(lacks);
}

/** Begins a drain. The day on which it begins decides which days it requests, and which of them count as covered. */
async function begin(load: Load, window: ClaimedWindow, isAgain: boolean): Promise<Drain> {
  const { job, feed, warehouse, clocks, loadId } = load;
  const { endDate: reading, pageSize } = job.service;
  const { startDate, endDate } = requestRange(dayRange(window.first_day, window.last_day), reading);
  const request = { startDate: startDate.toString(), endDate: endDate?.toString() ?? null, pageSize };
  const begunAt = clocks.machine();
  const asked = clocks.daysAt(begunAt, job.lookbackDays);
  const from = { windowId: window.window_id, loadId, pages: 0, nextToken: null };
  const { silences } = load.process;
  const rows = { table: feed.table, series: seriesOnly(window) };
  const begun = await beginDrain(warehouse, from, rows, { ...request, asked, isAgain });
  if (!begun) throw claimLost(from);
  return {
    ...drainOf(load, window, request),
    ...begun,
    askedOn: asked.askedOn,
    begunAt,
    from,
    silences,
    met: rememberRows(window, job.service.maxPagesWithoutNews),
    read: { records: 0, rejected: 0, outside: 0 },
  };
}

/**
 * A cursor works only with its own page size. If the job now has a smaller one, the pages were probably too large, so the
 * window begins again with it. Without a token, a window begins at its first page, whatever an earlier drain counted.
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
    ...drainOf(load, window, asked),
    isCompared: window.is_compared,
    askedAt: window.asked_at!,
    askedOn: window.asked_on!,
    begunAt: undefined,
    from: { windowId, loadId, pages, nextToken },
    silences: undefined,
    met: rememberRows(window, job.service.maxPagesWithoutNews, { rows, perDay: window.rows_met }),
    read: { records: window.records, rejected: window.records_rejected, outside: window.records_outside },
  };
}

/** Returns what begun and resumed drains have in common. */
function drainOf(
  { feed, job }: Load,
  window: ClaimedWindow,
  asked: Pick<WindowRequest, 'startDate' | 'endDate' | 'pageSize'>,
) {
  return {
    ...asked,
    feed,
    series: seriesOnly(window),
    parameters: job.service.parameters,
    body: job.body,
    window,
    // It is not known whether end_date is included.
    sharesEdges: job.service.endDate === 'unknown',
  };
}

function claimLost({ windowId }: Checkpoint): ClaimLost {
  return new ClaimLost(`Another load has taken over window ${windowId}.`);
}
