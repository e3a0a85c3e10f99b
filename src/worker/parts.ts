import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { type FailureStreak, failureStreak } from '../load/drain-all.ts';
import type { LoadEnd } from '../load/ends.ts';
import { clocksOf, countingTotals, type Load, type OpenLoad, openLoad } from '../load/load.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { readDefinition } from '../warehouse/tables/jobs.ts';
import { refreshReason } from '../warehouse/tables/loads.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { addTasks, withdrawLabelled } from '../warehouse/tables/queue.ts';
import { endChangedRun, finishedAmong, type Run, readRun } from '../warehouse/tables/runs.ts';
import type { Service, WorkerContext } from './context.ts';
import { refuseJob } from './pause.ts';
import { planTask, runLabel } from './queue.ts';

/** This worker's part in a run: one load, shared by all tasks of the run that this worker does. */
export interface Part {
  readonly run: Run;
  readonly load: Load;
  readonly streak: FailureStreak;
  /** Windows that tasks of this worker are draining. */
  readonly inHand: Set<number>;
  /** How often this worker has cut the run's refused windows. */
  cutRounds: number;
}

interface OpenPart extends Part {
  readonly opened: OpenLoad;
  readonly service: Service;
}

/** This worker's parts in runs, each opened by its first task and closed once its run is over. */
export interface Parts {
  /** Runs a task of a run; does nothing if the run is over. */
  within(runId: number, task: (part: Part) => Promise<void>): Promise<void>;
  /** The part in a run, if it is open. */
  peek(runId: number): Promise<Part | undefined>;
  /** Makes tasks of the run do nothing from now on. */
  leave(runId: number): void;
  /** Closes parts in runs that are over. */
  closeFinished(): Promise<void>;
  closeAll(end: LoadEnd): Promise<void>;
}

export function keepParts(context: WorkerContext): Parts {
  const parts = new Map<number, { opening: Promise<OpenPart | undefined>; tasks: number; isLeft: boolean }>();

  async function close(runId: number, end: LoadEnd): Promise<void> {
    const entry = parts.get(runId);
    parts.delete(runId);
    const part = await entry?.opening.catch(() => undefined);
    if (!part) return;
    await part.opened.close(end);
    await part.service[Symbol.asyncDispose]();
    const { job, command } = part.run;
    const { loadId } = part.load;
    context.events.emit({ type: 'load closed', job, command, loadId, outcome: end.outcome });
  }

  async function closeFinished(): Promise<void> {
    const idle = [...parts].filter(([, { tasks }]) => tasks === 0).map(([runId]) => runId);
    if (idle.length === 0) return;
    for (const run of await finishedAmong(context.warehouse, idle)) {
      if (parts.get(run.runId)?.tasks !== 0) continue;
      const error = run.error === null ? undefined : new Error(run.error);
      await close(run.runId, { outcome: run.outcome!, error });
    }
  }

  return {
    async within(runId, task) {
      let entry = parts.get(runId);
      if (!entry) {
        entry = { opening: openPart(context, runId), tasks: 0, isLeft: false };
        parts.set(runId, entry);
      }
      if (entry.isLeft) return;
      entry.tasks++;
      try {
        const part = await entry.opening;
        if (part) await task(part);
      } catch (error) {
        // If the part could not be opened, the next task tries again.
        if (!(await entry.opening.catch(() => undefined))) parts.delete(runId);
        throw error;
      } finally {
        entry.tasks--;
      }
    },
    async peek(runId) {
      return parts.get(runId)?.opening.catch(() => undefined);
    },
    leave(runId) {
      const entry = parts.get(runId);
      if (entry) entry.isLeft = true;
    },
    closeFinished,
    async closeAll(end) {
      // A load whose run is over ends with the outcome of the run.
      await closeFinished().catch(() => {});
      await Promise.all([...parts.keys()].map((runId) => close(runId, end)));
    },
  };
}

/** Returns whether a job has changed since its run was planned. If so, ends the run and plans a new one. */
async function isChanged({ warehouse, log }: WorkerContext, run: Run, job: Job): Promise<boolean> {
  const ended = await warehouse.transaction().execute(async (trx) => {
    const runId = await endChangedRun(trx, run, { ...job, isOpenEnded: job.service.endDate === 'ignored' });
    if (runId === undefined) return false;
    await withdrawLabelled(trx, runLabel(runId));
    await addTasks(trx, [planTask(run)]);
    return true;
  });
  if (ended)
    log.warn(
      { job: run.job, command: run.command },
      'a job changed while it was running; it is planned again',
    );
  return ended;
}

async function openPart(context: WorkerContext, runId: number): Promise<OpenPart | undefined> {
  const { warehouse, events } = context;
  const run = await readRun(warehouse, runId);
  if (!run || run.finishedAt) return undefined;
  const definition = await readDefinition(warehouse, run.job);
  if (!definition) return undefined;
  let defined: Job;
  try {
    defined = context.readDefinition(run.job, definition);
  } catch (error) {
    if (!(error instanceof JobFileError)) throw error;
    // If this threw, every task of the run would fail in turn, forever.
    await refuseJob(context, run, runId, error);
    return undefined;
  }
  const { job } = await withLearnedReading(warehouse, defined);
  if (await isChanged(context, run, job)) return undefined;
  const feed = feedNamed(job.feed);
  const service = context.openService(job, run.command);
  const { scope, firstUnsettled } = run;
  const isRefresh = run.command === 'refresh';
  try {
    const { log, clock, leaseSeconds, runBy, stop } = context;
    const running = {
      job,
      warehouse,
      ...service,
      log,
      clock,
      leaseSeconds,
      runBy,
      stop,
      ...(context.databaseClock && { databaseClock: context.databaseClock }),
      ...(isRefresh && { reason: refreshReason }),
    };
    const opened = await openLoad(running, {
      clocks: await clocksOf(running),
      command: run.command === 'sync' ? 'sync' : 'backfill',
      feed,
      scope,
      reader: feed.reader(job.fields),
      origin: originOf(warehouse),
      totals: countingTotals(service.client),
      firstUnsettled,
      windowsPlanned: null,
    });
    const { load } = opened;
    events.emit({ type: 'load opened', job: run.job, command: run.command, loadId: load.loadId });
    return {
      run,
      load,
      opened,
      service,
      inHand: new Set(),
      cutRounds: 0,
      streak: failureStreak(job.service.concurrency),
    };
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}
