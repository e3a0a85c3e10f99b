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

/** The columns of `gmsi.series`, and of other tables that name series. */
const columns: readonly (keyof Series)[] = ['feed', 'country', 'topic', 'ticker', 'match_type', 'variant'];

/** Their names, as a list. */
export const seriesColumns: RawBuilder<unknown> = sql.join(columns.map((column) => sql.ref(column)));

/** Returns the series of a row that names it, as a list of columns. */
export function seriesOf(alias: string): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(`${alias}.${column}`)));
}

/** Returns the series of a row as a text for a person, without its feed and match type. */
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

/** Returns the condition that two rows that name their series are of the same one. */
export function sameSeries(one: string, other: string): RawBuilder<boolean> {
  return sql`((${seriesOf(one)}) = (${seriesOf(other)}))`;
}

/** Returns the condition that a row that names its series is of this one. */
export function isOfSeries(alias: string, series: Series): RawBuilder<boolean> {
  return sql`((${seriesOf(alias)}) = (${seriesValues(series)}))`;
}

/** Returns the number of a series; null if it was never requested. */
export function idOfSeries(series: Series): RawBuilder<number | null> {
  return sql`(select named.series_id from gmsi.series named where ${isOfSeries('named', series)})`;
}

/** Returns every series of a job, as rows `asked`; `series_id` is null for those that were never requested. */
export function askedSeries({ feed, matchType, ...lists }: WindowScope): RawBuilder<unknown> {
  return sql`(select *
              from (select ${feed}::text as feed, country, topic, ticker, ${matchType}::text as match_type, variant
                    from unnest(${[...lists.countries]}::text[]) as country
                    cross join unnest(${[...lists.topics]}::text[]) as topic
                    cross join unnest(${[...lists.tickers]}::text[]) as ticker
                    cross join unnest(${[...lists.variants]}::text[]) as variant) as wanted
              left join gmsi.series using (${seriesColumns})) as asked`;
}

/** Gives each series of a job a number, if it has none yet. */
export async function nameSeries(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`
    insert into gmsi.series (${seriesColumns})
    select ${seriesColumns} from ${askedSeries(scope)} where series_id is null order by ${seriesColumns}
    on conflict do nothing
  `.execute(db);
}

/** Returns the condition that a row that names its series is of one of a job's. */
export function isOfJob(alias: string, scope: WindowScope): RawBuilder<boolean> {
  const isOneOf = (column: string, values: readonly string[]) =>
    sql`${sql.ref(`${alias}.${column}`)} = any(${[...values]}::text[])`;
  return sql`(${sql.ref(`${alias}.feed`)} = ${scope.feed} and ${sql.ref(`${alias}.match_type`)} = ${scope.matchType}
    and ${isOneOf('country', scope.countries)} and ${isOneOf('topic', scope.topics)}
    and ${isOneOf('ticker', scope.tickers)} and ${isOneOf('variant', scope.variants)})`;
}

/** The windows that are not drained, as rows `w`, with their series `s`. */
export const queued: RawBuilder<unknown> = sql`gmsi.queue w join gmsi.series s using (series_id)`;

/**
 * Returns the condition that a window of `queued` belongs to a job. The bounds of its last day follow from the
 * overlap; an index can use them. A window that runs to now belongs to the job only if it begins in the period, because a
 * sync must not wait for the backfill of many years.
 */
export function inScope(scope: WindowScope): RawBuilder<boolean> {
  const [from, to] = [sql`${scope.from}::date`, sql`${scope.to}::date`];
  const isOfPeriod = scope.isOpenEnded
    ? sql`w.first_day between ${from} and ${to} and w.last_day >= ${from}`
    : sql`w.days && ${period(scope)} and w.last_day between ${from} and ${to} + ${longestRequestDays - 1}::int`;
  return sql`(${isOfJob('s', scope)} and ${isOfPeriod})`;
}

/** A job that wants the days of a scope. */
export interface WantedScope {
  readonly job: string;
  readonly scope: WindowScope;
}

/**
 * Returns the jobs that want a day of a window of `queued`. More windows than those of `inScope` are wanted, so that none is given up
 * that a job may still need.
 */
export function jobsWanting(wanted: readonly WantedScope[]): RawBuilder<string[]> {
  const each = wanted.map(
    ({ job, scope }) =>
      sql`case when ${isOfJob('s', scope)} and w.days && ${period(scope)} then ${job}::text end`,
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
