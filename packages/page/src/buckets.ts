import { utcDay, utcHour, utcMonday, utcMonth } from 'd3-time';
import type { Bucket } from './loader.ts';
import { dayOf, moment, plusDays, zone } from './time.ts';

/** Buckets that headlines are summed up by, and their titles. */
export const buckets: Readonly<Record<Bucket, string>> = {
  hour: 'hour',
  day: 'day',
  week: 'week',
  month: 'month',
};

const intervals = { hour: utcHour, day: utcDay, week: utcMonday, month: utcMonth };

/** Returns the first day of a day's bucket. */
export function startOf(day: string, by: Bucket): string {
  return dayOf(intervals[by].floor(new Date(day)).getTime());
}

/** Returns when each bucket with a day of a period begins, in milliseconds. */
export function startsOf(from: string, to: string, by: Bucket): number[] {
  return intervals[by].range(new Date(startOf(from, by)), new Date(plusDays(to, 1))).map(Number);
}

/** Returns when the bucket that begins at `start` ends, in milliseconds. */
export function endOf(start: number, by: Bucket): number {
  return intervals[by].offset(new Date(start), 1).getTime();
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
