import { JobFileError } from '../config/problems.ts';
import { GmsiError } from '../errors.ts';
import type { LoadContext } from '../load/load.ts';
import { type ResolvedLoad, resolveLoad, withLearnedFacts } from '../load/resolve-load.ts';
import { nameOfSync } from '../load/sync.ts';
import { planRefresh } from '../plan/plan-refresh.ts';
import { planDueSync } from '../plan/plan-sync.ts';
import { type PlanOptions, planWindows } from '../plan/plan-windows.ts';
import { BudgetSpent, LookupUnreadable } from '../service/errors.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { readDefinition } from '../warehouse/tables/jobs.ts';
import { addTasks, withdrawLabelled } from '../warehouse/tables/queue.ts';
import { beginRun, endChangedRun, type PlannedRun } from '../warehouse/tables/runs.ts';
import { countOpen } from '../warehouse/tables/windows.ts';
import { claim } from '../warehouse/turns.ts';
import type { WorkerContext } from './context.ts';
import { pauseJob, refuseJob } from './pause.ts';
import { type PlanPayload, planTask, runLabel, tendTask } from './queue.ts';

/** Seconds for which a stopping worker may still take tasks. A task that it leaves to others is delayed by as much. */
const secondsToStop = 1;

/**
 * Plans a run of a job that is due.
 * @param isLast true for the last attempt; a temporary error then pauses the job, so that the run is not lost
 * @throws a temporary error, for example if the service does not answer
 */
export async function plan(context: WorkerContext, due: PlanPayload, isLast: boolean): Promise<void> {
  const { warehouse, stop } = context;
  // Another worker plans the run: it must not be lost when this worker stops.
  const leaveToOthers = () => addTasks(warehouse, [planTask(due, secondsToStop)]);
  if (stop.aborted) return leaveToOthers();
  try {
    await planDue(context, due);
  } catch (error) {
    if (stop.aborted) await leaveToOthers();
    else if (error instanceof BudgetSpent) await pauseJob(context, due, undefined, error);
    else if (error instanceof JobFileError || error instanceof LookupUnreadable)
      await refuseJob(context, due, undefined, error);
    else if (error instanceof GmsiError && error.kind === 'fatal') {
      context.fail(error);
      await leaveToOthers();
    } else if (isLast) await pauseJob(context, due, undefined, error as Error);
    else throw error;
  }
}

async function planDue(context: WorkerContext, { job: name, command }: PlanPayload): Promise<void> {
  const { warehouse, log, clock, databaseClock, leaseSeconds, runBy, stop, events } = context;
  const definition = await readDefinition(warehouse, name);
  if (!definition) return;
  const job = context.readDefinition(name, definition);
  await using service = context.openService(job, command);
  const begun = await planRun(
    {
      job,
      warehouse,
      ...service,
      log,
      clock,
      leaseSeconds,
      runBy,
      stop,
      ...(databaseClock && { databaseClock }),
    },
    command,
    { fullRefresh: false, retryRefused: false },
  );
  if (!begun) return;
  const { runId, windows, historyLimit } = begun;
  log.info({ job: name, command, run: runId, windows, ...(historyLimit && { historyLimit }) }, 'planned');
  events.emit({ type: 'run planned', job: name, command, runId });
}

/** A run that was queued for the workers. */
export interface BegunRun {
  readonly runId: number;
  /** Windows to drain, including those that were planned before. */
  readonly windows: number;
  /** How a history limit shortens the job's period, if it does. */
  readonly historyLimit: ResolvedLoad['historyLimit'];
}

type Planned = PlannedRun & Pick<BegunRun, 'historyLimit'>;

/**
 * Plans a run of a job and queues it for the workers.
 * @returns `undefined` if there is nothing to do: the job's period has not begun, or `gmsi sync` is syncing the same job
 * @throws if the job cannot be resolved
 */
export async function planRun(
  given: LoadContext,
  command: JobCommand,
  options: PlanOptions,
): Promise<BegunRun | undefined> {
  const context = await withLearnedFacts(given);
  if (command === 'backfill') return begin(context, await planBackfillRun(context, options));
  if (command === 'refresh') return begin(context, await planRefreshRun(context));
  const { warehouse, job, log } = context;
  // Held until the run has begun, because `gmsi sync` takes the claim first and then looks for a run.
  await using claimed = await claim(warehouse, 'syncing', nameOfSync(job));
  if (!claimed.isOurs) {
    log.info({ job: job.name }, 'gmsi sync is already loading this job, so the workers do not');
    return undefined;
  }
  return await begin(context, await planSyncRun(context));
}

async function begin(
  { warehouse, leaseSeconds }: LoadContext,
  planned: Planned | undefined,
): Promise<BegunRun | undefined> {
  if (!planned) return undefined;
  const runId = await warehouse.transaction().execute(async (trx) => {
    const changed = await endChangedRun(trx, planned, planned.scope);
    if (changed !== undefined) await withdrawLabelled(trx, runLabel(changed));
    const id = await beginRun(trx, planned);
    await addTasks(trx, [tendTask(id)]);
    return id;
  });
  const nobody = { loadId: 0, leaseSeconds };
  const { free, held } = await countOpen(warehouse, planned.scope, nobody);
  return { runId, windows: free + held, historyLimit: planned.historyLimit };
}

async function planBackfillRun(context: LoadContext, options: PlanOptions): Promise<Planned | undefined> {
  const { warehouse, job } = context;
  const { scope, today, historyLimit } = await resolveLoad(context);
  if (!scope) return undefined;
  await planWindows(warehouse, job, scope, options, today.toString(), context);
  const newestFirst = job.order === 'newest-first';
  return {
    job: job.name,
    command: 'backfill',
    scope,
    firstUnsettled: null,
    newestFirst,
    live: [],
    historyLimit,
  };
}

async function planRefreshRun(context: LoadContext): Promise<Planned | undefined> {
  const { warehouse, job } = context;
  const { scope, today, historyLimit, clocks } = await resolveLoad(context);
  if (!scope) return undefined;
  const windows = await planRefresh(warehouse, job, scope, { now: clocks.now(), today }, context);
  if (windows === 0) return undefined;
  const newestFirst = job.order === 'newest-first';
  return {
    job: job.name,
    command: 'refresh',
    scope,
    firstUnsettled: null,
    newestFirst,
    live: [],
    historyLimit,
  };
}

async function planSyncRun(context: LoadContext): Promise<Planned | undefined> {
  const { job } = context;
  const run = await resolveLoad(context);
  const plan = run.scope && (await planDueSync(context, run.scope, { ...run, now: run.clocks.now() }));
  if (!plan) return undefined;
  const { scope, firstUnsettled, live } = plan;
  const { historyLimit } = run;
  const newestFirst = job.order === 'newest-first';
  return { job: job.name, command: 'sync', scope, firstUnsettled, newestFirst, live, historyLimit };
}
