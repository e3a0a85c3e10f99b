import { setTimeout as sleep } from 'node:timers/promises';
import { cutRefusedWindows } from '../plan/plan-windows.ts';
import { RequestRefused } from '../service/errors.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { claimWindow, countByState, countOpen, releaseWindows } from '../warehouse/tables/windows.ts';
import { drainWindow, type WindowEnd } from './drain.ts';
import { graver, type LoadEnd, type UnderWay } from './ends.ts';
import type { Load } from './load.ts';
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
  const claimant = { loadId: load.loadId, leaseSeconds };
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
      const window = await claimWindow(load.warehouse, load.scope, { ...claimant, order });
      if (!window) {
        if (await moreToCome()) continue;
        return;
      }
      const left = await drainWindow(load, window);
      if (left.is === 'given back' && left.ends)
        endEarly(left.ends.outcome, left.ends.error, left.ends.underWay);
      if ('error' in left && left.error instanceof OtherDays) otherDays ??= left.error;
      if (streak.count(left) && 'error' in left) endEarly('incomplete', left.error, 'abort soon');
    }
  }

  let saidWaiting = false;
  async function moreToCome(): Promise<boolean> {
    const { free, held } = await countOpen(load.warehouse, load.scope, claimant);
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
