import { BudgetSpent, LookupUnreadable } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import { JobFileError } from '../job/job-file-error.ts';
import { withWarehouseRetries } from '../pipeline/warehouse-retries.ts';
import { addTasks } from '../warehouse/queries/queue.ts';
import { readDefinition } from '../warehouse/queries/schedules.ts';
import type { WorkerContext } from './context.ts';
import { pauseJob } from './pause.ts';
import { planRun } from './plan-run.ts';
import { refuseJob } from './refuse.ts';
import { type PlanPayload, planTask } from './tasks.ts';

/** How long a worker that stops may still ask for tasks. */
const secondsToStop = 1;

/**
 * Plans a run of a job that is due.
 * @param isLast where planning it is not tried again: then what may pass pauses the job, so that the run is not lost
 * @throws what may pass, such as a service that does not answer
 */
export async function plan(context: WorkerContext, due: PlanPayload, isLast: boolean): Promise<void> {
  const { warehouse, stop } = context;
  // Whoever is next takes it up: a run that is due must not be lost with this worker.
  const leaveToOthers = () => withWarehouseRetries(() => addTasks(warehouse, [planTask(due, secondsToStop)]));
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
  const definition = await withWarehouseRetries(() => readDefinition(warehouse, name));
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
