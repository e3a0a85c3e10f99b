import { Temporal } from 'temporal-polyfill';
import { cursorGuard } from '../api/cursor.ts';
import { RequestRefused } from '../api/errors.ts';
import type { Series } from '../feeds/feed.ts';
import { beginDrain, type ClaimedWindow } from '../warehouse/queries/claims.ts';
import { dayRange } from '../window/day-range.ts';
import { requestRange } from '../window/request-range.ts';
import { settledBefore } from '../window/wanted-days.ts';
import { ClaimLost, commitPage } from './commit-page.ts';
import { fetchPage, type WindowRequest } from './fetch-page.ts';
import { countPage, type Load } from './load.ts';
import { type ReadPage, readPage } from './read-page.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How often a window may begin again at its first page because the service no longer takes its token. */
const restartsAllowed = 2;

/**
 * Drains a claimed window to its end, or until the load is to stop: page by page, each asked for with the token of the
 * page before, each committed with its checkpoint; the next page is fetched while the last one is being committed.
 * @returns `drained`, or `stopped` where the load stops and the window stays at its checkpoint
 * @throws whatever a page could not be had or committed for; what is committed stays
 */
export async function drainWindow(load: Load, claimed: ClaimedWindow): Promise<'drained' | 'stopped'> {
  let window = canResume(load, claimed) ? claimed : { ...claimed, next_token: null, pages: 0 };
  for (let restarts = 0; ; restarts++) {
    const request =
      window.next_token === null ? await begin(load, window, restarts > 0) : resume(load, window);
    try {
      return await drainFrom(load, window, request);
    } catch (error) {
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
 * A window goes on at its checkpoint, with the page size that its cursor is bound to; where the job now asks for smaller
 * pages, those may be what makes it drainable at all, so it begins again. Without a token it begins at its first page,
 * whatever an earlier drain had counted.
 */
function canResume({ job }: Load, { next_token, page_size }: ClaimedWindow): boolean {
  return next_token !== null && page_size! <= job.service.pageSize;
}

/** The service refused a request that carried a token: it may have expired, so the window can begin again. */
class TokenRefused extends Error {
  override readonly cause: RequestRefused;

  constructor(cause: RequestRefused) {
    super(cause.message);
    this.cause = cause;
  }
}

/** A page that waits to be committed. */
interface PageInHand extends ReadPage {
  /** How many records the page had, readable or not. */
  readonly records: number;
  readonly nextToken: string | null;
}

async function drainFrom(
  load: Load,
  window: ClaimedWindow,
  request: WindowRequest,
): Promise<'drained' | 'stopped'> {
  const guard = cursorGuard(window.next_token);
  let token = window.next_token;
  let pending = ask(load, window, request, token);
  for (let pages = window.pages; ; pages++) {
    const page = await pending;
    await load.origin.check(load.client.servedBy);
    if (page.nextToken !== null) guard.accept(page.nextToken);
    const goesOn = page.nextToken !== null && !load.stop.aborted;
    if (goesOn) {
      pending = ask(load, window, request, page.nextToken);
      // Awaited in the next round; if this page's commit fails before that, its failure is of no interest.
      pending.catch(() => {});
    }
    await commit(load, window, request, { page, token, pages });
    if (page.nextToken === null) return 'drained';
    if (!goesOn) return 'stopped';
    token = page.nextToken;
  }
}

async function ask(
  load: Load,
  window: ClaimedWindow,
  request: WindowRequest,
  token: string | null,
): Promise<PageInHand> {
  if (!(await load.lease.holds(window.window_id, load.abort))) {
    throw new ClaimLost(`Window ${window.window_id} is no longer this run's.`);
  }
  try {
    const { records, nextToken } = await fetchPage(load.client, request, token, load.abort);
    // Read at once: rows are a fraction of what the service sent, and pages in hand decide how much memory a load needs.
    return { ...readPage(records, load.reader), records: records.length, nextToken };
  } catch (error) {
    if (token !== null && error instanceof RequestRefused) throw new TokenRefused(error);
    throw error;
  }
}

async function commit(
  load: Load,
  window: ClaimedWindow,
  { feed, series }: WindowRequest,
  { page, token, pages }: { page: PageInHand; token: string | null; pages: number },
): Promise<void> {
  const at = { windowId: window.window_id, loadId: load.loadId, pages, nextToken: token };
  const { isBackfilled } = load;
  const reachesToday = window.last_day >= load.clock().toISOString().slice(0, 10);
  const polledAt = load.command === 'sync' || reachesToday ? load.clock() : null;
  const counts = await commitPage(
    load.warehouse,
    {
      feed,
      series,
      isBackfilled,
      at,
      polledAt,
      reachesToday,
      ...page,
    },
    load.partitions,
  );
  countPage(load.totals, counts);
}

/** Fixes what is asked for, and which of the days count as covered at the end, by the day on which the drain begins. */
async function begin(load: Load, window: ClaimedWindow, isRestart: boolean): Promise<WindowRequest> {
  const { job, feed } = load;
  const { startDate, endDate } = requestRange(
    dayRange(window.first_day, window.last_day),
    job.service.endDate,
  );
  const today = Temporal.PlainDate.from(load.clock().toISOString().slice(0, 10));
  const range = { start: startDate.toString(), end: endDate.toString() };
  const fixed = {
    ...range,
    pageSize: job.service.pageSize,
    settledBefore: settledBefore(today, job.lookbackDays).toString(),
    isRestart,
  };
  const at = { windowId: window.window_id, loadId: load.loadId };
  if (!(await withWarehouseRetries(() => beginDrain(load.warehouse, at, fixed), load.abort))) {
    throw new ClaimLost(`Window ${window.window_id} is no longer this run's.`);
  }
  const { pageSize } = fixed;
  return {
    feed,
    series: seriesOf(window),
    startDate: range.start,
    endDate: range.end,
    pageSize,
    parameters: job.service.parameters,
    body: job.body,
  };
}

function resume({ feed, job }: Load, window: ClaimedWindow): WindowRequest {
  return {
    feed,
    series: seriesOf(window),
    startDate: window.request_start!,
    endDate: window.request_end!,
    pageSize: window.page_size!,
    parameters: job.service.parameters,
    body: job.body,
  };
}

function seriesOf({ country, topic, ticker, match_type, variant }: ClaimedWindow): Series {
  return { country, topic, ticker, matchType: match_type, variant };
}
