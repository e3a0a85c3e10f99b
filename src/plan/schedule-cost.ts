import { Cron } from 'croner';
import type { Job } from '../config/job.ts';
import { longestWindowDays } from './cut-windows.ts';

/** The parts of a job that decide how many requests its schedule needs. */
export type Scheduled = Pick<Job, 'lookbackDays' | 'stepDays'> & {
  readonly schedule: NonNullable<Job['schedule']>;
  readonly service: Pick<Job['service'], 'endDate'>;
};

/** How many runs a schedule has in some days, and how many of them are the first run of a day (UTC). */
interface Runs {
  readonly all: number;
  readonly firstOfDay: number;
}

/** The least requests: one page a window, and one live answer a series if there is a live feed. */
export interface ScheduleCost {
  readonly syncs: number;
  readonly backfills: number;
  readonly syncRequests: number;
  readonly backfillRequests: number;
}

const none: Runs = { all: 0, firstOfDay: 0 };

/** Returns how many windows consecutive days up to today need. */
export function windowsIn(
  days: number,
  { stepDays, service }: Pick<Job, 'stepDays'> & { readonly service: Pick<Job['service'], 'endDate'> },
): number {
  if (service.endDate === 'ignored') return 1;
  return Math.ceil(days / longestWindowDays(stepDays, service.endDate));
}

/** Returns the least requests of a poll, given the days since the last one. */
export function pollCost(job: Omit<Scheduled, 'schedule'>, daysSince: number, hasLive: boolean): number {
  return windowsIn(job.lookbackDays + 1 + Math.floor(daysSince), job) + (hasLive ? 1 : 0);
}

/** Counts the runs of a cron expression in `days` from an instant on. */
export function runsOf(
  expression: string | undefined,
  timezone: string,
  { from, days }: { from: Date; days: number },
): Runs {
  if (expression === undefined) return none;
  const cron = new Cron(expression, { timezone, mode: '5-part' });
  // A run at the very end belongs to the next month.
  const end = from.getTime() + days * 24 * 3600 * 1000;
  let all = 0;
  const daysOfRuns = new Set<string>();
  for (let run = cron.nextRun(from); run && run.getTime() <= end; run = cron.nextRun(run)) {
    all++;
    daysOfRuns.add(run.toISOString().slice(0, 10));
  }
  return { all, firstOfDay: daysOfRuns.size };
}

/**
 * Returns the requests of a job's schedule over some days, once all settled days are covered. Every run drains the lookback
 * days and today again; the first run of a day drains one more day, which has just settled.
 */
export function costOfSchedule(
  job: Scheduled,
  { series, hasLive }: { series: number; hasLive: boolean },
  span: { from: Date; days: number },
): ScheduleCost {
  const { schedule, lookbackDays } = job;
  const syncs = runsOf(schedule.sync, schedule.timezone, span);
  const backfills = runsOf(schedule.backfill, schedule.timezone, span);
  const usual = windowsIn(lookbackDays + 1, job);
  const first = windowsIn(lookbackDays + 2, job);
  const windows = (runs: Runs) => (runs.all - runs.firstOfDay) * usual + runs.firstOfDay * first;
  return {
    syncs: syncs.all,
    backfills: backfills.all,
    syncRequests: series * (windows(syncs) + (hasLive ? syncs.all : 0)),
    backfillRequests: series * windows(backfills),
  };
}

/**
 * Returns the reserve that a job lacks: backfills stop at the reserve, syncs do not, so with less than what syncs need, backfills
 * can use up their requests. `undefined` if the reserve is enough, or if syncs need more than the whole budget.
 */
export function lackingReserve(
  { requestsPerMonth, reserve }: Job['budget'],
  { syncRequests, backfills }: { readonly syncRequests: number; readonly backfills: number },
): number | undefined {
  const isEnough = backfills === 0 || syncRequests <= reserve;
  return isEnough || syncRequests >= requestsPerMonth ? undefined : syncRequests;
}
