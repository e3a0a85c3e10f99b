import { Cron } from 'croner';
import type { BudgetSettings } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { requestLimit } from '../rate/budget.ts';
import {
  lockIdleSchedules,
  markDue,
  type StoredSchedule,
  storedJobs,
} from '../warehouse/tables/schedules.ts';
import type { WorkerContext } from './context.ts';

/**
 * Returns a function that marks every job that is due by its schedule or whose pause is over. A job that is still due, or being
 * loaded, is not marked again. Skips schedules that another worker is looking at.
 */
export function createDueMarker(context: WorkerContext): () => Promise<void> {
  /** Schedules that this machine cannot read, each logged once. */
  const unreadable = new Set<string>();
  return async () => {
    const now = context.clock();
    await context.warehouse.transaction().execute(async (trx) => {
      for (const schedule of await lockIdleSchedules(trx)) {
        const since = schedule.resumes_at
          ? await resumesSince(context, schedule, now)
          : scheduledSince(context, schedule, now, unreadable);
        if (!since) continue;
        await markDue(trx, schedule, now);
        const { job, command } = schedule;
        context.log.info({ job, command, since }, 'due');
      }
    });
  };
}

/**
 * Returns since when a job is due by its schedule; `undefined` if it is not due, or this machine does not know its cron
 * expression or time zone.
 */
function scheduledSince(
  { log }: WorkerContext,
  schedule: StoredSchedule,
  now: Date,
  unreadable: Set<string>,
): Date | undefined {
  try {
    return dueSince(schedule, now);
  } catch (error) {
    // If this threw, no other job could begin either.
    const { job, command, cron, timezone } = schedule;
    const key = JSON.stringify([job, command, cron, timezone]);
    if (unreadable.has(key)) return undefined;
    unreadable.add(key);
    log.error(
      { job, command, cron, timezone, why: (error as Error).message },
      'this machine does not know the cron expression or time zone of a schedule, so it does not begin the job',
    );
    return undefined;
  }
}

/** Returns since when a paused job may continue: its pause is over, its budget was raised, or another key is used. */
async function resumesSince(
  { warehouse, readDefinition, usedRequests }: WorkerContext,
  { job, command, resumes_at, paused_because }: StoredSchedule,
  now: Date,
): Promise<Date | undefined> {
  if (resumes_at! <= now) return resumes_at!;
  if (paused_because !== 'budget') return undefined;
  const [stored] = await storedJobs(warehouse, job);
  if (!stored) return undefined;
  let budget: BudgetSettings;
  try {
    ({ budget } = readDefinition(job, stored.definition));
  } catch (error) {
    // If this threw, no other job could begin either.
    if (error instanceof JobFileError) return undefined;
    throw error;
  }
  return (await usedRequests()) < requestLimit(command, budget) ? now : undefined;
}

/**
 * Returns when a schedule was first due since it last began; `undefined` if it is not due yet. One load catches up on all
 * missed times.
 *
 * Daylight saving time: if clocks skip the time of a daily schedule, it is due at the end of the gap; if that time comes
 * twice, it is due the first time. Hourly schedules are due after every hour that passes.
 * @throws if this machine does not know the cron expression or the time zone
 */
export function dueSince(
  { cron, timezone, fired_at }: Pick<StoredSchedule, 'cron' | 'timezone' | 'fired_at'>,
  now: Date,
): Date | undefined {
  if (cron === null) return undefined;
  const due = new Cron(cron, { mode: '5-part', timezone }).nextRun(fired_at);
  return due !== null && due <= now ? due : undefined;
}
