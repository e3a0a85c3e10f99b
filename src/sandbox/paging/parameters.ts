import { type DayRange, dayOf, formatDay, parseDay } from '../days.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import type { Query } from '../service.ts';

const DEFAULT_LIMIT = 100;
const MOST_RECORDS = 1000;
const MOST_DAYS = 90;
const DEFAULT_DAYS_BACK = 7;

export interface RangeSettings {
  readonly endDate: 'inclusive' | 'exclusive';
  readonly lookBackDays: number | null;
  readonly clock: () => Date;
}

/** `limit`, 1 to 1000 (service-document 8), 100 by default. */
export function readLimit({ limit }: Query): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  const number = /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN;
  if (number >= 1 && number <= MOST_RECORDS) return number;
  throw invalidParameter('limit', `Input should be an integer from 1 to ${MOST_RECORDS}`, limit);
}

/** `start_date` to `end_date`: the last 7 days by default, 90 days at most, under the setting's reading of the end. */
export function readRange(query: Query, settings: RangeSettings): DayRange {
  const today = dayOf(settings.clock().getTime());
  const first = readDay('start_date', query) ?? today - DEFAULT_DAYS_BACK;
  const end = readDay('end_date', query);
  const beyond = settings.endDate === 'inclusive' ? 0 : 1;
  const last = end === undefined ? today : end - beyond;
  if (first > last + beyond) throw new Refusal(422, 'start_date must not be after end_date');
  if (last - first + 1 > MOST_DAYS) {
    throw new Refusal(422, `The date range must not exceed ${MOST_DAYS} days`);
  }
  if (settings.lookBackDays !== null && first < today - settings.lookBackDays) {
    throw new Refusal(400, `start_date must not be before ${formatDay(today - settings.lookBackDays)}`);
  }
  return { first, last };
}

function readDay(name: string, query: Query): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const day = parseDay(text);
  if (day === null) throw invalidParameter(name, 'Input should be a valid date, YYYY-MM-DD', text);
  return day;
}
