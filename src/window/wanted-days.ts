import { Temporal } from 'temporal-polyfill';
import type { Job } from '../job/job.ts';
import type { DayRange } from './day-range.ts';

/**
 * The days that a job asks for as of `today` (UTC), today itself included where the job reaches so far.
 * Days to come are left out; `undefined` where the job's first day is still to come.
 */
export function wantedDays(
  job: Pick<Job, 'startDate' | 'endDate'>,
  today: Temporal.PlainDate,
): DayRange | undefined {
  const { startDate: from, endDate } = job;
  const to = endDate === 'today' || isBefore(today, endDate) ? today : endDate;
  return isBefore(to, from) ? undefined : { from, to };
}

/**
 * The first day that does not count as covered once it has been drained; every day before it does.
 * Today is not over, and the `lookbackDays` days before it may still change, so they are fetched again next time.
 */
export function settledBefore(today: Temporal.PlainDate, lookbackDays: number): Temporal.PlainDate {
  return today.subtract({ days: lookbackDays });
}

function isBefore(a: Temporal.PlainDate, b: Temporal.PlainDate): boolean {
  return Temporal.PlainDate.compare(a, b) < 0;
}
