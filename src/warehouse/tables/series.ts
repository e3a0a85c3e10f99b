import { type Kysely, type RawBuilder, sql } from 'kysely';
import { longestRequestDays } from '../../config/job.ts';
import type { FeedTable, Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';

/** A job's series, which are all combinations of these lists, and its period. */
export interface WindowScope {
  readonly feed: string;
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly tickers: readonly string[];
  readonly matchType: string;
  readonly variants: readonly string[];
  readonly from: Day;
  readonly to: Day;
  /** True if the service ignores `end_date`: its answers run to now, and so do windows, even if the period ended long ago. */
  readonly isOpenEnded?: boolean;
  /** Those of its names that the service no longer lists. They belong to the job, but are not requested. */
  readonly unlisted?: readonly { readonly list: 'countries' | 'topics' | 'tickers'; readonly name: string }[];
}

/** Returns how many series a job has. */
export function seriesIn({ countries, topics, tickers, variants }: WindowScope): number {
  return countries.length * topics.length * tickers.length * variants.length;
}

/** Returns every series of a job. */
export function everySeries({ feed, matchType, ...lists }: WindowScope): Series[] {
  return lists.countries.flatMap((country) =>
    lists.topics.flatMap((topic) =>
      lists.tickers.flatMap((ticker) =>
        lists.variants.map((variant) => ({ feed, country, topic, ticker, match_type: matchType, variant })),
      ),
    ),
  );
}

/** Returns the series of a row, without its other columns. */
export function seriesOnly({ feed, country, topic, ticker, match_type, variant }: Series): Series {
  return { feed, country, topic, ticker, match_type, variant };
}

/** Returns a text that is the same for rows of the same series. */
export function keyOfSeries(row: Series): string {
  return JSON.stringify(Object.values(seriesOnly(row)));
}

/** Groups what belongs to series. The groups have a fixed order, so that two writers do not deadlock. */
export function bySeries<Item>(
  items: readonly Item[],
  seriesOf: (item: Item, index: number) => Series,
): [Series, Item[]][] {
  const groups = new Map<string, [Series, Item[]]>();
  let last: [Series, Item[]] | undefined;
  for (const [index, item] of items.entries()) {
    const series = seriesOf(item, index);
    // Neighbours often share the object, and to make its key takes longer than the rest.
    if (last?.[0] !== series) {
      const key = keyOfSeries(series);
      last = groups.get(key) ?? [series, []];
      groups.set(key, last);
    }
    last[1].push(item);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** The columns that name the series of a row in the tables of loads (windows, coverage and others). */
const columns: readonly (keyof Series)[] = ['feed', 'country', 'topic', 'ticker', 'match_type', 'variant'];

/** Their names, as a list. */
export const seriesColumns: RawBuilder<unknown> = sql.join(columns.map((column) => sql.ref(column)));

/** Returns the series of a row in the tables of loads, as a list of columns. */
export function seriesOf(alias: string): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(`${alias}.${column}`)));
}

/** Returns the series of a row in the tables of loads as a text for a person, without its feed and match type. */
export function nameOfSeries(alias: string): RawBuilder<string> {
  const parts = ['country', 'topic', 'ticker', 'variant'].map(
    (part) => sql`nullif(${sql.ref(`${alias}.${part}`)}, '')`,
  );
  return sql`concat_ws(' ', ${sql.join(parts)})`;
}

/** Returns a series as the values of `seriesColumns`. */
export function seriesValues(series: Series): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql`${series[column]}::text`));
}

/** Returns the series of several rows: an array for each of `seriesColumns`, to unnest. */
export function seriesArrays(rows: readonly Series[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql`${rows.map((row) => row[column])}::text[]`));
}

/** Returns the condition that two rows of the loads' own tables are of the same series. */
export function sameSeries(one: string, other: string): RawBuilder<boolean> {
  return sql`((${seriesOf(one)}) = (${seriesOf(other)}))`;
}

/** Returns the condition that a row of the loads' own tables is of a series. */
export function isOfSeries(alias: string, series: Series): RawBuilder<boolean> {
  return sql`((${seriesOf(alias)}) = (${seriesValues(series)}))`;
}

/** Returns which days of a row `of`, with a series and `days`, were loaded before, settled or not. */
export function loadedBefore(of: string): RawBuilder<string> {
  return sql`(datemultirange(${sql.ref(`${of}.days`)})
    * (coalesce((select c.days from gmsi.coverage c where ${sameSeries('c', of)}), '{}')
      + coalesce((select range_agg(daterange(w.day, w.day, '[]')) from gmsi.watched w
                  where ${sameSeries('w', of)} and w.day <@ ${sql.ref(`${of}.days`)}), '{}')))`;
}

/** Does the same for the days of times, in microseconds since 1970 and in order. */
export async function loadedBeforeOf(
  db: Kysely<Database>,
  series: Series,
  times: ArrayLike<number> & { at(index: number): number | undefined },
): Promise<string> {
  if (times.length === 0) return '{}';
  const [from, to] = [times.at(0)!, times.at(-1)!].map((time) =>
    new Date(time / 1000).toISOString().slice(0, 10),
  );
  const { rows } = await sql<{ days: string }>`
    select ${loadedBefore('asked')}::text as days
    from (select ${seriesValues(series)}, daterange(${from}::date, ${to}::date, '[]')) as asked (${seriesColumns}, days)`.execute(
    db,
  );
  return rows[0]!.days;
}

/**
 * Returns the condition that the watch of a window's series had begun before its load: another load has drained days that could
 * still change. The windows of one load begin the watch together.
 */
