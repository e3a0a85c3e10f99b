import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { SortedRows } from '../arrays.ts';
import { noCounts, type PageCounts, type Position } from '../commit.ts';
import type { Database, Day } from '../database.ts';
import { isOfSeries } from './series.ts';

/*
 * The ledger: what a source said of some days of a series, and when. Only `recordReading` writes it. It also keeps the cache
 * `gmsi.series_days`, which `gmsi.derive_days` proves.
 */

/** The columns of `gmsi.readings`, as rows to record have them. */
const columns = [
  'reading_id',
  'asked_at',
  'completed_at',
  'load_id',
  'series_id',
  'first_day',
  'last_day',
  'asked_on',
  'settled_before',
  'source',
  'is_whole',
  'is_accepted',
  'rows_held',
  'rows_gone',
  'pages',
  'records',
  'rows_inserted',
  'rows_changed',
  'rows_retracted',
  'records_rejected',
  'records_outside',
  'rows_met',
] as const;

/** A column of a reading, or its default. */
export type ReadingColumns = Partial<Record<(typeof columns)[number], RawBuilder<unknown>>> &
  Record<
    | 'asked_at'
    | 'load_id'
    | 'series_id'
    | 'first_day'
    | 'last_day'
    | 'asked_on'
    | 'settled_before'
    | 'source'
    | 'is_whole',
    RawBuilder<unknown>
  >;

const defaults: Partial<Record<(typeof columns)[number], RawBuilder<unknown>>> = {
  reading_id: sql`nextval('gmsi.reading_ids')`,
  // Not the beginning of the transaction: what others wrote while it waited is older.
  completed_at: sql`clock_timestamp()`,
  is_accepted: sql`false`,
  rows_met: sql`null::integer[]`,
};

/**
 * Returns a statement that records readings, one for each row of `from`, which may be of several series.
 * @param before CTEs that come first
 * @returns the statement; its rows have the `reading_id`
 */
export function recordReading(
  before: RawBuilder<unknown>,
  of: ReadingColumns,
  from: RawBuilder<unknown>,
): RawBuilder<{ reading_id: number }> {
  const told = columns.map(
    (column) => sql`${of[column] ?? defaults[column] ?? sql`0`} as ${sql.ref(column)}`,
  );
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql`
    with ${before}, told as materialized (
      select ${sql.join(told)} from ${from}
    ), part as materialized (
      select series_id, reading_id, completed_at, asked_on, settled_before, days as touched,
             case when is_whole then days else '{}' end as loaded,
             case when is_whole then days * datemultirange(daterange(null, asked_on)) else '{}' end as whole,
             case when is_whole then days * datemultirange(daterange(null, settled_before)) else '{}' end as covered,
             case when source = 'w' and is_whole and settled_before > '-infinity' and last_day >= settled_before then completed_at end as watch
      from told cross join lateral (select datemultirange(daterange(first_day, last_day, '[]')) as days) as of_days
    ), known as materialized (
      -- Locked before they are compared, in a fixed order.
      select * from gmsi.series_days where series_id in (select series_id from told) order by series_id for update
    ), kept as (
      insert into gmsi.series_days as c (series_id, touched, loaded, whole, covered, watch_here, watch_on, watch_from)
      select series_id, range_agg(touched), range_agg(loaded), range_agg(whole), range_agg(covered), min(watch),
             (array_agg(asked_on order by watch) filter (where watch is not null))[1],
             (array_agg(settled_before order by watch) filter (where watch is not null))[1]
      from part group by series_id order by series_id
      on conflict (series_id) do update set
        touched = c.touched + excluded.touched, loaded = c.loaded + excluded.loaded, whole = c.whole + excluded.whole,
        covered = c.covered + excluded.covered, watch_here = least(c.watch_here, excluded.watch_here),
        watch_on = case when c.watch_here <= excluded.watch_here then c.watch_on else coalesce(excluded.watch_on, c.watch_on) end,
        watch_from = case when c.watch_here <= excluded.watch_here then c.watch_from else coalesce(excluded.watch_from, c.watch_from) end,
        updated_at = clock_timestamp()
      -- Most syncs of a day add nothing: then the cache is not even written.
      where not (c.touched @> excluded.touched and c.loaded @> excluded.loaded and c.whole @> excluded.whole and c.covered @> excluded.covered)
        or excluded.watch_here < coalesce(c.watch_here, 'infinity')
    )
    insert into gmsi.readings (${names}, is_first)
    select ${names}, not coalesce(is_known, false)
    from told join part using (series_id, reading_id, completed_at, asked_on, settled_before)
    left join lateral (
      select k.touched @> part.touched and k.loaded @> part.loaded and k.whole @> part.whole and k.covered @> part.covered
             and (part.watch is null or k.watch_here <= part.watch)
             -- One that was complete before, but waited, or was stamped before a clock was set back.
             and k.updated_at <= part.completed_at as is_known
      from known k where k.series_id = told.series_id
    ) as before on true
    returning reading_id`;
}

