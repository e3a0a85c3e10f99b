import type { Temporal } from 'temporal-polyfill';
import type { EndDateReading, Job } from '../config/job.ts';
import { longestRequestDays } from '../config/job.ts';
import { type DayRange, daysIn } from './days.ts';

/** The dates to send. The service may read `endDate` as inclusive or exclusive; `null` is not sent. */
export interface RequestRange {
  readonly startDate: Temporal.PlainDate;
  readonly endDate: Temporal.PlainDate | null;
}

/**
 * Returns the dates to send so that the service returns every day of the window. Under `unknown`, `end_date` is the day after
 * the window: otherwise an exclusive `end_date` would lose the last day. If it is inclusive, one day's records come twice and
 * are upserted. Under `ignored`, no `end_date` is sent, so that the answer runs to now in any case.
 */
export function requestRange(window: DayRange, reading: EndDateReading): RequestRange {
  if (reading === 'ignored') return { startDate: window.from, endDate: null };
  const endDate = reading === 'inclusive' ? window.to : window.to.add({ days: 1 });
  return { startDate: window.from, endDate };
}

/**
 * Returns the most days of a window, so that its request is never longer than `longestRequestDays`. Under `unknown`,
 * `requestRange` adds a day, so a window is one day shorter.
 */
export function longestWindowDays(stepDays: number, reading: EndDateReading): number {
  const longest = reading === 'unknown' ? longestRequestDays - 1 : longestRequestDays;
  return Math.min(stepDays, longest);
}

export interface WindowShape {
  /** The job's window length in days, at least 1. */
  readonly stepDays: number;
  readonly endDate: EndDateReading;
  readonly order: Job['order'];
}

/**
 * Cuts missing days into as few windows as possible, in the order in which they will be drained, from the end that is drained
 * first. So the short window comes last.
 */
export function cutWindows(missing: DayRange, { stepDays, endDate, order }: WindowShape): DayRange[] {
  const longest = longestWindowDays(stepDays, endDate);
  const days = daysIn(missing);
  return Array.from({ length: Math.ceil(days / longest) }, (_, index) => {
    // Days from the end that is drained first to both ends of the window.
    const near = index * longest;
    const far = Math.min(near + longest, days) - 1;
    return order === 'oldest-first'
      ? { from: missing.from.add({ days: near }), to: missing.from.add({ days: far }) }
      : { from: missing.to.subtract({ days: far }), to: missing.to.subtract({ days: near }) };
  });
}
