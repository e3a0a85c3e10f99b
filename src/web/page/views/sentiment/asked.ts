import type { Bucket } from '../../../../warehouse/questions/sentiment.ts';
import { pointsIn } from '../../../most-points.ts';
import { address, chosen } from '../../address.ts';
import { buckets } from '../../buckets.ts';
import type { Model, SeriesKey } from '../../draw/points.ts';
import { daysBetween, periodFor, plusDays } from '../../time.ts';

/** The feed of this view. */
export const feed = 'gmsi-headlines';

/** As many lines as people can distinguish. */
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

/** The state of the sentiment view, from its address. */
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
  /** Whether two lines are compared by a third one. */
  readonly difference: boolean;
  /** Whether lines have a band of uncertainty. */
  readonly band: boolean;
  /** A moment, or `null` for now. */
  readonly asOf: string | null;
  readonly show: Show;
}

/** Defaults for what the address does not say. */
export interface Usual {
  readonly country: string | undefined;
  readonly topic: string | undefined;
  readonly match: string;
  /** The first and the last requested day. */
  readonly oldest: string | undefined;
  readonly newest: string;
  /** Moments that have a name; the address may say that instead of the time. */
  readonly moments: readonly { readonly name: string; readonly at: string }[];
}

/** Reads the address. The result has no country or topic if nothing is loaded and none is chosen. */
export function askedFor(usual: Usual): Asked {
  const text = (name: string) => address.value.get(name);
  const texts = (name: string, otherwise: string | undefined) => {
    const given = address.value.getAll(name);
    return given.length > 0 ? [...new Set(given)] : otherwise === undefined ? [] : [otherwise];
  };
  const { from, to } = periodFor(usual.newest, usual.oldest, (to) => yearTo(to, usual.oldest));
  const model = chosen('model', models);
  const smooth = chosen<string>('smooth', Object.fromEntries(spans), 'none');
  const given = text('as_of');
  const asOf = usual.moments.find(({ name }) => name === given)?.at ?? given;
  const show = chosen('show', shows);
  const matches = texts('match_type', usual.match);
  return {
    countries: texts('country', usual.country),
    topics: texts('topic', usual.topic),
    // A colour shows one match type; only lines can compare several.
    matches: show === 'lines' ? matches : matches.slice(0, 1),
    ...{ from, to },
    by: chosen('by', buckets, 'day'),
    models: model === 'both' ? ['directional', 'semantic'] : [model],
    smooth: smooth === 'none' ? 1 : Number(smooth),
    // Date.parse would read the year of an unknown name, such as paper-2026.
    asOf: asOf && /^\d/.test(asOf) && !Number.isNaN(Date.parse(asOf)) ? new Date(asOf).toISOString() : null,
    difference: text('difference') !== null,
    band: text('band') !== null && smooth === 'none',
    show,
  };
}

/** Returns the first day of the year up to a day, or the first loaded day in it. */
function yearTo(to: string, oldest: string | undefined): string {
  const from = plusDays(to, -364);
  return oldest !== undefined && from < oldest && oldest < to ? oldest : from;
}

/** Returns the chosen series, at most as many as there may be lines. */
export function seriesOf({ countries, topics, matches }: Asked): SeriesKey[] {
  return countries
    .flatMap((country) => topics.flatMap((topic) => matches.map((match) => ({ country, topic, match }))))
    .slice(0, mostLines);
}

/** Describes which headlines count, if not all do. */
export function newsOf({ matches: [match] }: Asked): string {
  return match === undefined || match === 'COMBINED' ? '' : `, ${match.toLowerCase()} headlines only`;
}

/** Returns how many points an answer can have. */
export function pointsOf({ countries, topics, matches, from, to, by }: Asked): number {
  return pointsIn(countries.length * topics.length * matches.length, daysBetween(from, to), by);
}
