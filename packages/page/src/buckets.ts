import type { Bucket } from './loader.ts';
import { aDay, dayOf, moment, plusDays, zone } from './time.ts';

/** Buckets that headlines are summed up by, and their titles. */
export const buckets: Readonly<Record<Bucket, string>> = {
  hour: 'hour',
  day: 'day',
  week: 'week',
  month: 'month',
};

/** Returns the first day of a day's bucket. */
export function startOf(day: string, by: Bucket): string {
  if (by === 'month') return `${day.slice(0, 7)}-01`;
  return by === 'week' ? plusDays(day, -((new Date(day).getUTCDay() + 6) % 7)) : day;
}

/** Returns when each bucket with a day of a period begins, in milliseconds. */
export function startsOf(from: string, to: string, by: Bucket): number[] {
  const starts: number[] = [];
  for (let start = Date.parse(startOf(from, by)); start < Date.parse(to) + aDay; start = endOf(start, by))
    starts.push(start);
  return starts;
}

/** Returns when the bucket that begins at `start` ends, in milliseconds. */
export function endOf(start: number, by: Bucket): number {
  if (by === 'month') {
    const date = new Date(start);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  }
  return start + { hour: aDay / 24, day: aDay, week: 7 * aDay }[by];
}

export function bucketTitle(at: string, by: Bucket): string {
  if (by === 'week') return `the week of ${at}`;
  if (by === 'month') return at.slice(0, 7);
  const weekday = new Date(at).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' });
  return by === 'day' ? `${weekday} ${at}` : `${moment(at)} ${zone.value}`;
}

/** Names the bucket that begins at a moment in milliseconds. */
export function titleOf(start: number, by: Bucket): string {
  return bucketTitle(bucketText(start, by), by);
}

/** Returns the beginning of a bucket as the API and the address write it. */
export function bucketText(start: number, by: Bucket): string {
  return by === 'hour' ? `${new Date(start).toISOString().slice(0, 16)}Z` : dayOf(start);
}
