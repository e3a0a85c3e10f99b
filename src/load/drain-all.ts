import { setTimeout as sleep } from 'node:timers/promises';
import { kindOf } from '../errors.ts';
import { RequestRefused } from '../service/errors.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { claimWindow, countByState, countOpen, leaveWindows } from '../warehouse/tables/windows.ts';
import { drainWindow } from './drain.ts';
import { type LoadEnd, moreSevere, type UnderWay } from './ends.ts';
import type { LeftWindow } from './leave-window.ts';
import type { Load } from './load.ts';

/** Milliseconds between two looks for windows that another load has claimed. */
const pollInterval = 500;

/**
 * How many windows may fail in a row before the load ends. As many as are under way may fail on top, since all of those may lie
 * before the history limit.
 */
export const failuresInARow = 10;

/**
 * Drains all open windows of a load's job, several at a time. Waits for windows that another load has claimed, and takes
 * them over once its lease has run out. After `done`, the job has no open window.
 */
export async function drainAll(load: Load): Promise<LoadEnd> {
  const { leaseSeconds } = load.process;
  const claimant = { loadId: load.loadId, leaseSeconds };
  const { concurrency } = load.job.service;
  let failedInARow = 0;
  /** Windows that the service has refused. */
  let refusals = 0;
  let ended: LoadEnd | undefined;
  let mismatch: unknown;

  function endLoad(outcome: LoadOutcome, error: unknown, underWay: UnderWay): void {
    ended = moreSevere(ended ?? { outcome, error }, { outcome, error });
    load.end(underWay);
  }

  /** Returns true if so many windows have failed in a row that the load should send no more requests. */
  function isHopeless(left: LeftWindow): boolean {
    if (left.is === 'drained') failedInARow = 0;
    if (left.is !== 'failed' && left.is !== 'refused') return false;
    if (left.error instanceof RequestRefused) refusals++;
    return !left.concernsSeriesOnly && ++failedInARow >= failuresInARow + concurrency;
  }

  async function work(): Promise<void> {
    while (!load.stop.aborted) {
      // After a refusal the newest windows go first: the service would probably refuse the other old ones, too.
      const order = refusals > 0 ? 'newest-first' : load.job.order;
      const window = await claimWindow(load.warehouse, load.scope, { ...claimant, order });
      if (!window) {
        if (await waitForWindows()) continue;
        return;
      }
      const left = await drainWindow(load, window);
      if (left.is === 'pending' && left.end) endLoad(left.end.outcome, left.end.error, left.end.underWay);
      if ('error' in left && kindOf(left.error) === 'job') mismatch ??= left.error;
      if (isHopeless(left) && 'error' in left) endLoad('incomplete', left.error, 'abort soon');
    }
  }

  let hasLoggedWait = false;
  /** @returns false if no window is open, so that there is nothing to wait for */
  async function waitForWindows(): Promise<boolean> {
    const { free, held } = await countOpen(load.warehouse, load.scope, claimant);
    if (free + held === 0) return false;
    if (free === 0 && !hasLoggedWait) {
      hasLoggedWait = true;
      load.log.info(
        { windows: held },
        `another load has claimed ${held} ${held === 1 ? 'window' : 'windows'} of this job; waiting until it ` +
          `finishes them or its lease of ${leaseSeconds} s runs out`,
      );
    }
    await sleep(free > 0 ? pollInterval / 10 : pollInterval, undefined, { signal: load.stop }).catch(
      () => {},
    );
    return true;
  }

  const unlessBroken = (part: Promise<void>) =>
    part.catch((error: unknown) => endLoad('incomplete', error, 'abort'));

  // If the reply to a claim was lost, this load owns a window that nobody drains. So this leaves them pending, and goes round
  // again if there was anything.
  for (let owned = 1; owned > 0 && !load.stop.aborted; ) {
    owned = 0;
    await Promise.all(Array.from({ length: concurrency }, () => unlessBroken(work())));
    if (load.stop.aborted) break;
    await unlessBroken(
      leaveWindows(load.warehouse, load.loadId).then((windows) => {
        owned = windows;
      }),
    );
  }

  if (ended) return ended;
  if (load.stop.aborted) return { outcome: 'interrupted', error: undefined };
  // Counts windows that failed in another load, too: they are not loaded either.
  const { failed, refused } = await countByState(load.warehouse, load.scope);
  return failed + refused > 0
    ? { outcome: 'incomplete', error: mismatch }
    : { outcome: 'done', error: undefined };
}