export function isWatched(of: string): RawBuilder<boolean> {
  return sql`exists (
    select from gmsi.watched w
    where ${sameSeries('w', of)} and not exists (
      select from gmsi.windows own
      where ${sameSeries('own', of)} and own.load_id = ${sql.ref(`${of}.load_id`)}
        and own.state = 'drained' and own.days @> w.day))`;
}

/** Returns every series of a job, as rows `asked`. */
export function askedSeries({ feed, matchType, ...lists }: WindowScope): RawBuilder<unknown> {
  return sql`(select ${feed}::text as feed, country, topic, ticker, ${matchType}::text as match_type, variant
              from unnest(${[...lists.countries]}::text[]) as country
              cross join unnest(${[...lists.topics]}::text[]) as topic
              cross join unnest(${[...lists.tickers]}::text[]) as ticker
              cross join unnest(${[...lists.variants]}::text[]) as variant) as asked`;
}

/** Returns the condition that a row of the loads' own tables is of one of a job's series. */
export function isOfJob(alias: string, scope: WindowScope): RawBuilder<boolean> {
  const isOneOf = (column: string, values: readonly string[]) =>
    sql`${sql.ref(`${alias}.${column}`)} = any(${[...values]}::text[])`;
  return sql`(${sql.ref(`${alias}.feed`)} = ${scope.feed} and ${sql.ref(`${alias}.match_type`)} = ${scope.matchType}
    and ${isOneOf('country', scope.countries)} and ${isOneOf('topic', scope.topics)}
    and ${isOneOf('ticker', scope.tickers)} and ${isOneOf('variant', scope.variants)})`;
}

/**
 * Returns the condition that a window, called `w` in the query, belongs to a job. The bounds of its last day follow from the
 * overlap; an index can use them. A window that runs to now belongs to the job only if it begins in the period, because a
 * sync must not wait for the backfill of many years.
 */
export function inScope(scope: WindowScope): RawBuilder<boolean> {
  const [from, to] = [sql`${scope.from}::date`, sql`${scope.to}::date`];
  const isOfPeriod = scope.isOpenEnded
    ? sql`w.first_day between ${from} and ${to} and w.last_day >= ${from}`
    : sql`w.days && ${period(scope)} and w.last_day between ${from} and ${to} + ${longestRequestDays - 1}::int`;
  return sql`(${isOfJob('w', scope)} and ${isOfPeriod})`;
}

/** A job that wants the days of a scope. */
export interface WantedScope {
  readonly job: string;
  readonly scope: WindowScope;
}

/**
 * Returns the jobs that want a day of a window `w`. More windows than those of `inScope` are wanted, so that none is given up
 * that a job may still need.
 */
export function jobsWanting(wanted: readonly WantedScope[]): RawBuilder<string[]> {
  const each = wanted.map(
    ({ job, scope }) =>
      sql`case when ${isOfJob('w', scope)} and w.days && ${period(scope)} then ${job}::text end`,
  );
  return sql`array_remove(array[${sql.join([sql`null::text`, ...each])}], null)`;
}

/** The condition that a window `w` is still to be drained; worded as in the partial indexes, so that they are used. */
export const isOpen: RawBuilder<boolean> = sql`w.state in ('pending', 'draining', 'failed')`;

/** Returns a job's period as a range. */
export function period(scope: WindowScope): RawBuilder<unknown> {
  return sql`daterange(${scope.from}::date, ${scope.to}::date, '[]')`;
}

/* A feed's table has columns for the parts of a series that tell its rows apart. */

/** Returns the values of a series in the columns that tell the table's series apart. */
export function seriesInTable(table: FeedTable, series: Series): Record<string, string> {
  return inEachColumn(table, (part) => series[part]);
}

/** Does the same for all series of a job. */
export function jobInTable(table: FeedTable, scope: WindowScope): Record<string, readonly string[]> {
  const { countries: country, topics: topic, tickers: ticker, variants: variant } = scope;
  const lists = { feed: [scope.feed], country, topic, ticker, match_type: [scope.matchType], variant };
  return inEachColumn(table, (part) => lists[part]);
}

/** Returns the condition that a row of a feed's table is of a series. */
export function isRowOfSeries(alias: string, table: FeedTable, series: Series): RawBuilder<boolean> {
  return all(alias, seriesInTable(table, series), (column, value) => sql`${column} = ${value}`);
}

/** Returns the condition that a row of a feed's table is of one of a job's series. */
export function isRowOfJob(alias: string, table: FeedTable, scope: WindowScope): RawBuilder<boolean> {
  return all(
    alias,
    jobInTable(table, scope),
    (column, values) => sql`${column} = any(${[...values]}::text[])`,
  );
}

/** Returns the condition that a row of a feed's table is of the series of a row of the loads' own tables. */
export function isRowOfSame(alias: string, table: FeedTable, other: string): RawBuilder<boolean> {
  const parts = inEachColumn(table, (part) => sql.ref(`${other}.${part}`));
  return all(alias, parts, (column, value) => sql`${column} = ${value}`);
}

function inEachColumn<Value>(
  { series }: FeedTable,
  of: (part: keyof Series) => Value,
): Record<string, Value> {
  return Object.fromEntries(series.map((part) => [part, of(part)]));
}

function all<Value>(
  alias: string,
  values: Record<string, Value>,
  condition: (column: RawBuilder<unknown>, value: Value) => RawBuilder<unknown>,
): RawBuilder<boolean> {
  const conditions = Object.entries(values).map(([column, value]) =>
    condition(sql.ref(`${alias}.${column}`), value),
  );
  return sql`(${sql.join(conditions, sql` and `)})`;
}
