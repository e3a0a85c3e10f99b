import { type RawBuilder, sql } from 'kysely';
import { longestRequestDays } from '../../config/job.ts';
import type { Day } from '../database.ts';

/** Which windows belong to a job: its series, crossed out of these lists, and its period. */
export interface WindowScope {
  readonly feed: string;
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly tickers: readonly string[];
  readonly matchType: string;
  readonly variants: readonly string[];
  readonly from: Day;
  readonly to: Day;
}

/** How many series a job has. */
export function seriesIn({ countries, topics, tickers, variants }: WindowScope): number {
  return countries.length * topics.length * tickers.length * variants.length;
}

/** What tells the series of one job apart. */
export interface SeriesKey {
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly variant: string;
}

/** Every series of a job. */
export function seriesOf({ countries, topics, tickers, variants }: WindowScope): SeriesKey[] {
  return countries.flatMap((country) =>
    topics.flatMap((topic) =>
      tickers.flatMap((ticker) => variants.map((variant) => ({ country, topic, ticker, variant }))),
    ),
  );
}

/**
 * The condition that a window, called `w` in the query, belongs to a job. The bounds of its last day follow from the
 * overlap; an index can use them.
 */
export function inScope(scope: WindowScope): RawBuilder<boolean> {
  return sql`(w.feed = ${scope.feed} and w.match_type = ${scope.matchType} and w.days && ${period(scope)}
    and w.last_day between ${scope.from}::date and ${scope.to}::date + ${longestRequestDays - 1}::int
    and ${inSeries(scope, 'w')})`;
}

/** The condition that a row of a table, called `alias` in the query, is of one of a job's series. */
export function inSeries(scope: WindowScope, alias: 'w' | 'c' | 'r'): RawBuilder<boolean> {
  const is = (column: string, values: readonly string[]) =>
    sql`${sql.ref(`${alias}.${column}`)} = any(${[...values]}::text[])`;
  return sql`(${is('country', scope.countries)} and ${is('topic', scope.topics)}
    and ${is('ticker', scope.tickers)} and ${is('variant', scope.variants)})`;
}

/** The condition that a window `w` is still to be drained; in the words of the partial indexes, so that they are used. */
export const isOpen: RawBuilder<boolean> = sql`w.state in ('pending', 'draining', 'failed')`;

/** A job's period as a range. */
export function period(scope: WindowScope): RawBuilder<unknown> {
  return sql`daterange(${scope.from}::date, ${scope.to}::date, '[]')`;
}

/** Every series of a job, as rows `asked (country, topic, ticker, variant)`. */
export function askedSeries(scope: WindowScope): RawBuilder<unknown> {
  return sql`(select country, topic, ticker, variant from unnest(${[...scope.countries]}::text[]) as country
              cross join unnest(${[...scope.topics]}::text[]) as topic
              cross join unnest(${[...scope.tickers]}::text[]) as ticker
              cross join unnest(${[...scope.variants]}::text[]) as variant) as asked`;
}

/** The coverage `c` of the series `asked`. */
export function coverageOfAsked(scope: WindowScope): RawBuilder<unknown> {
  return sql`gmsi.coverage c on c.feed = ${scope.feed} and c.match_type = ${scope.matchType} and c.country = asked.country
    and c.topic = asked.topic and c.ticker = asked.ticker and c.variant = asked.variant`;
}
