import { withWarehouseRetries } from '../pipeline/warehouse-retries.ts';
import { withdrawLabelled } from '../warehouse/queries/queue.ts';
import { finishRun } from '../warehouse/queries/runs.ts';
import type { WorkerContext } from './context.ts';
import type { OfJob } from './events.ts';
import { runLabel } from './tasks.ts';

/**
 * Ends a job's run, where it has one, as failed, and leaves the job until it is due again: as it is, it cannot be run. Its
 * windows stay as they are.
 */
export async function refuseJob(
  { warehouse, log, events }: WorkerContext,
  { job, command }: OfJob,
  runId: number | undefined,
  error: Error,
): Promise<void> {
  if (runId !== undefined) {
    const ended = await withWarehouseRetries(() =>
      warehouse.transaction().execute(async (trx) => {
        if (!(await finishRun(trx, runId, 'failed', error.message))) return false;
        await withdrawLabelled(trx, runLabel(runId));
        return true;
      }),
    );
    // Another worker has found out before.
    if (!ended) return;
  }
  log.error({ job, command, why: error.message }, 'a job cannot be run; left until it is due again');
  events.emit({ type: 'job refused', job, command, error });
}
