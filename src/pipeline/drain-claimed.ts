import { BudgetSpent, RequestRefused } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import { type ClaimedWindow, type Leaving, leaveWindow } from '../warehouse/queries/claims.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { ClaimLost } from './commit-page.ts';
import { drainWindow } from './drain-window.ts';
import type { Load } from './load.ts';
import type { LookBack } from './look-back.ts';

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
 */
export type WindowEnd =
  | { readonly is: 'drained' | 'refused' | 'taken over' }
  | { readonly is: 'failed'; readonly error: unknown }
  | { readonly is: 'given back'; readonly ends?: LoadEnd & { readonly atOnce: boolean } };

/** Drains a claimed window, counts it, decides what an error means for it and for its load, and leaves it so. */
export async function drainClaimed(
  load: Load,
  lookBack: LookBack,
  window: ClaimedWindow,
): Promise<WindowEnd> {
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
    return ends ? giveBack(load, window, ends) : fail(load, lookBack, window, error);
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

async function fail(
  load: Load,
  lookBack: LookBack,
  window: ClaimedWindow,
  error: unknown,
): Promise<WindowEnd> {
  const refusal = await judge(load, lookBack, window, error);
  load.totals.windows_failed += 1 + refusal.marked;
  const message = error instanceof Error ? error.message : String(error);
  await leave(load, window, { event: refusal.event, error: message });
  const about = describeWindow(window);
  const what = refusal.event === 'fail' ? 'failed' : 'was refused';
  load.log.warn({ ...about, why: message }, `a window ${what}`);
  if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'this was not expected');
  return refusal.event === 'fail' ? { is: 'failed', error } : { is: 'refused' };
}

async function judge(load: Load, lookBack: LookBack, window: ClaimedWindow, error: unknown) {
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

async function leave(load: Load, window: ClaimedWindow, leaving: Leaving): Promise<void> {
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

/** A window for the log; what its feed is not partitioned by is left out. */
function describeWindow({ window_id, country, topic, ticker, variant, first_day, last_day }: ClaimedWindow) {
  const series = Object.entries({ country, topic, ticker, variant }).filter(([, value]) => value !== '');
  return { window: window_id, ...Object.fromEntries(series), first_day, last_day };
}

/** Counts windows that fail one after the other, with none drained in between. */
export interface FailureStreak {
  /** @returns true where so many have failed in a row that the rest is not worth its requests */
  count(end: WindowEnd): boolean;
}

/** Windows that may fail in a row; not counting as many as are under way at once, which may all be too old to be answered. */
export const failuresInARow = 10;

export function failureStreak(atOnce: number): FailureStreak {
  let inARow = 0;
  return {
    count({ is }) {
      if (is === 'failed') inARow++;
      else if (is === 'drained' || is === 'refused') inARow = 0;
      return inARow >= failuresInARow + atOnce;
    },
  };
}
