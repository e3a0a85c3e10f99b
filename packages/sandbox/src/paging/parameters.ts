import { type DayRange, formatDay, parseDay } from '../days.ts';
import type { SandboxSettings } from '../options.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import type { Query } from '../service.ts';
import { zoneOf } from '../zone.ts';

const DEFAULT_LIMIT = 100;
const MOST_RECORDS = 1000;
const MOST_DAYS = 90;
const DEFAULT_DAYS_BACK = 7;
const ALL = 'ALL';

/** Reads `limit`: 1 to 1000 (docs/service.md, "Paging"); 100 by default. */
export function readLimit({ limit }: Query, byDefault = DEFAULT_LIMIT): number {
  if (limit === undefined) return byDefault;
  if (/^[1-9]\d{0,3}$/.test(limit) && Number(limit) <= MOST_RECORDS) return Number(limit);
  throw invalidParameter('limit', `Input should be an integer from 1 to ${MOST_RECORDS}`, limit);
}

/**
 * Reads `start_date` and `end_date`: the last 7 days by default, at most 90 days. The settings say whether the end is part of
 * the range. If it is ignored, no range is too long.
 */
export function readRange(
  query: Query,
  settings: SandboxSettings,
  historyLimitDays: number | null,
): DayRange {
  const today = zoneOf(settings.timeZone).dayOf(settings.clock().getTime());
  const first = readDay('start_date', query) ?? today - DEFAULT_DAYS_BACK;
  const isEndless = settings.endDate === 'ignored';
  const end = isEndless ? undefined : readDay('end_date', query);
  const beyond = settings.endDate === 'exclusive' ? 1 : 0;
  const last = end === undefined ? today : end - beyond;
  if (first > last + beyond) throw new Refusal(422, 'start_date must not be after end_date');
  // A range without an end lasts until now, so 90 days back is the day 90 days before today.
  const mostDays = end === undefined ? MOST_DAYS + 1 : MOST_DAYS;
  if (!isEndless && last - first + 1 > mostDays) {
    throw new Refusal(422, `The date range must not exceed ${MOST_DAYS} days`);
  }
  const longest = Math.min(settings.historyLimitDays ?? Infinity, historyLimitDays ?? Infinity);
  if (first < today - longest) {
    throw new Refusal(400, `start_date must not be before ${formatDay(today - longest)}`);
  }
  return { first, last };
}

/** Reads a parameter that is one of the choices; the first one is the default. */
export function readChoice<T extends string>(query: Query, name: string, choices: readonly T[]): T {
  const given = query[name];
  const chosen = given === undefined ? choices[0] : choices.find((it) => it === given);
  if (chosen !== undefined) return chosen;
  throw invalidParameter(name, `Input should be one of ${choices.join(', ')}`, given);
}

/**
 * Reads a list parameter, whose members may be in upper or lower case. Lists and names are made up (docs/service.md, "Asset
 * feeds").
 * @returns `null` for `ALL`, the default
 */
export function readPreset<T>(query: Query, name: string, known: ReadonlyMap<string, T>): T[] | null {
  const members = (query[name] ?? ALL).split(',').map((member) => member.trim());
  const chosen = members.map((member) => {
    if (member.toUpperCase() === ALL) return null;
    const it = known.get(member.toLowerCase());
    if (it === undefined) throw invalidParameter(name, `Unknown value '${member}'`, member);
    return it;
  });
  return chosen.includes(null) ? null : [...new Set(chosen as T[])].sort();
}

export function readFlag(query: Query, name: string, byDefault: boolean): boolean {
  return query[name] === undefined ? byDefault : readChoice(query, name, ['true', 'false']) === 'true';
}

/** Reads a number from 0 to 1; 0 by default. */
export function readShare(query: Query, name: string): number {
  const given = query[name] ?? '0';
  const share = /^\d*\.?\d+$/.test(given) ? Number(given) : Number.NaN;
  if (share <= 1) return share;
  throw invalidParameter(name, 'Input should be a number from 0 to 1', given);
}

export function readDay(name: string, query: Query): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const day = parseDay(text);
  if (day === null) throw invalidParameter(name, 'Input should be a valid date, YYYY-MM-DD', text);
  return day;
}
