import type { Answer } from './ask.ts';
import type { Finding } from './fact.ts';
import { type SeenRecord, valueAt } from './read-answer.ts';

const minute = 60_000;
const hour = 60 * minute;

export type RecordOrder = 'newest-first' | 'oldest-first' | 'neither' | 'unknown';

/**
 * The order of records by their times, where there are two different ones. A single step of an hour the other way is the
 * end of summer time, in times that carry no zone.
 */
export function orderOf(records: readonly SeenRecord[]): RecordOrder {
  const steps = records.slice(1).map(({ time }, index) => time - records[index]!.time);
  const [up, down] = [steps.filter((step) => step > 0), steps.filter((step) => step < 0)];
  if (up.length === 0 && down.length === 0) return 'unknown';
  const [against, along] = up.length < down.length ? [up, down] : [down, up];
  const isClockChange = against.length === 1 && along.length > 1 && Math.abs(against[0]!) <= hour;
  if (against.length > 0 && !isClockChange) return 'neither';
  return along === up ? 'oldest-first' : 'newest-first';
}

export function inferOrder({ records }: Answer): Finding {
  const value = orderOf(records);
  if (value === 'unknown') return { reason: 'no two records of different times came on one page' };
  return { value, evidence: `a page of ${records.length} records` };
}

/** Fewer records than this say nothing about how times are rounded. */
const leastForRounding = 20;
/** By chance, one record in 60 or 3600 is on the hour; several, and a share above this, are no chance. */
const byChance = { several: 3, minute: 0.05, second: 0.01 };
/** The hours of some zones begin at another minute, if their times carry no zone. */
const fullHours = [0, 15, 30, 45].map((past) => past * minute);

/** How finely times are given: `second`, `minute`, `hour`, `day`; or mixed, as in `second, some on the hour`. */
export function inferRounding({ records }: Answer): Finding {
  if (records.length < leastForRounding) return { reason: `${records.length} records are too few to tell` };
  const countAt = (unit: number, past = 0) => records.filter(({ time }) => time % unit === past).length;
  const onTheHour = Math.max(...fullHours.map((past) => countAt(hour, past)));
  const evidence = `${onTheHour} of ${records.length} records are on the hour`;
  if (countAt(24 * hour) === records.length) return { value: 'day', evidence };
  if (onTheHour === records.length) return { value: 'hour', evidence };
  const grain = countAt(minute) === records.length ? 'minute' : 'second';
  const isMixed = onTheHour > byChance.several && onTheHour / records.length > byChance[grain];
  return { value: isMixed ? `${grain}, some on the hour` : grain, evidence };
}

/** The field that holds an id of the service's own, or `none`. */
export function inferId({ records }: Answer, idNames: readonly string[]): Finding {
  if (records.length < 2) return { reason: 'fewer than two records came' };
  for (const name of idNames) {
    const ids = records.map(({ record }) => valueAt(record, name));
    const isThere = ids.every((id) => (typeof id === 'string' && id !== '') || typeof id === 'number');
    if (!isThere) continue;
    if (new Set(ids).size < ids.length) {
      return { reason: `${name} is in every record, but not different in each` };
    }
    return { value: name, evidence: `${ids.length} records, each with its own` };
  }
  return {
    value: 'none',
    evidence: `none of ${idNames.join(', ')} is in every one of ${records.length} records`,
  };
}
