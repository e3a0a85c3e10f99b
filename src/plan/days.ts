import { Temporal } from 'temporal-polyfill';
import type { HistoryLimit, Job } from '../config/job.ts';

/** Consecutive days in UTC, `from` and `to` both included; `from` is never after `to`. */
export interface DayRange {
  readonly from: Temporal.PlainDate;
  readonly to: Temporal.PlainDate;
}

/** Returns how many days a range has; at least one. */
export function daysIn({ from, to }: DayRange): number {
  return from.until(to, { largestUnit: 'day' }).days + 1;
}

/** Returns the range from one `YYYY-MM-DD` to another. */
export function dayRange(from: string, to: string): DayRange {
  return { from: Temporal.PlainDate.from(from), to: Temporal.PlainDate.from(to) };
}

/**
 * Returns the days of a job's period up to and including `today` (UTC); `undefined` if its first day is in the future.
 */
export function wantedDays(
  job: Pick<Job, 'startDate' | 'endDate'>,
  today: Temporal.PlainDate,
): DayRange | undefined {
  const { startDate: from, endDate } = job;
  const to = endDate === 'today' || isBefore(today, endDate) ? today : endDate;
  return isBefore(to, from) ? undefined : { from, to };
}

/** How a history limit shortens the period of a job. */
export interface ShortenedPeriod {
  /** The first day to request, as `2020-01-01`. */
  readonly firstDay: string;
  readonly by: HistoryLimit['by'];
  /** How many days of the period are before `firstDay`. */
  readonly days: number;
}

/**
 * Returns the days of a job's period up to `today` (UTC), from its history limit on.
 * @returns no `days` if there are none; no `historyLimit` if it shortens nothing
 */
export function plannedDays(
  job: Pick<Job, 'startDate' | 'endDate' | 'historyLimit'>,
  today: Temporal.PlainDate,
): { readonly days: DayRange | undefined; readonly historyLimit: ShortenedPeriod | undefined } {
  const wanted = wantedDays(job, today);
  if (!wanted || !job.historyLimit) return { days: wanted, historyLimit: undefined };
  const { reach, by } = job.historyLimit;
  const from = firstDayOf(reach, today);
  if (!isBefore(wanted.from, from)) return { days: wanted, historyLimit: undefined };
  const isOver = isBefore(wanted.to, from);
  const before = isOver ? wanted.to : from.subtract({ days: 1 });
  return {
    days: isOver ? undefined : { from, to: wanted.to },
    historyLimit: { firstDay: from.toString(), by, days: daysIn({ from: wanted.from, to: before }) },
  };
}

function firstDayOf(reach: HistoryLimit['reach'], today: Temporal.PlainDate): Temporal.PlainDate {
  return reach instanceof Temporal.PlainDate ? reach : today.subtract(reach);
}

/**
 * Returns the first unsettled day, which does not count as covered even after a drain. Today is not over, and the
 * `lookbackDays` days before it may still change, so the next sync drains them again.
 */
export function firstUnsettledDay(today: Temporal.PlainDate, lookbackDays: number): Temporal.PlainDate {
  return today.subtract({ days: lookbackDays });
}

/** Returns the first unsettled day at an instant, as `YYYY-MM-DD`. */
export function firstUnsettledDayAt(instant: Date, lookbackDays: number): string {
  return firstUnsettledDay(dayAt(instant), lookbackDays).toString();
}

/** Returns the day (UTC) of an instant. */
export function dayAt(instant: Date): Temporal.PlainDate {
  return Temporal.PlainDate.from(instant.toISOString().slice(0, 10));
}

function isBefore(a: Temporal.PlainDate, b: Temporal.PlainDate): boolean {
  return Temporal.PlainDate.compare(a, b) < 0;
}
