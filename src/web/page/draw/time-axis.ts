import type { Bucket } from '../../../warehouse/questions/sentiment.ts';
import { zone } from '../time.ts';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const aDay = 86_400_000;

/** Returns the zone of an axis: UTC for days, the chosen zone for hours. */
export function zoneOfAxis(by: Bucket): string {
  return by === 'hour' ? zone.value : 'UTC';
}

/**
 * Returns the labels of a time axis, as short as their distance allows: the year, the month, the day or the hour. The larger unit
 * is below, where it changes.
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
  const month = months[date.getMonth()]!;
  if (apart >= 360 * aDay) return [year, ''];
  if (apart >= 28 * aDay) return [month, year];
  if (apart >= aDay) return [`${date.getDate()} ${month}`, year];
  const time = [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
  return [time, `${date.getDate()} ${month}`];
}
