import { address, chosen } from '../../address.ts';
import { buckets } from '../../buckets.ts';
import type { SeriesKey } from '../../draw/points.ts';
import type { Bucket } from '../../loader.ts';
import { daysBetween, periodFor, plusDays, readDays } from '../../time.ts';
import { shown } from './shows.tsx';

export const feed = 'gmsi-headlines';

/** As many lines as people can distinguish. */
export const mostLines = 12;

export const kinds = { series: 'series', country: 'countries', topic: 'topics' };
export const againsts: Readonly<Record<string, string>> = {
  quarter: '90 days before',
  before: 'as many days before',
  year: 'a year earlier',
};
export const models = { directional: 'directional', semantic: 'semantic' };
export const spans = { 7: '7 days', 28: '28 days', none: 'none' };
export const matches = { COMBINED: 'combined', DOMESTIC: 'domestic', INTERNATIONAL: 'international' };

export type Asked = ReturnType<typeof askedFor>;

/** Reads the address. The result has no country or topic if nothing is loaded and none is chosen. */
export function askedFor(usual: {
  readonly country: string | undefined;
  readonly topic: string | undefined;
  readonly match: string;
  /** The first and the last requested day. */
  readonly oldest: string | undefined;
  readonly newest: string;
  /** Moments that have a name; the address may say that instead of the time. */
  readonly moments: readonly { readonly name: string; readonly at: string }[];
}) {
  const text = (name: string) => address.value.get(name);
  const texts = (name: string, otherwise: string | undefined) => {
    const given = address.value.getAll(name);
    return given.length > 0 ? [...new Set(given)] : otherwise === undefined ? [] : [otherwise];
  };
  const show = shown();
  const { from, to } = periodFor(usual.newest, usual.oldest, (to) =>
    show === 'changes' ? plusDays(to, -6) : yearTo(to, usual.oldest),
  );
  const isLines = show === 'lines';
  // A colour shows one match type; only lines can compare several.
  const matches = texts('match_type', usual.match).slice(0, isLines ? undefined : 1);
  const by = chosen<Bucket>('by', buckets, usualBucket(daysBetween(from, to)));
  // Of a month, the days up to its end are most of it or more.
  const smoothing = by === 'month' ? 'none' : chosen('smooth', spans, 'none');
  return {
    countries: texts('country', usual.country),
    topics: texts('topic', usual.topic),
    matches,
    from,
    to,
    show,
    model: chosen('model', models),
    smoothing,
    against: readDays(text('against')) ? text('against')! : chosen('against', againsts),
    each: chosen('each', kinds),
    by,
    /** Days of the trailing mean; 1 for none. */
    smooth: smoothing === 'none' ? 1 : Number(smoothing),
    asOf: asOfIn(usual.moments),
  };
}

/** Returns the shortest bucket of at least a day of which a chart has room for one on at most one and a half pixels. */
function usualBucket(days: number): Bucket {
  // Beside the chart is its pane.
  const room = 1.5 * (innerWidth > 1000 ? innerWidth * 0.58 : innerWidth - 80);
  return days <= room ? 'day' : days <= 7 * room ? 'week' : 'month';
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

export function newsOf({ matches: [match] }: Pick<Asked, 'matches'>): string {
  return match === undefined || match === 'COMBINED' ? '' : `, ${match.toLowerCase()} headlines only`;
}

/** Returns the moment in the address, which may be the name of one; `null` for now. */
export function asOfIn(moments: readonly { readonly name: string; readonly at: string }[]): string | null {
  const given = address.value.get('as_of');
  const asOf = moments.find(({ name }) => name === given)?.at ?? given;
  // Date.parse would read the year of an unknown name, such as paper-2026, and a time without a zone in that of the machine.
  const isMoment = /^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:\d\d))?$/.test(asOf ?? '');
  return asOf && isMoment && !Number.isNaN(Date.parse(asOf)) ? exactTime(asOf) : null;
}

/** Writes a moment as answers do: in UTC, to the microsecond, which a `Date` would lose. */
function exactTime(text: string): string {
  const finer = /\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? '';
  return `${new Date(text).toISOString().slice(0, -1)}${finer.padEnd(3, '0')}Z`;
}
