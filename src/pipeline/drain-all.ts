import { setTimeout as sleep } from 'node:timers/promises';
import { BudgetSpent, RequestRefused } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import {
  type ClaimedWindow,
  claimWindow,
  countOpen,
  type Leaving,
  leaveWindow,
  releaseWindows,
} from '../warehouse/queries/claims.ts';
import { countByState } from '../warehouse/queries/window-counts.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { ClaimLost } from './commit-page.ts';
import { drainWindow } from './drain-window.ts';
import type { Load } from './load.ts';
import { watchLookBack } from './look-back.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How a load ended, and the error that ended it early, if one did. */
export interface LoadEnd {
  readonly outcome: LoadOutcome;
  readonly error: unknown;
}

/** How long to wait before looking again for windows that another run holds, in milliseconds. */
const pollInterval = 500;

/**
 * Windows that may fail one after the other, with none drained in between, before the run is ended as hopeless; not
 * counting as many as are under way at once, which may all be older than the service's look-back.
 */
export const failuresInARow = 10;

/**
 * Drains all open windows of a load's job, several at a time. Waits for windows that another run holds, and takes
 * them over where that run falls silent: when this ends with `done`, nothing of the job is open.
 * @param end called to make the load's `stop` (and, `now`, its `abort`) signal fire
 */
export async function drainAll(
  load: Load,
  leaseSeconds: number,
  end: (now: boolean) => void,
): Promise<LoadEnd> {
  const run = { loadId: load.loadId, leaseSeconds };
  const lookBack = watchLookBack(load.warehouse, load.scope, load.loadId);
  let ended: LoadEnd | undefined;
  let inARow = 0;

  function endEarly(outcome: LoadOutcome, error: unknown, now: boolean): void {
    ended ??= { outcome, error };
    end(now);
  }

  async function work(): Promise<void> {
    while (!load.stop.aborted) {
      const order = lookBack.wantsNewestFirst ? 'newest-first' : load.job.order;
      const window = await withWarehouseRetries(() =>
        claimWindow(load.warehouse, load.scope, { ...run, order }),
      );
      if (window) await drainOne(window);
      else if (!(await moreToCome())) return;
    }
  }

  async function drainOne(window: ClaimedWindow): Promise<void> {
    try {
      if ((await drainWindow(load, window)) === 'stopped') return await giveBack(window);
      inARow = 0;
      load.totals.windows_drained++;
    } catch (error) {
      await settle(window, error);
    }
  }

  /** Decides what an error means for its window and for the load. */
  async function settle(window: ClaimedWindow, error: unknown): Promise<void> {
    if (load.abort.aborted) return giveBack(window);
    if (error instanceof ClaimLost) {
      load.log.warn({ window: window.window_id }, 'another run has taken this window over');
      return;
    }
    if (error instanceof WarehouseUnavailable || error instanceof WarehouseFull) {
      endEarly('incomplete', error, true);
      return giveBack(window);
    }
    if (error instanceof BudgetSpent) {
      endEarly('budget', error, false);
      return giveBack(window);
    }
    if (error instanceof GmsiError && error.kind === 'fatal') {
      endEarly('failed', error, true);
      return giveBack(window);
    }
    await fail(window, error);
  }

  async function fail(window: ClaimedWindow, error: unknown): Promise<void> {
    const refusal = await judge(window, error);
    load.totals.windows_failed += 1 + refusal.marked;
    const message = error instanceof Error ? error.message : String(error);
    await leave(window, { event: refusal.event, error: message });
    const about = describeWindow(window);
    load.log.warn(
      { ...about, why: message },
      `a window ${refusal.event === 'fail' ? 'failed' : 'was refused'}`,
    );
    if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'this was not expected');
    inARow = refusal.event === 'fail' ? inARow + 1 : 0;
    if (inARow >= failuresInARow + load.job.service.concurrency) endEarly('incomplete', error, false);
  }

  async function judge(window: ClaimedWindow, error: unknown) {
    if (!(error instanceof RequestRefused)) return { event: 'fail' as const, marked: 0 };
    const refusal = await lookBack.refused(window, error);
    if (!refusal.beyondLookBack) return { event: 'fail' as const, marked: 0 };
    if (refusal.marked > 0) {
      load.log.warn(
        { from: refusal.firstDay, windows: refusal.marked },
        'the service does not answer windows that begin so early; older ones are marked refused without being asked for',
      );
    }
    return { event: 'refuse' as const, marked: refusal.marked };
  }

  const giveBack = (window: ClaimedWindow) => leave(window, { event: 'release' });

  async function leave(window: ClaimedWindow, leaving: Leaving): Promise<void> {
    try {
      await leaveWindow(load.warehouse, { windowId: window.window_id, loadId: load.loadId }, leaving);
    } catch (error) {
      // Then the lease ends it.
      load.log.warn(
        { window: window.window_id, err: error },
        'the window could not be given back; its lease will run out',
      );
    }
  }

  let saidWaiting = false;
  async function moreToCome(): Promise<boolean> {
    const { free, held } = await withWarehouseRetries(() => countOpen(load.warehouse, load.scope, run));
    if (free + held === 0) return false;
    if (free === 0 && !saidWaiting) {
      saidWaiting = true;
      load.log.info(
        { windows: held },
        `another run holds ${held} windows of this job; waiting for it, or for its lease of ${leaseSeconds} s to run out`,
      );
    }
    await sleep(free > 0 ? pollInterval / 10 : pollInterval, undefined, { signal: load.stop }).catch(
      () => {},
    );
    return true;
  }

  const unlessBroken = (part: Promise<void>) =>
    part.catch((error: unknown) => endEarly('incomplete', error, true));

  let goesOn = false;
  do {
    goesOn = false;
    await Promise.all(Array.from({ length: load.job.service.concurrency }, () => unlessBroken(work())));
    if (load.stop.aborted) break;
    // A claim whose reply was lost on the way is a window that this load holds and nobody drains.
    await unlessBroken(
      withWarehouseRetries(() => releaseWindows(load.warehouse, load.loadId)).then((released) => {
        goesOn ||= released > 0;
      }),
    );
    await unlessBroken(
      lookBack.narrow().then((hasMore) => {
        goesOn ||= hasMore;
      }),
    );
  } while (goesOn && !load.stop.aborted);

  if (ended) return ended;
  if (load.stop.aborted) return { outcome: 'interrupted', error: undefined };
  // Also what another run failed at meanwhile: it is not loaded.
  const { failed, refused } = await withWarehouseRetries(() => countByState(load.warehouse, load.scope));
  return { outcome: failed + refused > 0 ? 'incomplete' : 'done', error: undefined };
}

/** A window for the log; what its feed is not partitioned by is left out. */
function describeWindow({ window_id, country, topic, ticker, variant, first_day, last_day }: ClaimedWindow) {
  const series = Object.entries({ country, topic, ticker, variant }).filter(([, value]) => value !== '');
  return { window: window_id, ...Object.fromEntries(series), first_day, last_day };
}
