import { runWithLearnedReading } from '../pipeline/learned-reading.ts';
import type { RunContext } from '../pipeline/open-load.ts';
import { planDueSync } from '../pipeline/plan-sync.ts';
import { type PlanOptions, planWindows } from '../pipeline/plan-windows.ts';
import { type ResolvedRun, resolveRun } from '../pipeline/resolve-job.ts';
import { nameOfSync } from '../pipeline/sync.ts';
import { withWarehouseRetries } from '../pipeline/warehouse-retries.ts';
import { countOpen } from '../warehouse/queries/claims.ts';
import { addTasks, withdrawLabelled } from '../warehouse/queries/queue.ts';
import { beginRun, endChangedRun, type PlannedRun } from '../warehouse/queries/runs.ts';
import { claimSync } from '../warehouse/queries/sync-lock.ts';
import type { JobCommand } from '../warehouse/tables/database.ts';
import { runLabel, tendTask } from './tasks.ts';

/** A run that was handed to the workers. */
export interface BegunRun {
  readonly runId: number;
  /** Windows that are to be drained, those that were planned before included. */
  readonly windows: number;
  /** How a history limit shortens the job's period, if it does. */
  readonly historyLimit: ResolvedRun['historyLimit'];
}

type Planned = PlannedRun & Pick<BegunRun, 'historyLimit'>;

/**
 * Plans a run of a job and hands it to the workers.
 * @returns `undefined` where there is nothing to do: the job's period has not begun, or `gmsi sync` is at the same job
 * @throws what a job cannot be resolved by
 */
export async function planRun(
  given: RunContext,
  command: JobCommand,
  options: PlanOptions,
): Promise<BegunRun | undefined> {
  const context = await runWithLearnedReading(given);
  if (command === 'backfill') return begin(context, await planBackfillRun(context, options));
  const { warehouse, job, log } = context;
  // Held until the run has begun: `gmsi sync`, which looks for a run once the claim is its own, would find none before.
  await using claim = await claimSync(warehouse, nameOfSync(job));
  if (!claim.isOurs) {
    log.info({ job: job.name }, 'gmsi sync is at this job already; left to that');
    return undefined;
  }
  return await begin(context, await planSyncRun(context));
}

async function begin(
  { warehouse, leaseSeconds }: RunContext,
  planned: Planned | undefined,
): Promise<BegunRun | undefined> {
  if (!planned) return undefined;
  const runId = await withWarehouseRetries(() =>
    warehouse.transaction().execute(async (trx) => {
      const changed = await endChangedRun(trx, planned, planned.scope);
      if (changed !== undefined) await withdrawLabelled(trx, runLabel(changed));
      const id = await beginRun(trx, planned);
      await addTasks(trx, [tendTask(id)]);
      return id;
    }),
  );
  const nobody = { loadId: 0, leaseSeconds };
  const { free, held } = await withWarehouseRetries(() => countOpen(warehouse, planned.scope, nobody));
  return { runId, windows: free + held, historyLimit: planned.historyLimit };
}

async function planBackfillRun(context: RunContext, options: PlanOptions): Promise<Planned | undefined> {
  const { warehouse, job } = context;
  const { scope, historyLimit } = await resolveRun(context);
  if (!scope) return undefined;
  await planWindows(warehouse, job, scope, options);
  const newestFirst = job.order === 'newest-first';
  return {
    ...{ job: job.name, command: 'backfill', scope, unsettledFrom: null, newestFirst, live: [] },
    historyLimit,
  };
}

async function planSyncRun(context: RunContext): Promise<Planned | undefined> {
  const { job } = context;
  const run = await resolveRun(context);
  const plan = run.scope && (await planDueSync(context, run, run.scope));
  if (!plan) return undefined;
  const { scope, unsettledFrom, live } = plan;
  const { historyLimit } = run;
  const newestFirst = job.order === 'newest-first';
  return { job: job.name, command: 'sync', scope, unsettledFrom, newestFirst, live, historyLimit };
}
