import { setTimeout as sleep } from 'node:timers/promises';
import { GmsiError } from '../errors.ts';
import { cutRefusedWindows } from '../plan/plan-windows.ts';
import { BudgetSpent, RequestRefused } from '../service/errors.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { ClaimLost, forLog, WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import { leaveRefused } from '../warehouse/tables/refusals.ts';
import {
  type ClaimedWindow,
  claimWindow,
  countByState,
  countOpen,
  type Leaving,
  leaveWindow,
  releaseWindows,
} from '../warehouse/tables/windows.ts';
import { drainWindow } from './drain-window.ts';
import type { Load, UnderWay } from './load.ts';
import { OtherDays } from './other-days.ts';

/** How long to wait before looking again for windows that another load holds, in milliseconds. */
const pollInterval = 500;

/**
 * Drains all open windows of a load's job, several at a time. Waits for windows that another load holds, and takes them over
 * if that load is silent for its lease. If this ends with `done`, the job has no open window.
 * @param end fires the load's `stop` signal and, as its argument says, its `abort` signal
 */
export async function drainAll(
  load: Load,
  leaseSeconds: number,
  end: (underWay: UnderWay) => void,
): Promise<LoadEnd> {
  const run = { loadId: load.loadId, leaseSeconds };
  const { concurrency } = load.job.service;
  const streak = failureStreak(concurrency);
  let ended: LoadEnd | undefined;
  let otherDays: OtherDays | undefined;

  function endEarly(outcome: LoadOutcome, error: unknown, underWay: UnderWay): void {
    ended = graver(ended ?? { outcome, error }, { outcome, error });
    end(underWay);
  }

  async function work(): Promise<void> {
    while (!load.stop.aborted) {
      const order = streak.refusals >= refusalsBeforeTurning ? 'newest-first' : load.job.order;
      const window = await claimWindow(load.warehouse, load.scope, { ...run, order });
      if (!window) {
        if (await moreToCome()) continue;
        return;
      }
      const left = await drainClaimed(load, window);
      if (left.is === 'given back' && left.ends)
        endEarly(left.ends.outcome, left.ends.error, left.ends.atOnce ? 'abort' : 'finish');
      if ('error' in left && left.error instanceof OtherDays) otherDays ??= left.error;
      if (streak.count(left) && 'error' in left) endEarly('incomplete', left.error, 'abort soon');
    }
  }

  let saidWaiting = false;
  async function moreToCome(): Promise<boolean> {
    const { free, held } = await countOpen(load.warehouse, load.scope, run);
    if (free + held === 0) return false;
    if (free === 0 && !saidWaiting) {
      saidWaiting = true;
      load.log.info(
        { windows: held },
        `another load holds ${held} windows of this job; waiting for it, or for its lease of ${leaseSeconds} s to run out`,
      );
    }
    await sleep(free > 0 ? pollInterval / 10 : pollInterval, undefined, { signal: load.stop }).catch(
      () => {},
    );
    return true;
  }

  const unlessBroken = (part: Promise<void>) =>
    part.catch((error: unknown) => endEarly('incomplete', error, 'abort'));

  let goesOn = false;
  for (let round = 0; round === 0 || (goesOn && !load.stop.aborted); round++) {
    goesOn = false;
    await Promise.all(Array.from({ length: concurrency }, () => unlessBroken(work())));
    if (load.stop.aborted) break;
    // If the reply to a claim was lost, this load holds a window that nobody drains.
    await unlessBroken(
      releaseWindows(load.warehouse, load.loadId).then((released) => {
        goesOn ||= released > 0;
      }),
    );
    await unlessBroken(
      cutRefusedWindows(load.warehouse, load.scope, round, load).then((hasMore) => {
        goesOn ||= hasMore;
      }),
    );
  }

  if (ended) return ended;
  if (load.stop.aborted) return { outcome: 'interrupted', error: undefined };
  // Also windows that another load failed on meanwhile: they are not loaded.
  const { failed, refused } = await countByState(load.warehouse, load.scope);
  return failed + refused > 0
    ? { outcome: 'incomplete', error: otherDays }
    : { outcome: 'done', error: undefined };
}

