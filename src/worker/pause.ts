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
 * for a time that doubles with each pause. Its windows stay as they are; none is queued until then.
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
      // Another task or worker has done this before.
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
 * Ends a job's run, if it has one, as failed, until the job is due again: in its present form it cannot run. Its windows
 * stay as they are.
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
    // Another worker has done this before.
    if (!ended) return;
  }
  log.error({ job, command, why: error.message }, 'a job cannot be run; left until it is due again');
  events.emit({ type: 'job refused', job, command, error });
}
