import { address } from '../../address.ts';
import { daysBetween, moment, plusDays, today, zone } from '../../time.ts';

/** The feed whose headlines are summed up by country and topic. */
export const feed = 'gmsi-headlines';

/** As many lines as can be told apart. */
export const mostLines = 12;

export const shows = { lines: 'Lines', map: 'Map', heat: 'Heat map' };
export const buckets = { hour: 'hour', day: 'day', week: 'week', month: 'month' };
export const models = { directional: 'directional', semantic: 'semantic', both: 'both' };
export const spans = [
  ['none', 'none'],
  ['7', '7 days'],
  ['28', '28 days'],
] as const;
export const matches = { COMBINED: 'combined', DOMESTIC: 'domestic', INTERNATIONAL: 'international' };

export type Show = keyof typeof shows;
export type By = keyof typeof buckets;
export type Model = 'directional' | 'semantic';

/** What the sentiment view shows, as its address says. */
export interface Asked {
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matches: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly by: By;
  readonly models: readonly Model[];
  /** Days of the trailing mean; 1 for none. */
  readonly smooth: number;
  /** A moment, or `null` for now. */
  readonly asOf: string | null;
  readonly show: Show;
}

/** What is shown if the address does not say it. */
export interface Usual {
  readonly country: string | undefined;
  readonly topic: string | undefined;
  readonly match: string;
  /** The first and the last day that anything was asked for. */
  readonly oldest: string | undefined;
  readonly newest: string;
}

/** @returns what is asked; without a country or a topic if nothing is loaded and none is chosen */
export function askedFor(usual: Usual): Asked {
  const text = (name: string) => address.value.get(name);
  const texts = (name: string, otherwise: string | undefined) => {
    const given = address.value.getAll(name);
    return given.length > 0 ? [...new Set(given)] : otherwise === undefined ? [] : [otherwise];
  };
  const one = <Value extends string>(
    name: string,
    values: Readonly<Record<Value, string>>,
    usually: NoInfer<Value>,
  ) => (Object.hasOwn(values, text(name) ?? '') ? (text(name) as Value) : usually);
  const to = dayOf(text('to')) ?? usual.newest;
  const model = one('model', models, 'directional');
  const smooth = one('smooth', Object.fromEntries(spans), 'none');
  const asOf = text('as_of');
  return {
    countries: texts('country', usual.country),
    topics: texts('topic', usual.topic),
    matches: texts('match', usual.match),
    from: dayOf(text('from')) ?? yearTo(to, usual.oldest),
    to,
    by: one('by', buckets, 'day'),
    models: model === 'both' ? ['directional', 'semantic'] : [model],
    smooth: smooth === 'none' ? 1 : Number(smooth),
    asOf: asOf && !Number.isNaN(Date.parse(asOf)) ? new Date(asOf).toISOString() : null,
    show: one('show', shows, 'lines'),
  };
}

/** The year up to a day, or what is loaded of it. */
function yearTo(to: string, oldest: string | undefined): string {
  const from = plusDays(to, -364);
  return oldest !== undefined && from < oldest && oldest < to ? oldest : from;
}

function dayOf(text: string | null): string | undefined {
  return text && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

/**
 * The days of whole buckets: a week that is cut would be taken for a whole one. The first one begins in the period, if there is
 * one that does; the last one may end after it.
 */
export function wholeBuckets(
  from: string,
  to: string,
  by: By,
): { readonly from: string; readonly to: string } {
  const cut = startOf(from, by);
  const next = cut < from ? new Date(endOf(Date.parse(cut), by)).toISOString().slice(0, 10) : from;
  const first = next <= startOf(to, by) ? next : cut;
  const end = new Date(endOf(Date.parse(startOf(to, by)), by) - 1).toISOString().slice(0, 10);
  // What is yet to come is not missing.
  return { from: first, to: to <= today() && end > today() ? today() : end };
}

/** The first day of the bucket that a day is in. */
export function startOf(day: string, by: By): string {
  if (by === 'month') return `${day.slice(0, 7)}-01`;
  return by === 'week' ? plusDays(day, -((new Date(day).getUTCDay() + 6) % 7)) : day;
}

/** When the bucket ends that begins then, in milliseconds. */
export function endOf(start: number, by: By): number {
  if (by === 'month') {
    const date = new Date(start);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  }
  return start + { hour: 3_600_000, day: 86_400_000, week: 604_800_000 }[by];
}

/** A bucket in words. */
export function bucketTitle(at: string, by: By): string {
  if (by === 'week') return `the week of ${at}`;
  if (by === 'month') return at.slice(0, 7);
  const weekday = new Date(at).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' });
  return by === 'day' ? `${weekday} ${at}` : `${moment(at)} ${zone.value}`;
}

/** A series as one text, for the address: neither a country's code nor a match type has a space. */
export function keyOf(series: Pick<SeriesKey, 'country' | 'topic' | 'match'>): string {
  return `${series.country} ${series.topic} ${series.match}`;
}

export interface SeriesKey {
  readonly country: string;
  readonly topic: string;
  readonly match: string;
}

/** The series that are asked for, as many as there may be lines. */
export function seriesOf({ countries, topics, matches }: Asked): SeriesKey[] {
  return countries
    .flatMap((country) => topics.flatMap((topic) => matches.map((match) => ({ country, topic, match }))))
    .slice(0, mostLines);
}

/** How many points an answer would have at most. */
export function pointsOf({ countries, topics, matches, from, to, by }: Asked): number {
  const perDay = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };
  return countries.length * topics.length * matches.length * daysBetween(from, to) * perDay[by];
}
