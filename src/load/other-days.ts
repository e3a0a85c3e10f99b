import { longestRequestDays } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import { daysFrom } from '../terminal/table.ts';
import type { WindowRequest } from './fetch-page.ts';
import type { Load } from './load.ts';
import type { ReadPage, Times } from './read-page.ts';

type Range = Pick<WindowRequest, 'startDate' | 'endDate'>;

const millisecond = 1000;
const day = 24 * 3600 * 1000 * millisecond;

/**
 * Returns the times that a request covers, plus one day at both ends: the service's days may not be UTC days, and it may or
 * may not return the day of `end_date`.
 */
export function timesRequested({ startDate, endDate }: Range, now: Date): Times {
  const end = endDate === null ? now.getTime() * millisecond : beginOf(endDate) + day;
  return { from: beginOf(startDate) - day, before: end + day };
}

/** Returns the times that a live answer can have. Its reach is unknown, so only times far outside are excluded. */
export function timesOfLive(now: Date): Times {
  const time = now.getTime() * millisecond;
  return { from: time - longestRequestDays * day, before: time + day };
}

function beginOf(date: string): number {
  return Date.parse(date) * millisecond;
}

/** Most records of a page are of days that were not requested. Its window fails before more pages waste requests. */
export class WrongDays extends GmsiError {
  override readonly kind = 'job';
  override readonly causeCode = 'other days';
}

/**
 * Checks that a page is of the requested days, before the next one is requested.
 * @throws WrongDays if most of its records are not
 */
export function refuseOtherDays(
  { records, outside }: Pick<ReadPage, 'records' | 'outside'>,
  { startDate, endDate }: Range,
): void {
  if (outside.length * 2 <= records) return;
  const { from, middle, to } = daysOf(outside);
  const isLater = endDate !== null && middle > endDate;
  throw new WrongDays(
    `${outside.length} of ${records} records requested for ${startDate} to ${endDate ?? 'now'} are from other ` +
      `days, ${daysFrom(from, to)}: ` +
      (isLater
        ? 'the service probably ignores end_date. To find out: gmsi doctor --probe. Or set service: { ' +
          'end_date: ignored } in the job file.'
        : 'the service probably has other names for the dates. Set service.parameters.start_date and end_date in the job file.'),
  );
}

/** Warns of records that were dropped because their days were not requested. */
export function warnOfOtherDays(
  { log }: Load,
  from: Partial<Series> & { readonly window?: number },
  outside: readonly number[],
): void {
  if (outside.length === 0) return;
  const { from: first_day, to: last_day } = daysOf(outside);
  log.warn(
    { ...from, records: outside.length, first_day, last_day },
    'dropped records of days that were not requested',
  );
}

/** Returns the first, the median and the last day (UTC) of times. */
function daysOf(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const dayAt = (index: number) => new Date(sorted.at(index)! / millisecond).toISOString().slice(0, 10);
  return { from: dayAt(0), middle: dayAt(Math.floor(sorted.length / 2)), to: dayAt(-1) };
}
