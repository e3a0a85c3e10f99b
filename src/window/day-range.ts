import { Temporal } from 'temporal-polyfill';

/** Days in a row, in UTC, `from` and `to` both included; `from` is never after `to`. */
export interface DayRange {
  readonly from: Temporal.PlainDate;
  readonly to: Temporal.PlainDate;
}

/** How many days a range holds; at least one. */
export function daysIn({ from, to }: DayRange): number {
  return from.until(to, { largestUnit: 'day' }).days + 1;
}

/** The range from one `YYYY-MM-DD` to another, as the warehouse writes days. */
export function dayRange(from: string, to: string): DayRange {
  return { from: Temporal.PlainDate.from(from), to: Temporal.PlainDate.from(to) };
}
