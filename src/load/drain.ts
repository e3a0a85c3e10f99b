import { oneAhead } from '../one-ahead.ts';
import { requestRange } from '../plan/cut-windows.ts';
import { dayRange, firstUnsettledDayAt } from '../plan/days.ts';
import { CursorWithoutEnd, cursorGuard } from '../service/cursor.ts';
import { RequestRefused } from '../service/errors.ts';
import type { Day } from '../warehouse/database.ts';
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
import { type ReadPage, readPage } from './read-page.ts';
import { TooManyRejected, tooManyRejected } from './rejected.ts';
import { inStage, presentParts } from './stages.ts';
import { refuseUnknownFields } from './unknown-fields.ts';

// The states of a window (gmsi.windows.state); test/warehouse/window-states.test.ts tries every event in every state.
//
//   planned ─▶ pending ───── claimed ─────▶ draining ──┬── the last page ──────────▶ drained: its days are covered
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
    const isResumed = restarts === 0 && canResume(load, window);
    const drain = isResumed ? await resume(load, window) : await begin(load, window);
    try {
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
interface Drain extends WindowRequest {
  readonly window: ClaimedWindow;
  readonly rules: DrainRules;
  /** When its first page was requested, by this machine's clock; `undefined` if an earlier drain requested it. */
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
  for (let at = drain.from; ; ) {
    silences = await refuseIfLost(load, at, silences);
    const page = await onePage(load, drain, at);
    await load.origin.check(load.client.servedBy, load.client.answeredAt);
    refuseOtherDays(page, drain);
    if (page.nextToken !== null) acceptToken(page.nextToken);
    drain.met.take(page);
    yield { ...page, series: drain.series, rowsMet: drain.met.perDay };
    if (page.nextToken === null || load.stop.aborted) return;
    at = { ...at, pages: at.pages + 1, nextToken: page.nextToken };
  }
}

/**
 * Asks the warehouse whether the window is still this load's, if its process has been silent since that was last known; then no
 * request is spent on another load's window. A process may have sent a heartbeat again after its silence.
 * @returns the process's silences before the answer
 */
async function refuseIfLost(
  { process, warehouse, loadId }: Load,
  at: Checkpoint,
  known: number | undefined,
): Promise<number> {
  if (process.silences === known) return known;
  await process.beat();
  const { silences } = process;
  if (!(await ownsWindow(warehouse, at.windowId, loadId))) throw claimLost(at);
  return silences;
}

/** Fetches a page and reads it at once: rows need much less memory than records while they wait for the commit. */
async function onePage(
  load: Load,
  drain: Drain,
  at: Checkpoint,
): Promise<ReadPage & Pick<DrainedPage, 'at' | 'nextToken'>> {
  const about = { window_id: at.windowId, page: at.pages + 1 };
  try {
    const { records, nextToken } = await inStage('fetch', load, about, () =>
      fetchPage(load.client, drain, at.nextToken, load.abort),
    );
    refuseUnknownFields(records, load.knownFields);
    const read = await inStage('read', load, { ...about, records: records.length }, () =>
      readPage(
        records,
        { ...load, table: load.feed.table, series: drain.series },
        timesRequested(drain, load.clock()),
      ),
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

async function commitNext(load: Load, { rules, ...drain }: Drain, page: DrainedPage): Promise<void> {
  const { read } = drain;
  const { at, records, nextToken } = page;
  read.records += records;
  read.rejected += page.rejectedCount;
  read.outside += page.outside.length;
  const isLast = nextToken === null;
  const incomplete = isLast ? tooManyRejected(read, load.job.service.maxRejectedPercent) : undefined;
  // This compares the clocks, so it must come before load.clock() is read.
  const firstUnsettled = firstUnsettledByClocks(load, drain);
  const now = load.clock();
  const ready: PageToCommit = {
    ...page,
    isDrained: isLast && incomplete === undefined,
    ...witnessedDays(load, drain.window),
    firstUnsettled,
    now,
  };
  const about = { window_id: at.windowId, page: at.pages + 1, records };
  countPage(
    load,
    await inStage('commit', load, about, () => commitPage(load.warehouse, rules, ready, load.partitions)),
  );
  warnOfOtherDays(load, { window: at.windowId }, page.outside);
  if (incomplete !== undefined) throw new TooManyRejected(incomplete);
}

/**
 * Returns the first unsettled day by the earlier clock. The service's clock is known after the first
 * page, so before any window is covered. If the clocks are too far apart, no day counts as covered.
 */
function firstUnsettledByClocks(
  { clocks, job }: Load,
  { window, begunAt }: Pick<Drain, 'window' | 'begunAt'>,
): Day | undefined {
  clocks.compare();
  if (clocks.apart) return window.first_day;
  return begunAt && firstUnsettledDayAt(clocks.earliest(begunAt), job.lookbackDays);
}

/**
 * Returns the days of a window that were loaded before, and the first one that is loaded as its rows appear: the first that may still
 * change, or if the watch of the series only begins, the first that is not over. By the earlier clock, because one that is ahead would
 * make it too late.
 */
function witnessedDays({ clocks, startedAt, job }: Load, { loaded_before, is_watched }: ClaimedWindow) {
  const lookbackDays = is_watched ? job.lookbackDays : 0;
  return {
    witnessed: loaded_before,
    witnessedFrom: firstUnsettledDayAt(clocks.earliest(startedAt), lookbackDays),
  };
}

/** Begins a drain. The day on which it begins decides which days it requests, and which of them count as covered. */
async function begin(load: Load, window: ClaimedWindow): Promise<Drain> {
  const { job, feed, warehouse, clocks } = load;
  const { startDate, endDate } = requestRange(
    dayRange(window.first_day, window.last_day),
    job.service.endDate,
  );
  clocks.compare();
  const begunAt = clocks.machine();
  const range = { start: startDate.toString(), end: endDate?.toString() ?? null };
  const { pageSize } = job.service;
  const firstUnsettled = firstUnsettledDayAt(clocks.earliest(begunAt), job.lookbackDays);
  const from = { windowId: window.window_id, loadId: load.loadId, pages: 0, nextToken: null };
  const series = seriesOnly(window);
  const rows = { table: feed.table, series };
  const { silences } = load.process;
  const begun = await beginDrain(warehouse, from, rows, { ...range, pageSize, firstUnsettled });
  if (!begun) throw claimLost(from);
  return {
    ...requestOf(load, window, { startDate: range.start, endDate: range.end, pageSize }),
    window,
    rules: rulesOf(load, window, begun.isCompared),
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
    ...requestOf(load, window, asked),
    window,
    rules: rulesOf(load, window, window.is_compared),
    begunAt: undefined,
    from: { windowId, loadId, pages, nextToken },
    silences: undefined,
    met: rememberRows(window, job.service.maxPagesWithoutNews, { rows, perDay: window.rows_met }),
    read: {
      records: window.records,
      rejected: window.records_rejected,
      outside: window.records_outside,
    },
  };
}

function requestOf(
  { feed, job }: Load,
  window: ClaimedWindow,
  asked: Pick<WindowRequest, 'startDate' | 'endDate' | 'pageSize'>,
): WindowRequest {
  return { ...asked, feed, series: seriesOnly(window), parameters: job.service.parameters, body: job.body };
}

function rulesOf(load: Load, window: ClaimedWindow, isCompared: boolean): DrainRules {
  const { feed, job, command, acceptRetractions } = load;
  const reachesToday = window.last_day >= load.clock().toISOString().slice(0, 10);
  return {
    job: job.name,
    feed,
    window,
    isCompared,
    acceptRetractions,
    // It is not known whether end_date is included.
    sharesEdges: job.service.endDate === 'unknown',
    reachesToday,
    countsAsNews: command === 'sync' || reachesToday,
  };
}

function claimLost({ windowId }: Checkpoint): ClaimLost {
  return new ClaimLost(`Another load has taken over window ${windowId}.`);
}
