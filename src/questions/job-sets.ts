import { type RawBuilder, sql } from 'kysely';
import type { FeedTable, FieldAliases, Series } from '../feeds/feed.ts';
import { deviation } from '../feeds/reading/read-fields.ts';
import type { Day } from '../warehouse/database.ts';
import {
  askedSeries,
  isRowOfJob,
  isRowOfSame,
  seriesColumns,
  seriesOf,
  type WindowScope,
} from '../warehouse/tables/series.ts';
import { countingWindows } from './emptied.ts';

/** A job as its checks see it. */
export interface CheckScope {
  readonly window: WindowScope;
  readonly table: FeedTable;
  /** The names of the fields that fill the columns: the job's own, and the feed's. */
  readonly fields: readonly FieldAliases[];
  /** The first day that a load requests: that of the job, or its history limit. */
  readonly firstRequested: Day;
  /** The first day that is not settled yet. */
  readonly firstUnsettled: Day;
}

/** The columns that all feeds' tables have. */
const ofEveryRow = [
  'first_seen_at',
  'changed_at',
  'retracted_at',
  'is_backfilled',
  'load_id',
  'window_id',
  'asked_at',
];

/**
 * Returns the sets of rows that a check can read about its job. A set that its query does not name costs nothing, and filters
 * of the query use the tables' indexes and partitions.
 */
export function jobSets({
  window,
  table,
  fields,
  firstRequested,
  firstUnsettled,
}: CheckScope): RawBuilder<unknown> {
  const { from, to } = window;
  const [time] = table.key.map((column) => sql.ref(`kept.${column}`));
  // Not `kept.*`: a column that a user has added could hide a name that the check uses.
  const columns = [...table.series, ...Object.keys(table.columns), ...ofEveryRow];
  const allRows = sql`
    select ${sql.join(columns.map((column) => sql.ref(`kept.${column}`)))} from ${sql.table(`gmsi.${table.name}`)} as kept
    where ${isRowOfJob('kept', table, window)} and ${time} >= ${from}::date::timestamp at time zone 'UTC'`;
  const rows = sql`${allRows} and ${time} < (${to}::date + 1)::timestamp at time zone 'UTC'`;
  const ofTable = sql.ref(`job_${table.name}`);
  return sql`
    job_period as not materialized (
      select ${from}::date as first_day, ${to}::date as last_day,
             ${firstRequested}::date as first_requested, ${firstUnsettled}::date as first_unsettled),
    job_series as not materialized (
      select * from ${askedSeries(window)}),
    job_days as not materialized (
      select ${seriesOf('asked')}, day, coalesce(c.covered @> day, false) as is_covered
      from ${askedSeries(window)} left join gmsi.series_days c using (series_id)
      cross join lateral (select ${from}::date + n as day from generate_series(0, ${to}::date - ${from}::date) as n) as days),
    job_counted_days as not materialized (${countedDays(table, window)}),
    ${ofTable} as not materialized (${rows} and kept.retracted_at is null),
    ${sql.ref(`job_retracted_${table.name}`)} as not materialized (${rows} and kept.retracted_at is not null),
    job_rows as not materialized (select ${rowOf(table, window)} from ${ofTable} as kept),
    job_all_rows as not materialized (select ${rowOf(table, window)} from (${allRows}) as kept),
    job_numbers as not materialized (${numbersOf(table, window)} ),
    job_models as not materialized (${modelsOf(table, window)}),
    job_sums as not materialized (${sumsOf(table, window)}),
    job_filled as not materialized (${filledOf(table, fields)})`;
}

const columnsOf = (table: FeedTable) => Object.keys(table.columns).filter((column) => column !== 'extra');
const has = (table: FeedTable, column: string) => table.columns[column] !== undefined;
const kept = (column: string) => sql.ref(`kept.${column}`);

/**
 * Returns the columns that rows of all feeds share: the series as a load names it, time, id, text, and those of every table.
 */
function rowOf(table: FeedTable, window: WindowScope): RawBuilder<unknown> {
  const [time, id] = table.key;
  const ofRow = ofEveryRow.map(kept);
  return sql`${seriesOfRow(table, window)}, ${kept(time!)} as at, (${kept(time!)} at time zone 'UTC')::date as day,
    ${kept(id!)} as id, ${textOf(table)} as text, ${sql.join(ofRow)}`;
}

