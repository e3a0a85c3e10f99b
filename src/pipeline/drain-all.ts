import { setTimeout as sleep } from 'node:timers/promises';
import { claimWindow, countOpen, releaseWindows } from '../warehouse/queries/claims.ts';
import { countByState } from '../warehouse/queries/window-counts.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { drainClaimed, failureStreak, graver, type LoadEnd, refusalsBeforeTurning } from './drain-claimed.ts';
import type { Load } from './load.ts';
import type { UnderWay } from './open-load.ts';
import { cutRefusedWindows } from './plan-windows.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How long to wait before looking again for windows that another run holds, in milliseconds. */
const pollInterval = 500;

/**
 * Drains all open windows of a load's job, several at a time. Waits for windows that another run holds, and takes
 * them over where that run falls silent: when this ends with `done`, nothing of the job is open.
 * @param end called to make the load's `stop` signal fire and, as said of the requests under way, its `abort` signal
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

  function endEarly(outcome: LoadOutcome, error: unknown, underWay: UnderWay): void {
    ended = graver(ended ?? { outcome, error }, { outcome, error });
    end(underWay);
  }

  async function work(): Promise<void> {
    while (!load.stop.aborted) {
      const order = streak.refusals >= refusalsBeforeTurning ? 'newest-first' : load.job.order;
      const window = await withWarehouseRetries(() =>
        claimWindow(load.warehouse, load.scope, { ...run, order }),
      );
      if (!window) {
        if (await moreToCome()) continue;
        return;
      }
      const left = await drainClaimed(load, window);
      if (left.is === 'given back' && left.ends)
        endEarly(left.ends.outcome, left.ends.error, left.ends.atOnce ? 'abort' : 'finish');
      if (streak.count(left) && 'error' in left) endEarly('incomplete', left.error, 'abort soon');
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
    part.catch((error: unknown) => endEarly('incomplete', error, 'abort'));

  let goesOn = false;
  for (let round = 0; round === 0 || (goesOn && !load.stop.aborted); round++) {
    goesOn = false;
    await Promise.all(Array.from({ length: concurrency }, () => unlessBroken(work())));
    if (load.stop.aborted) break;
    // A claim whose reply was lost on the way is a window that this load holds and nobody drains.
    await unlessBroken(
      withWarehouseRetries(() => releaseWindows(load.warehouse, load.loadId)).then((released) => {
        goesOn ||= released > 0;
      }),
    );
    await unlessBroken(
      cutRefusedWindows(load.warehouse, load.scope, round).then((hasMore) => {
        goesOn ||= hasMore;
      }),
    );
  }

  if (ended) return ended;
  if (load.stop.aborted) return { outcome: 'interrupted', error: undefined };
  // Also what another run failed at meanwhile: it is not loaded.
  const { failed, refused } = await withWarehouseRetries(() => countByState(load.warehouse, load.scope));
  return { outcome: failed + refused > 0 ? 'incomplete' : 'done', error: undefined };
}
