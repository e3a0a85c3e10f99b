import type { Transaction } from 'kysely';
import type { BudgetSettings } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { nextRun } from '../plan/next-run.ts';
import { requestLimit } from '../service/budget.ts';
import type { Database } from '../warehouse/database.ts';
import {
  correctTimes,
  lockIdleSchedules,
  longestPause,
  markDue,
  type StoredSchedule,
  storedJobs,
} from '../warehouse/tables/schedules.ts';
import type { WorkerContext } from './context.ts';

/**
 * Returns a function that marks every job that is due by its schedule or whose pause is over. A job that is still due, or being
 * loaded, is not marked again. Skips schedules that another worker is looking at. The time is the database's.
 */
export function createDueMarker(context: WorkerContext): (now: Date) => Promise<void> {
  /** Schedules that this machine cannot read, each logged once. */
  const unreadable = new Set<string>();
  return async (now) => {
    await context.warehouse.transaction().execute(async (trx) => {
      for (const stored of await lockIdleSchedules(trx, context.process)) {
        const schedule = await withoutFuture(context, trx, stored, now);
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

/** Milliseconds by which a stored time may be ahead. Less would make a job due twice after a change to another server. */
const mayBeAhead = 60_000;

/**
 * Returns a schedule without times that are too far in the future: a server's clock that was wrong stored them, and the job
 * would not run until then. The job is next due at its first regular time from now on; a pause for failures is over.
 */
async function withoutFuture(
  { log }: WorkerContext,
  trx: Transaction<Database>,
  stored: StoredSchedule,
  now: Date,
): Promise<StoredSchedule> {
  const { job, command, fired_at, resumes_at, paused_because } = stored;
  const ahead = (time: Date) => time.getTime() - now.getTime();
  // The end of a pause for the budget is not looked at: it ends when requests are left.
  const endsTooLate =
    resumes_at !== null &&
    paused_because === 'failures' &&
    ahead(resumes_at) > longestPause * 60_000 + mayBeAhead;
  const firedTooLate = ahead(fired_at) > mayBeAhead;
  if (!firedTooLate && !endsTooLate) return stored;
  const wrong = { ...(firedTooLate && { fired_at: now }), ...(endsTooLate && { resumes_at: now }) };
  await correctTimes(trx, stored, wrong);
  log.warn(
    { job, command, fired_at, resumes_at, now },
    'a schedule had a time in the future, stored when a clock was wrong; the job is next due by the present time',
  );
  return { ...stored, ...wrong };
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

/**
 * Returns since when a paused job may continue: a pause for failures at its end; one for the budget once requests are left, as
 * with a new month, a larger budget or another key.
 */
async function resumesSince(
  { warehouse, readDefinition, usedRequests }: WorkerContext,
  { job, command, resumes_at, paused_because }: StoredSchedule,
  now: Date,
): Promise<Date | undefined> {
  if (paused_because !== 'budget') return resumes_at! <= now ? resumes_at! : undefined;
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
  schedule: Pick<StoredSchedule, 'cron' | 'timezone' | 'fired_at'>,
  now: Date,
): Date | undefined {
  const due = nextRun(schedule);
  return due && due <= now ? due : undefined;
}
