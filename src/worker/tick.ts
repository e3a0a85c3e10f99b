import { Cron } from 'croner';
import type { BudgetSettings } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { requestLimit } from '../rate/budget.ts';
import { lockSchedules, noteFired, readDefinition, type StoredSchedule } from '../warehouse/tables/jobs.ts';
import { addTasks, isQueued } from '../warehouse/tables/queue.ts';
import { runsUnderWay } from '../warehouse/tables/runs.ts';
import type { WorkerContext } from './context.ts';
import { planTask, tendTask } from './queue.ts';

/**
 * Begins every job that is due by its schedule or whose pause is over. A job that is still running begins again when it ends.
 * Runs in one transaction that locks the schedules, so that workers that tick at the same time begin a job only once.
 */
export async function tick(context: WorkerContext): Promise<void> {
  const now = context.clock();
  const begun = await context.warehouse.transaction().execute(async (trx) => {
    const schedules = await lockSchedules(trx);
    const underWay = await runsUnderWay(trx);
    for (const { run_id } of underWay) {
      // The worker that tended the run may have ended. This includes runs without a schedule.
      const tend = tendTask(run_id);
      if (!(await isQueued(trx, tend.key))) await addTasks(trx, [tend]);
    }
    const due: { schedule: StoredSchedule; dueAt: Date }[] = [];
    for (const schedule of schedules) {
      const { job, command } = schedule;
      if (underWay.some((run) => run.job === job && run.command === command)) continue;
      const plan = planTask(schedule);
      if (await isQueued(trx, plan.key)) continue;
      const dueAt = schedule.resumes_at
        ? await resumesSince(context, schedule, now)
        : scheduledSince(context, schedule, now);
      if (!dueAt) continue;
      await addTasks(trx, [plan]);
      await noteFired(trx, schedule, now);
      due.push({ schedule, dueAt });
    }
    return due;
  });
  for (const { schedule, dueAt } of begun) {
    const { job, command } = schedule;
    context.log.info({ job, command, dueAt }, 'due');
    context.events.emit({ type: 'job begun', job, command, dueAt });
  }
}

/**
 * Returns since when a job is due by its schedule; `undefined` if it is not due, or this machine does not know its cron
 * expression or time zone.
 */
function scheduledSince({ log }: WorkerContext, schedule: StoredSchedule, now: Date): Date | undefined {
  try {
    return dueSince(schedule, now);
  } catch (error) {
    // If this threw, no other job could begin either.
    const { job, command, cron, timezone } = schedule;
    log.error(
      { job, command, cron, timezone, why: (error as Error).message },
      'this machine does not know the cron expression or time zone of a schedule, so it does not begin the job',
    );
    return undefined;
  }
}

/** Returns since when a paused job may continue: its pause is over, its budget was raised, or another key is used. */
async function resumesSince(
  { warehouse, readDefinition: parse, usedRequests }: WorkerContext,
  { job, command, resumes_at, paused_because }: StoredSchedule,
  now: Date,
): Promise<Date | undefined> {
  if (resumes_at! <= now) return resumes_at!;
  if (paused_because !== 'budget') return undefined;
  const definition = await readDefinition(warehouse, job);
  if (!definition) return undefined;
  let budget: BudgetSettings;
  try {
    ({ budget } = parse(job, definition));
  } catch (error) {
    // If this threw, no other job could begin either.
    if (error instanceof JobFileError) return undefined;
    throw error;
  }
  return (await usedRequests()) < requestLimit(command, budget) ? now : undefined;
}

/**
 * Returns when a schedule was first due since it last began; `undefined` if it is not due yet. One run catches up on all
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
