import { daysBetween } from './fact.ts';
import type { SeenRecord } from './read-answer.ts';

interface Days {
  readonly start: string;
  readonly end: string;
}

/**
 * Two days in a row and a single day with as many records as can be had, so that it shows which of them are left out.
 * Days with others known on both sides come first: what ends where the knowledge ends tells nothing.
 */
export function pickDays(records: readonly SeenRecord[]): Days[] {
  const counts = new Map<string, number>();
  for (const { time } of records) {
    const day = new Date(time).toISOString().slice(0, 10);
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  const days = [...counts.keys()].sort();
  if (days.length === 0) return [];
  const inside = days.slice(1, -1);
  const pairs = days.slice(1).flatMap((end, index) => {
    const start = days[index]!;
    return daysBetween(start, end) === 1 ? [{ start, end }] : [];
  });
  const insidePairs = pairs.filter(({ start, end }) => start > days[0]! && end < days.at(-1)!);
  const least = ({ start, end }: Days) => Math.min(counts.get(start)!, counts.get(end)!);
  const pair = busiest(insidePairs.length > 0 ? insidePairs : pairs, least);
  const single = busiest(inside.length > 0 ? inside : days, (day) => counts.get(day)!)!;
  return [...(pair ? [pair] : []), { start: single, end: single }];
}

function busiest<T>(items: readonly T[], countOf: (item: T) => number): T | undefined {
  return items.toSorted((a, b) => countOf(b) - countOf(a))[0];
}
