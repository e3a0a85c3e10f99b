import type { Bucket } from '../../../warehouse/questions/sentiment.ts';
import { aDay, zone } from '../time.ts';

/** Returns the zone of an axis: UTC for days, the chosen zone for hours. */
export function zoneOfAxis(by: Bucket): string {
  return by === 'hour' ? zone.value : 'UTC';
}

/**
 * Returns the labels of a time axis, as short as their distance allows: the year, the month, the day or the hour, as in ISO
 * dates. The year of a day and the day of an hour are below, where they change.
 * @param dates the places of the labels; their local time is that of the axis
 * @param apart milliseconds between two labels
 */
export function labelsOf(dates: readonly Date[], apart: number): string[] {
  let last = '';
  return dates.map((date) => {
    const [label, larger] = parts(date, apart);
    const isNew = larger !== last;
    last = larger;
    return isNew && larger ? `${label}\n${larger}` : label;
  });
}

function parts(date: Date, apart: number): [label: string, larger: string] {
  const year = String(date.getFullYear());
  if (apart >= 360 * aDay) return [year, ''];
  const joined = (parts: readonly number[], mark: string) =>
    parts.map((part) => String(part).padStart(2, '0')).join(mark);
  const month = date.getMonth() + 1;
  if (apart >= 28 * aDay) return [`${year}-${joined([month], '')}`, ''];
  const day = joined([month, date.getDate()], '-');
  if (apart >= aDay) return [day, year];
  return [joined([date.getHours(), date.getMinutes()], ':'), `${year}-${day}`];
}
