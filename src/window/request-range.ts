import type { Temporal } from 'temporal-polyfill';
import type { EndDateReading } from '../job/job.ts';
import type { DayRange } from './day-range.ts';

/** The longest range that the service takes, in days (service-document 4.1, rule 3). */
export const longestRequestDays = 90;

/** A range as sent to the service; what `endDate` means depends on the service's reading of it. */
export interface RequestRange {
  readonly startDate: Temporal.PlainDate;
  readonly endDate: Temporal.PlainDate;
}

/**
 * The dates to send so that the service returns every day of the window.
 * Under `unknown` the day after the window is named too: were the window's own last day named, and `end_date`
 * exclusive, that day would be lost. At worst (`end_date` inclusive) one day's records come twice and are upserted.
 */
export function requestRange(window: DayRange, reading: EndDateReading): RequestRange {
  const endDate = reading === 'inclusive' ? window.to : window.to.add({ days: 1 });
  return { startDate: window.from, endDate };
}

/**
 * The most days that one window may cover, so that its request is within `longestRequestDays` whichever way the
 * service counts: under `unknown` the extra day that `requestRange` names takes one of them.
 */
export function longestWindowDays(stepDays: number, reading: EndDateReading): number {
  const longest = reading === 'unknown' ? longestRequestDays - 1 : longestRequestDays;
  return Math.min(stepDays, longest);
}
