import type { Bucket } from '../../../../warehouse/questions/sentiment.ts';
import { pointsIn } from '../../../most-points.ts';
import { address } from '../../address.ts';
import { buckets } from '../../buckets.ts';
import type { Model, SeriesKey } from '../../draw/points.ts';
import { daysBetween, plusDays } from '../../time.ts';

/** The feed whose headlines are summed up by country and topic. */
export const feed = 'gmsi-headlines';

/** As many lines as can be told apart. */
export const mostLines = 12;

export const shows = { lines: 'Lines', map: 'Map', heat: 'Heat map' };
export const models = { directional: 'directional', semantic: 'semantic', both: 'both' };
export const spans = [
  ['none', 'none'],
  ['7', '7 days'],
  ['28', '28 days'],
] as const;
export const matches = { COMBINED: 'combined', DOMESTIC: 'domestic', INTERNATIONAL: 'international' };

export type Show = keyof typeof shows;

/** What the sentiment view shows, as its address says. */
export interface Asked {
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matches: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly by: Bucket;
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
  const show = one('show', shows, 'lines');
  const chosen = texts('match', usual.match);
  return {
    countries: texts('country', usual.country),
    topics: texts('topic', usual.topic),
    // A colour shows one of them: only lines can be compared.
    matches: show === 'lines' ? chosen : chosen.slice(0, 1),
    from: dayOf(text('from')) ?? yearTo(to, usual.oldest),
    to,
    by: one('by', buckets, 'day'),
    models: model === 'both' ? ['directional', 'semantic'] : [model],
    smooth: smooth === 'none' ? 1 : Number(smooth),
    asOf: asOf && !Number.isNaN(Date.parse(asOf)) ? new Date(asOf).toISOString() : null,
    show,
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

/** The series that are asked for, as many as there may be lines. */
export function seriesOf({ countries, topics, matches }: Asked): SeriesKey[] {
  return countries
    .flatMap((country) => topics.flatMap((topic) => matches.map((match) => ({ country, topic, match }))))
    .slice(0, mostLines);
}

/** Which headlines count, if not all of them do. */
export function newsOf({ matches: [match] }: Asked): string {
  return match === undefined || match === 'COMBINED' ? '' : `, ${match.toLowerCase()} headlines only`;
}

/** How many points an answer would have at most. */
export function pointsOf({ countries, topics, matches, from, to, by }: Asked): number {
  return pointsIn(countries.length * topics.length * matches.length, daysBetween(from, to), by);
}
