import { Temporal } from 'temporal-polyfill';
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
 * Cuts missing days into as few windows as possible, in the order in which they will be drained. The windows contain exactly
 * the missing days, each once. Each range is cut from the end that is drained first, so that its short window comes last.
 * @param missing ranges that neither overlap nor touch, in any order
 */
export function cutWindows(
  missing: readonly DayRange[],
  { stepDays, endDate, order }: WindowShape,
): DayRange[] {
  const longest = longestWindowDays(stepDays, endDate);
  const oldestFirst = missing.toSorted((a, b) => Temporal.PlainDate.compare(a.from, b.from));
  return order === 'oldest-first'
    ? oldestFirst.flatMap((range) => cutFromStart(range, longest))
    : oldestFirst.reverse().flatMap((range) => cutFromEnd(range, longest));
}

function cutFromStart(range: DayRange, longest: number): DayRange[] {
  return offsets(range, longest).map((offset) => {
    const from = range.from.add({ days: offset });
    return { from, to: earlier(from.add({ days: longest - 1 }), range.to) };
  });
}

function cutFromEnd(range: DayRange, longest: number): DayRange[] {
  return offsets(range, longest).map((offset) => {
    const to = range.to.subtract({ days: offset });
    return { from: later(to.subtract({ days: longest - 1 }), range.from), to };
  });
}

/** Returns how many days each window is from the end of the range that is drained first. */
function offsets(range: DayRange, longest: number): number[] {
  return Array.from({ length: Math.ceil(daysIn(range) / longest) }, (_, index) => index * longest);
}

function earlier(a: Temporal.PlainDate, b: Temporal.PlainDate): Temporal.PlainDate {
  return Temporal.PlainDate.compare(a, b) <= 0 ? a : b;
}

function later(a: Temporal.PlainDate, b: Temporal.PlainDate): Temporal.PlainDate {
  return Temporal.PlainDate.compare(a, b) >= 0 ? a : b;
}