/** How a load ended, and the error that ended it early, if one did. */
export interface LoadEnd {
  readonly outcome: LoadOutcome;
  readonly error: unknown;
}

/**
 * How serious an end is: a refused key needs a person, a spent budget needs time, and failed windows need only a rerun. So a
 * spent budget counts more than windows that failed before: until the next month, no rerun helps.
 */
const gravity: Record<LoadOutcome, number> = { done: 0, incomplete: 1, interrupted: 2, budget: 3, failed: 4 };

/** Of two ends of one load, the more serious one; of equal ones, the first that has an error. */
export function graver(first: LoadEnd, second: LoadEnd): LoadEnd {
  const difference = gravity[second.outcome] - gravity[first.outcome];
  return difference > 0 || (difference === 0 && first.error === undefined) ? second : first;
}

/**
 * How the drain of a claimed window ended. The window is in this state:
 * - `given back`: at its checkpoint; with an `end` if its error ends the whole load
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
  | { readonly is: 'given back'; readonly ends?: LoadEnd & { readonly atOnce: boolean } };

/** Drains a claimed window, counts it, and decides what an error means for the window and for the load. */
export async function drainClaimed(load: Load, window: ClaimedWindow): Promise<WindowEnd> {
  try {
    if ((await drainWindow(load, window)) === 'stopped') return giveBack(load, window);
    load.totals.windows_drained++;
    return { is: 'drained' };
  } catch (error) {
    if (load.abort.aborted) return giveBack(load, window);
    if (error instanceof ClaimLost) {
      load.log.warn({ window: window.window_id }, 'another load has taken this window over');
      return { is: 'taken over' };
    }
    const ends = endedBy(error);
    if (ends) return giveBack(load, window, ends);
    return error instanceof RequestRefused ? refuse(load, window, error) : fail(load, window, error);
  }
}

/** How an error ends a load; `undefined` if it concerns one window or series only. */
export function endedBy(error: unknown): (LoadEnd & { readonly atOnce: boolean }) | undefined {
  if (error instanceof WarehouseUnavailable || error instanceof WarehouseFull)
    return { outcome: 'incomplete', error, atOnce: true };
  if (error instanceof BudgetSpent) return { outcome: 'budget', error, atOnce: false };
  if (error instanceof GmsiError && error.kind === 'fatal') return { outcome: 'failed', error, atOnce: true };
  return undefined;
}

async function giveBack(
  load: Load,
  window: ClaimedWindow,
  ends?: LoadEnd & { readonly atOnce: boolean },
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
  if (!left) {
    log.warn({ window: window.window_id }, 'another load has taken this window over');
    return { is: 'taken over' };
  }
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

/** A window for the log, without the dimensions that its feed does not have. */
function describeWindow({ window_id, country, topic, ticker, variant, first_day, last_day }: ClaimedWindow) {
  const series = Object.entries({ country, topic, ticker, variant }).filter(([, value]) => value !== '');
  return { window: window_id, ...Object.fromEntries(series), first_day, last_day };
}

/** Counts windows that fail one after the other, with none drained in between. */
export interface FailureStreak {
  /** @returns true if so many have failed in a row that the rest is not worth its requests */
  count(end: WindowEnd): boolean;
  /** Windows that the service has refused. */
  readonly refusals: number;
}

/** Windows that may fail in a row, besides those under way at once, which may all be too old to be answered. */
export const failuresInARow = 10;

/** After this many refusals the newest windows go first, because the service would probably refuse the old ones too. */
export const refusalsBeforeTurning = 2;

export function failureStreak(atOnce: number): FailureStreak {
  let inARow = 0;
  let refusals = 0;
  return {
    count(end) {
      if (end.is === 'drained') inARow = 0;
      if (end.is !== 'failed' && end.is !== 'refused') return false;
      if (end.error instanceof RequestRefused) refusals++;
      if (end.isOfItsSeries) return false;
      return ++inARow >= failuresInARow + atOnce;
    },
    get refusals() {
      return refusals;
    },
  };
}