function seriesOfRow(table: FeedTable, { matchType }: WindowScope): RawBuilder<unknown> {
  const partOf = (part: keyof Series, otherwise = '') => {
    return sql`${table.series.includes(part) ? kept(part) : sql`${sql.lit(otherwise)}::text`} as ${sql.ref(part)}`;
  };
  const parts = [partOf('country'), partOf('topic'), partOf('ticker'), partOf('match_type', matchType)];
  return sql.join([...parts, partOf('variant')]);
}

/** Texts by which copies of one row may differ. */
const notOfText = ['url', 'model_version'];

/** Returns the texts that tell rows of one time apart; null for a headline or an event that has no text. */
function textOf(table: FeedTable): RawBuilder<unknown> {
  const texts = columnsOf(table).filter(
    (column) => table.columns[column] === 'text' && !notOfText.includes(column),
  );
  const all = sql`concat_ws(' · ', ${sql.join(texts.map(kept))})`;
  const title = ['headline', 'event_name'].find((column) => has(table, column));
  return title ? sql`case when ${kept(title)} is not null then ${all} end` : all;
}

/** Numbers whose range follows from their name. */
const ranges: readonly (readonly [name: RegExp, lowest: number, highest: number])[] = [
  [/(^|_)(probability|positive|neutral|negative)$/, 0, 1],
  [/(^|_)(score|avg)$/, -1, 1],
  [/(^|_)(count|abs_sum|std)$/, 0, Number.POSITIVE_INFINITY],
];

function numbersOf(table: FeedTable, window: WindowScope): RawBuilder<unknown> {
  const numbers = columnsOf(table).flatMap((column) => {
    const range = ranges.find(([name]) => name.test(column));
    if (!range || !/^(double precision|bigint)$/.test(table.columns[column] ?? '')) return [];
    const [, lowest, highest] = range;
    const [least, most] = [lowest, highest].map((bound) => sql`${sql.lit(`${bound}`)}::double precision`);
    return [sql`(${sql.lit(column)}, ${kept(column)}, ${least}, ${most})`];
  });
  return ofEach(table, window, ['"column"', 'value', 'lowest', 'highest'], numbers);
}

/** Returns the probabilities of each model, by the names that feeds have for them, and the score that follows from them. */
function modelsOf(table: FeedTable, window: WindowScope): RawBuilder<unknown> {
  const ofPrefix = columnsOf(table).flatMap((column) => {
    const prefix = /^(.+)_positive$/.exec(column)?.[1];
    return prefix
      ? [[prefix, ...['positive', 'neutral', 'negative', 'score'].map((of) => `${prefix}_${of}`)]]
      : [];
  });
  const ofTicker = [
    'sentiment',
    'bullish_probability',
    'neutral_probability',
    'bearish_probability',
    'sentiment_score',
  ];
  const models = (has(table, 'bullish_probability') ? [...ofPrefix, ofTicker] : ofPrefix).map(
    ([model, ...columns]) => sql`(${sql.lit(model!)}, ${sql.join(columns.map(kept))})`,
  );
  return ofEach(table, window, ['model', 'positive', 'neutral', 'negative', 'score'], models);
}

/** Returns the sums of an index, whose own name for its count does not matter. */
function sumsOf(table: FeedTable, window: WindowScope): RawBuilder<unknown> {
  const names = ['headline_count', 'event_count'];
  const count = names.find((column) => has(table, column));
  const sums = [count, 'sentiment_sum', 'sentiment_abs_sum', 'sentiment_std', 'sentiment_avg'].map(
    (column) => (column && has(table, column) ? kept(column) : sql`null::double precision`),
  );
  const columns = ['count', 'sum', 'abs_sum', 'std', 'mean'];
  return ofEach(table, window, columns, count ? [sql`(${sql.join(sums)})`] : []);
}

/** Returns each row of a job once for each of its values, with that value; no rows if the table has no such columns. */
function ofEach(
  table: FeedTable,
  window: WindowScope,
  columns: readonly string[],
  values: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  const none = sql`(select ${sql.join(columns.map(() => sql`null::double precision`))} where false)`;
  const each = values.length === 0 ? none : sql`(values ${sql.join(values)})`;
  return sql`select ${rowOf(table, window)}, each.* from ${sql.ref(`job_${table.name}`)} as kept
    cross join lateral ${each} as each (${sql.raw(columns.join(', '))})`;
}

