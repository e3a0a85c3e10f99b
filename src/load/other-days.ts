import { longestRequestDays } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import type { WindowRequest } from './fetch-page.ts';
import type { Load } from './load.ts';
import type { ReadPage, Times } from './read-page.ts';

type Range = Pick<WindowRequest, 'startDate' | 'endDate'>;

const millisecond = 1000;
const day = 24 * 3600 * 1000 * millisecond;

/**
 * Returns the times that a request covers, with one more day at both ends: the service's days may not be UTC's, and it may return the
 * day named by `end_date` or not.
 */
export function timesAsked({ startDate, endDate }: Range, now: Date): Times {
  const end = endDate === null ? now.getTime() * millisecond : beginOf(endDate) + day;
  return { from: beginOf(startDate) - day, before: end + day };
}

/** The times that a live answer can have. How far back it reaches is not known, so only times far outside are not among them. */
export function timesOfLive(now: Date): Times {
  const time = now.getTime() * millisecond;
  return { from: time - longestRequestDays * day, before: time + day };
}

function beginOf(date: string): number {
  return Date.parse(date) * millisecond;
}

/** A page is mostly of days that were not asked for. Its window fails, because its other pages would cost as many requests. */
export class OtherDays extends GmsiError {
  override readonly kind = 'skippable';
}

/** So many records of other days on a last page may be mistakes of the service. */
const handful = 5;

/**
 * Checks that a page is of the days that were asked for, before the next one is requested.
 * @throws OtherDays if most of its records are not
 */
export function refuseOtherDays(
  {
    records,
    outside,
    nextToken,
  }: Pick<ReadPage, 'outside'> & { readonly records: number; readonly nextToken: string | null },
  { startDate, endDate }: Range,
): void {
  if (outside.length * 2 <= records || (nextToken === null && outside.length <= handful)) return;
  const { from, middle, to } = daysOf(outside);
  const isLater = endDate !== null && middle > endDate;
  throw new OtherDays(
    `Of ${records} records for ${startDate} to ${endDate ?? 'now'}, ${outside.length} are of other days, ${from} to ${to}: ` +
      (isLater
        ? 'the service probably ignores end_date. Run gmsi doctor --probe to learn it, or set service: { end_date: ignored } in the job file.'
        : 'the service probably reads the dates under other names. Set service.parameters.start_date and end_date in the job file.'),
  );
}

/** Warns of records that were dropped, because they are of days that were not asked for. */
export function warnOfOtherDays(
  { log }: Load,
  from: Partial<Series> & { readonly window?: number },
  outside: readonly number[],
): void {
  if (outside.length === 0) return;
  const { from: first_day, to: last_day } = daysOf(outside);
  log.warn(
    { ...from, records: outside.length, first_day, last_day },
    'records of days that were not requested came and are not loaded',
  );
}

/** The first, the middle and the last day (UTC) of times. */
function daysOf(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const dayAt = (index: number) => new Date(sorted.at(index)! / millisecond).toISOString().slice(0, 10);
  return { from: dayAt(0), middle: dayAt(Math.floor(sorted.length / 2)), to: dayAt(-1) };
}
