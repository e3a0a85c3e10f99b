import { BudgetSpent, RequestRefused } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import { type ClaimedWindow, type Leaving, leaveWindow } from '../warehouse/queries/claims.ts';
import { leaveRefused } from '../warehouse/queries/refusals.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { ClaimLost } from './commit-page.ts';
import { drainWindow } from './drain-window.ts';
import type { Load } from './load.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How a load ended, and the error that ended it early, if one did. */
export interface LoadEnd {
  readonly outcome: LoadOutcome;
  readonly error: unknown;
}

/**
 * How much an end asks for: a refused key asks for a person, a spent budget for time, and what failed for a rerun alone. So
 * a load that ends by its budget ends like that although windows failed before: until the budget is free, no rerun helps.
 */
const gravity: Record<LoadOutcome, number> = { done: 0, incomplete: 1, interrupted: 2, budget: 3, failed: 4 };

/** Of two ends of one load, the one that counts, whichever came first; of equal ones, the first that says why. */
export function graver(first: LoadEnd, second: LoadEnd): LoadEnd {
  const difference = gravity[second.outcome] - gravity[first.outcome];
  return difference > 0 || (difference === 0 && first.error === undefined) ? second : first;
}

/**
 * What became of a window that was claimed. It has been left accordingly:
 * - `given back`: at its checkpoint; with an end where its error concerns the whole load, which must end like that
 * - `taken over`: another load has it now
 * - `failed` or `refused`: with what the service or the warehouse said
 */
export type WindowEnd =
  | { readonly is: 'drained' | 'taken over' }
  | {
      readonly is: 'failed' | 'refused';
      readonly error: unknown;
      /** True if it says nothing against the windows that follow: the service refuses old days, and answers others. */
      readonly isOfItsSeries: boolean;
    }
  | { readonly is: 'given back'; readonly ends?: LoadEnd & { readonly atOnce: boolean } };

/** Drains a claimed window, counts it, decides what an error means for it and for its load, and leaves it so. */
export async function drainClaimed(load: Load, window: ClaimedWindow): Promise<WindowEnd> {
  try {
    if ((await drainWindow(load, window)) === 'stopped') return giveBack(load, window);
    load.totals.windows_drained++;
    return { is: 'drained' };
  } catch (error) {
    if (load.abort.aborted) return giveBack(load, window);
    if (error instanceof ClaimLost) {
      load.log.warn({ window: window.window_id }, 'another run has taken this window over');
      return { is: 'taken over' };
    }
    const ends = endedBy(error);
    if (ends) return giveBack(load, window, ends);
    return error instanceof RequestRefused ? refuse(load, window, error) : fail(load, window, error);
  }
}

/** How an error ends a load; `undefined` where it concerns one window or series only. */
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
  await leave(load, window, { event: 'release' });
  return ends ? { is: 'given back', ends } : { is: 'given back' };
}

async function fail(load: Load, window: ClaimedWindow, error: unknown): Promise<WindowEnd> {
  load.totals.windows_failed++;
  const message = error instanceof Error ? error.message : String(error);
  await leave(load, window, { event: 'fail', error: message });
  const about = describeWindow(window);
  load.log.warn({ ...about, why: message }, 'a window failed');
  if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'this was not expected');
  return { is: 'failed', error, isOfItsSeries: false };
}

/** Leaves a window that was refused; what that tells of its series, the warehouse decides. */
async function refuse(load: Load, window: ClaimedWindow, error: RequestRefused): Promise<WindowEnd> {
  const { warehouse, loadId, totals, log } = load;
  const at = { windowId: window.window_id, loadId };
  const refusal = { status: error.status, error: error.message };
  const left = await withWarehouseRetries(() =>
    warehouse.transaction().execute((trx) => leaveRefused(trx, at, refusal)),
  );
  if (!left) {
    log.warn({ window: window.window_id }, 'another run has taken this window over');
    return { is: 'taken over' };
  }
  totals.windows_failed += left.counted;
  const about = { ...describeWindow(window), why: error.message };
  log.warn(about, left.state === 'failed' ? 'a window failed' : 'a window was refused');
  if (left.skipped > 0)
    log.warn(
      { ...about, windows: left.skipped },
      'two windows in a row of this series were refused alike; its older ones are not asked for in this run',
    );
  return {
    is: left.state,
    error,
    isOfItsSeries: left.isOlderThanAnswered || totals.windows_drained > 0,
  };
}

async function leave(load: Load, window: ClaimedWindow, leaving: Leaving): Promise<void> {
  const at = { windowId: window.window_id, loadId: load.loadId };
  const leaveIt = () => leaveWindow(load.warehouse, at, leaving);
  try {
    // A window that has just brought the server down must be marked once that is back, or this run would drain it again.
    await (leaving.event === 'release' ? leaveIt() : withWarehouseRetries(leaveIt));
  } catch (error) {
    // Then the lease ends it.
    load.log.warn(
      { window: window.window_id, err: error },
      'the window could not be given back; its lease will run out',
    );
  }
}

/** A window for the log; what its feed is not partitioned by is left out. */
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

/** Windows that may fail in a row; not counting as many as are under way at once, which may all be too old to be answered. */
export const failuresInARow = 10;

/** After so many refusals, the newest windows go first: the old ones of each series would be asked for in vain. */
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
