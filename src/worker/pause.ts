import { BudgetSpent } from '../service/errors.ts';
import { pauseSchedule } from '../warehouse/tables/jobs.ts';
import { withdrawLabelled } from '../warehouse/tables/queue.ts';
import { finishRun } from '../warehouse/tables/runs.ts';
import type { OfJob, WorkerContext } from './context.ts';
import { runLabel } from './queue.ts';

/** The first pause for failures, and the longest, in minutes. */
const failurePause = { first: 1, longest: 60 };

/**
 * Ends a job's run, if it has one, and pauses the job: until the first of the next month (UTC) if the budget is spent, else
 * for a time that doubles with each pause. The job's windows keep their state; none is queued before the pause ends.
 */
export async function pauseJob(
  { warehouse, clock, log, events }: WorkerContext,
  { job, command }: OfJob,
  runId: number | undefined,
  error: Error,
): Promise<void> {
  const isSpent = error instanceof BudgetSpent;
  const because = isSpent ? 'budget' : 'failures';
  const resumesAt = (pauses: number) => {
    const minutes = Math.min(failurePause.first * 2 ** pauses, failurePause.longest);
    return isSpent ? error.resumesAt : new Date(clock().getTime() + minutes * 60_000);
  };
  const until = await warehouse.transaction().execute(async (trx) => {
    if (runId !== undefined) {
      // Another task or worker has ended the run already.
      if (!(await finishRun(trx, runId, isSpent ? 'budget' : 'incomplete', error.message))) return undefined;
      await withdrawLabelled(trx, runLabel(runId));
    }
    return pauseSchedule(trx, { job, command }, { because, error: error.message, resumesAt });
  });
  if (!until) return;
  log.warn(
    { job, command, until, why: error.message },
    isSpent
      ? 'the request budget is spent; the job continues by itself next month'
      : 'the job failed several times in a row; it continues by itself after a pause',
  );
  events.emit({ type: 'job paused', job, command, because, error, resumesAt: until });
}

/**
 * Handles a job that cannot run as defined: ends its run as failed, if it has one. The job is tried again when it is next
 * due. Its windows keep their state.
 */
export async function refuseJob(
  { warehouse, log, events }: WorkerContext,
  { job, command }: OfJob,
  runId: number | undefined,
  error: Error,
): Promise<void> {
  if (runId !== undefined) {
    const ended = await warehouse.transaction().execute(async (trx) => {
      if (!(await finishRun(trx, runId, 'failed', error.message))) return false;
      await withdrawLabelled(trx, runLabel(runId));
      return true;
    });
    // Another worker has ended the run already.
    if (!ended) return;
  }
  log.error(
    { job, command, why: error.message },
    'a job cannot run as defined; it is tried again when it is next due',
  );
  events.emit({ type: 'job refused', job, command, error });
}