/** Returns how many rows of each month have a value, and how many have it only in `extra`, as it was sent, by column. */
function filledOf(table: FeedTable, fields: CheckScope['fields']): RawBuilder<unknown> {
  const columns = columnsOf(table).filter((column) => !table.key.includes(column));
  const counts = columns.flatMap((column, at) => [
    sql`count(${kept(column)}) as ${sql.ref(`c${at}`)}`,
    sql`count(*) filter (where ${kept(column)} is null and kept.extra is not null
          and ${isUnread(
            column,
            fields.flatMap((names) => names[column] ?? []),
          )}) as ${sql.ref(`u${at}`)}`,
  ]);
  const pairs = columns.map(
    (column, at) => sql`(${sql.lit(column)}, ${sql.ref(`months.c${at}`)}, ${sql.ref(`months.u${at}`)})`,
  );
  return sql`select month, rows, "column", filled, unread
    from (select date_trunc('month', ${kept(table.key[0]!)} at time zone 'UTC')::date as month, count(*) as rows,
                 ${sql.join(counts)}
          from ${sql.ref(`job_${table.name}`)} as kept group by 1) as months
    cross join lateral (values ${sql.join(pairs)}) as filled ("column", filled, unread)`;
}

/**
 * True if `extra` has a value for a column under one of these names. An object is none if other names are of fields within it.
 */
function isUnread(column: string, names: readonly string[]): RawBuilder<unknown> {
  const has = names.map((name) => {
    const path = sql`array[${sql.join(name.split('.').map((part) => sql.lit(part)))}]::text[]`;
    const value = sql`kept.extra #>> ${path}`;
    const isValue = column === deviation ? sql`lower(${value}) <> 'nan'` : sql`${value} is not null`;
    const isAround = names.some((other) => other.startsWith(`${name}.`));
    return isAround ? sql`(${isValue} and jsonb_typeof(kept.extra #> ${path}) <> 'object')` : isValue;
  });
  return sql`(${sql.join([sql`false`, ...has], sql` or `)})`;
}

/**
 * Counts, for each day, the rows that the service sent to the last window that drained it (`rows_met`), and the rows of the
 * table (`rows_held`). `rows_held` excludes rows that came after the window, or that it or an earlier one retracted. So rows
 * were lost if `rows_held` is below `rows_met`. It may be higher, by rows that the window did not see and did not retract.
 */
function countedDays(table: FeedTable, window: WindowScope): RawBuilder<unknown> {
  const time = sql.ref(`kept.${table.key[0]}`);
  const [from, to] = [sql`${window.from}::date`, sql`${window.to}::date`];
  const begin = (day: RawBuilder<unknown>) => sql`${day}::timestamp at time zone 'UTC'`;
  return sql`
    select ${seriesOf('w')}, w.window_id, w.ended_at, counted.*
    from (
      select ${seriesColumns}, window_id, ended_at, array_agg(day) as days, array_agg(rows_met) as met,
             min(day) as first_day, max(day) as last_day
      from (
        select ${seriesColumns}, window_id, ended_at, asked_at, day, w.rows_met[day - w.first_day + 1] as rows_met,
               max(w.asked_at) filter (where w.ended_at is not null) over (partition by w.series_id, day) as last_asked
        from (select ${seriesColumns}, window_id, series_id, ended_at, asked_at, first_day, last_day, rows_met
              from job_series join ${countingWindows} as w using (series_id)) as w
        cross join lateral (
          select w.first_day + n as day
          from generate_series(greatest(0, ${from} - w.first_day), least(w.last_day, ${to}) - w.first_day) as n
        ) as each
      ) as each
      where rows_met > 0 and (asked_at >= last_asked) is not false
      group by ${seriesColumns}, window_id, ended_at
    ) as w
    cross join lateral (
      select met.day, met.rows_met, coalesce(held.rows_held, 0) as rows_held
      from unnest(w.days, w.met) as met (day, rows_met)
      left join (
        select (${time} at time zone 'UTC')::date as day, count(*) as rows_held
        from ${sql.table(`gmsi.${table.name}`)} as kept
        where ${isRowOfSame('kept', table, 'w')} and ${time} >= ${begin(sql`w.first_day`)}
          and ${time} < ${begin(sql`(w.last_day + 1)`)}
          and (w.ended_at is null or (kept.first_seen_at <= w.ended_at
            and (kept.retracted_at is null or kept.retracted_at > w.ended_at)))
        group by 1
      ) as held using (day)
    ) as counted`;
}
