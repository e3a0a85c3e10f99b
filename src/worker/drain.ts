import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import { drainWindow, type WindowEnd } from '../load/drain.ts';
import { refusalsBeforeTurning } from '../load/drain-all.ts';
import { readLive } from '../load/read-live.ts';
import { planCutOff } from '../plan/plan-sync.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import { addTasks, withdrawLabelled } from '../warehouse/tables/queue.ts';
import { drainNewestFirst, noteLiveFailures } from '../warehouse/tables/runs.ts';
import { claimOne } from '../warehouse/tables/windows.ts';
import type { WorkerContext } from './context.ts';
import type { Part, Parts } from './parts.ts';
import { pauseJob } from './pause.ts';
import { type DrainPayload, type LivePayload, liveTasks, runLabel } from './queue.ts';

/**
 * Drains one window. Does nothing if the window cannot be claimed: it is drained already, or another load has it and it is
 * queued again once it is free.
 * @throws the window's error, if a later try may succeed
 */
export async function drain(
  context: WorkerContext,
  parts: Parts,
  { run, window }: DrainPayload,
): Promise<void> {
  await parts.within(run, async (part) => {
    if (context.stop.aborted || part.inHand.has(window)) return;
    part.inHand.add(window);
    try {
      await drainInPart(context, parts, part, window);
    } finally {
      part.inHand.delete(window);
    }
  });
}

async function drainInPart(context: WorkerContext, parts: Parts, part: Part, window: number): Promise<void> {
  const { warehouse, leaseSeconds, events } = context;
  const { load, run, streak } = part;
  const { job, command, runId } = run;
  const { loadId } = load;
  const claimed = await claimOne(warehouse, window, { loadId, leaseSeconds });
  if (!claimed) return;

  const end = await drainWindow(load, claimed);
  const error = errorOf(end);
  events.emit({ type: 'window settled', job, command, windowId: window, loadId, as: end.is, error });
  if (end.is === 'given back' && end.ends) {
    if (end.ends.outcome !== 'budget') return context.fail(error);
    parts.leave(runId);
    return pauseJob(context, run, runId, error as Error);
  }
  if (load.clocks.apart) {
    parts.leave(runId);
    return pauseJob(context, run, runId, load.clocks.apart);
  }
  const isHopeless = streak.count(end);
  if (streak.refusals >= refusalsBeforeTurning) await turnAround(context, runId);
  if (isHopeless) {
    parts.leave(runId);
    await pauseJob(context, run, runId, error as Error);
  }
  if (end.is !== 'failed') return;
  // Other errors would repeat: the service would refuse the window again.
  if (!(error instanceof GmsiError) || error.kind === 'retryable') throw error;
}

function errorOf(end: WindowEnd): unknown {
  if (end.is === 'given back') return end.ends?.error;
  return 'error' in end ? end.error : undefined;
}

/**
 * Makes the run drain its newest windows first, because the service refuses old ones; withdraws the tasks queued in the old
 * order.
 */
async function turnAround({ warehouse }: WorkerContext, runId: number): Promise<void> {
  await warehouse.transaction().execute(async (trx) => {
    if (await drainNewestFirst(trx, runId)) await withdrawLabelled(trx, runLabel(runId));
  });
}

/** Reads the live answers of some series. If an answer may be incomplete, plans its days as windows of the same run. */
export async function live(
  context: WorkerContext,
  parts: Parts,
  { run: runId, part: number, command, series }: LivePayload,
): Promise<void> {
  const { warehouse } = context;
  await parts.within(runId, async ({ load, run }) => {
    const done = new Set<Series>();
    const { cutOff, failed, end } = await readLive(load, series, (key) => done.add(key));
    if (cutOff.length > 0) await planCutOff(load, cutOff);
    if (failed > 0) await noteLiveFailures(warehouse, runId, failed);
    const { outcome, error } = end;
    if (outcome === 'interrupted') {
      const rest = series.filter((key) => !done.has(key));
      await addTasks(warehouse, liveTasks(runId, command, rest, number));
    } else if (error !== undefined) {
      const concernsWorker =
        outcome === 'failed' || error instanceof WarehouseUnavailable || error instanceof WarehouseFull;
      if (concernsWorker) return context.fail(error);
      parts.leave(runId);
      await pauseJob(context, run, runId, error as Error);
    }
  });
}