/** Returns columns that the rows to record have under the names of the reading's own. */
export function sameColumns<Name extends keyof ReadingColumns>(
  ...names: readonly Name[]
): Record<Name, RawBuilder<unknown>> {
  return Object.fromEntries(names.map((name) => [name, sql.ref(name)])) as Record<Name, RawBuilder<unknown>>;
}

/** What the reading of a window has from its row in the queue. */
export const ofWindow = {
  ...sameColumns('asked_at', 'load_id', 'series_id', 'first_day', 'last_day', 'asked_on', 'settled_before'),
  reading_id: sql.ref('window_id'),
  source: sql`'w'::"char"`,
};

/** What it has if its pages are not all committed. */
const ofPart = {
  ...ofWindow,
  ...sameColumns('pages', 'rows_met', ...(Object.keys(noCounts) as (keyof PageCounts)[])),
  is_whole: sql`false`,
};

/** Returns a statement that removes windows from the queue; pages that they have committed become readings that are not whole. */
export function leaveQueue(which: RawBuilder<unknown>): RawBuilder<unknown> {
  const gone = sql`gone as (delete from gmsi.queue w where ${which} returning *), begun as (select * from gone where pages > 0)`;
  return recordReading(gone, ofPart, sql`begun`);
}

/** Returns a statement that does the same for windows that stay in the queue, to begin again at their first page. */
export function beginAgain(which: RawBuilder<unknown>): RawBuilder<unknown> {
  const begun = sql`begun as (select * from gmsi.queue where ${which} and pages > 0 for update),
      again as (update gmsi.queue w set pages = 0, next_token = null from begun where w.window_id = begun.window_id)`;
  return recordReading(begun, { ...ofPart, reading_id: sql`nextval('gmsi.reading_ids')` }, sql`begun`);
}

/** The days of a reading that were over and settled when it was asked. */
export interface AskedDays {
  /** The day (UTC) on which it was asked, by the earlier clock. */
  readonly askedOn: Day;
  /** Days before it were settled; `-infinity` if none was known to be. */
  readonly settledBefore: Day;
}

/** Records a live answer that has rows, in their transaction. */
export async function recordLive(
  trx: Transaction<Database>,
  of: AskedDays & {
    readonly readingId: number;
    readonly askedAt: string;
    readonly loadId: number;
    readonly series: Series;
    readonly rows: SortedRows;
  },
  counts: PageCounts,
): Promise<void> {
  if (of.rows.length === 0) return;
  const dayAt = (row: number) =>
    sql`${new Date(of.rows.times.at(row)! / 1000).toISOString().slice(0, 10)}::date`;
  const reading = {
    ...Object.fromEntries(Object.entries(counts).map(([name, many]) => [name, sql`${many}::int`])),
    reading_id: sql`${of.readingId}::bigint`,
    asked_at: sql`${of.askedAt}::timestamptz`,
    load_id: sql`${of.loadId}::bigint`,
    series_id: sql`series_id`,
    first_day: dayAt(0),
    last_day: dayAt(-1),
    asked_on: sql`${of.askedOn}::date`,
    settled_before: sql`${of.settledBefore}::date`,
    source: sql`'l'::"char"`,
    is_whole: sql`false`,
    pages: sql`1`,
  };
  const its = sql`its as (select series_id from gmsi.series s where ${isOfSeries('s', of.series)})`;
  await recordReading(its, reading, sql`its`).execute(trx);
}

/** Returns the position of a live answer once it is committed. One without rows has none, and may be written again. */
export function liveAfter(readingId: number): Position {
  const row = sql`gmsi.readings where reading_id = ${readingId}::bigint`;
  return { row, isPast: sql`exists (select from ${row})` };
}

/** Every how many days each series is compacted, and the days for which readings are kept at least. */
const compactedEvery = 30;

/**
 * Deletes readings that no conclusion needs any more, of one part of the series: after `compactedEvery` days of loads, all parts
 * have had their turn.
 */
export async function compactReadings(db: Kysely<Database>): Promise<void> {
  await sql`
    select gmsi.compact(make_interval(days => ${compactedEvery}::int), extract(day from now())::int % ${compactedEvery}::int,
                        ${compactedEvery}::int)`.execute(db);
}
