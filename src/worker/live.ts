import { planCutOff } from '../pipeline/plan-sync.ts';
import { readLive } from '../pipeline/read-live.ts';
import { withWarehouseRetries } from '../pipeline/warehouse-retries.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import { addTasks } from '../warehouse/queries/queue.ts';
import { noteLiveFailures } from '../warehouse/queries/runs.ts';
import type { SeriesKey } from '../warehouse/queries/window-scope.ts';
import type { WorkerContext } from './context.ts';
import type { Parts } from './parts.ts';
import { pauseJob } from './pause.ts';
import { type LivePayload, liveTasks } from './tasks.ts';

/** Reads the live answers of some series. What may have been cut off is planned as windows of the same run. */
export async function live(
  context: WorkerContext,
  parts: Parts,
  { run: runId, part: number, command, series }: LivePayload,
): Promise<void> {
  const { warehouse } = context;
  await parts.within(runId, async ({ load, run }) => {
    const done = new Set<SeriesKey>();
    const { cutOff, failed, end } = await readLive(load, series, (key) => done.add(key));
    if (cutOff.length > 0) await planCutOff(load, cutOff);
    if (failed > 0) await withWarehouseRetries(() => noteLiveFailures(warehouse, runId, failed));
    const { outcome, error } = end;
    if (outcome === 'interrupted') {
      const rest = series.filter((key) => !done.has(key));
      await withWarehouseRetries(() => addTasks(warehouse, liveTasks(runId, command, rest, number)));
    } else if (error !== undefined) {
      const concernsWorker =
        outcome === 'failed' || error instanceof WarehouseUnavailable || error instanceof WarehouseFull;
      if (concernsWorker) return context.fail(error);
      parts.leave(runId);
      await pauseJob(context, run, runId, error as Error);
    }
  });
}
