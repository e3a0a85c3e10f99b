import { type RawBuilder, sql } from 'kysely';
import type { FeedTable } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { inOneSnapshot, type Snapshot } from '../snapshot.ts';
import { completeTo, notReplaying } from '../standby.ts';

/** A table that can be exported: a feed's, or a rollup. */
export type ExportTable = Pick<FeedTable, 'name' | 'series' | 'key' | 'columns'>;

const ofHeadlines = ['country', 'topic', 'match_type'] as const;

/** A day compares as its midnight in the session's time zone, which is UTC here. */
export const rollups: Readonly<Record<'hourly' | 'daily', ExportTable>> = {
  hourly: {
    name: 'sentiment_hourly',
    series: ofHeadlines,
    key: ['sentiment_type', 'hour'],
    columns: { hour: 'timestamptz' },
  },
  daily: {
    name: 'sentiment_daily',
    series: ofHeadlines,
    key: ['sentiment_type', 'day'],
    columns: { day: 'timestamptz' },
  },
};

/** Rollups are replaced in place: no version of them is kept, and no row says when it changed. */
function isRollup(table: ExportTable): boolean {
  return Object.values(rollups).includes(table);
}

/** Which rows of a table are exported. */
export interface ExportScope {
  readonly table: ExportTable;
  /** Days (UTC) of the rows' time, both included; `undefined` for no bound. */
  readonly from: Day | undefined;
  readonly to: Day | undefined;
  /** The values that a row may have in some of the columns that tell series apart. */
  readonly only: Readonly<Record<string, readonly string[]>>;
  /** An instant: exports the table as it was then. */
  readonly asOf: string | undefined;
  /** Exports all versions of each row, with `known_from` and `known_to`. Not with `asOf`, and not of a rollup. */
  readonly versions: boolean;
}

/** A column as the database declares it, such as `published_at`, `timestamp with time zone`. */
export interface ExportColumn {
  readonly name: string;
  readonly type: string;
}

/** A month (UTC) of an export. */
export interface MonthState {
  /** `YYYY-MM`. */
  readonly month: string;
  readonly rows: number;
  /** Changes whenever a row of the month is inserted, changed or removed. */
  readonly fingerprint: string;
  /** Whether a row may have changed since the requested moment. */
  readonly isChanged: boolean;
}

/** How many rows a country (or ticker …) has in a month (UTC), and the sums of their scores. */
export interface Totals {
  readonly series: string;
  /** `YYYY-MM`. */
  readonly month: string;
  readonly rows: number;
  /** The exact sum of each column of scores, in billionths. */
  readonly sums: Readonly<Record<string, bigint>>;
}

/** Returns the column by which an export is counted: country, ticker, or the first one of the feed's series. */
export function seriesColumn({ series }: ExportTable): string {
  return series[0]!;
}

/**
 * Runs `read` in a snapshot, so that everything it reads is from one moment. Its session writes times in UTC and numbers with all
 * digits (`session-settings.ts`).
 * @param stop ends the running statement, which then fails
 */
export function inOneState<T>(
  warehouse: Warehouse,
  stop: AbortSignal,
  read: (snapshot: Snapshot, moment: string) => Promise<T>,
): Promise<T> {
  return inOneSnapshot(warehouse, { timeout: 0, stop, rights: 'own' }, async (snapshot) => {
    const { rows } = await sql<{ moment: string | null }>`
      select ${exactTime(sql`case when pg_is_in_recovery() then ${completeTo} else now() end`)} as moment
    `.execute(snapshot);
    const { moment } = rows[0]!;
    if (moment === null) throw notReplaying();
    return read(snapshot, moment);
  });
}

/**
 * Returns the seconds, by the server's clock, until the state as of a moment can no longer change; 0 if it cannot change any
 * more. A standby must also have replayed all that was written until then.
 */
export async function secondsUntilSettled(warehouse: Warehouse, moment: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from ${moment}::timestamptz + gmsi.as_of_delay() - ${completeTo})::float8 as seconds
  `.execute(warehouse);
  return Math.max(0, Math.ceil(rows[0]!.seconds));
}

/** What a version has besides the columns of the row; its `known_from` is the row's `changed_at`. */
const ofVersion: readonly ExportColumn[] = [
  { name: 'known_to', type: 'timestamp with time zone' },
  { name: 'reason', type: 'text' },
];

/**
 * Returns every column of the table in its order. This includes columns that a user has added, except for versions of
 * `gmsi.headlines`.
 */
export async function exportColumns(
  snapshot: Snapshot,
  { table, asOf, versions }: ExportScope,
): Promise<ExportColumn[]> {
  const areVersions = asOf !== undefined || versions;
  const relation = areVersions && table.name === 'headlines' ? 'headline_version' : table.name;
  const { rows } = await sql<ExportColumn>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${`gmsi.${relation}`}::regclass and attnum > 0 and not attisdropped order by attnum
  `.execute(snapshot);
  if (!versions) return rows;
  return [
    ...rows.map((column) => (column.name === 'changed_at' ? { ...column, name: 'known_from' } : column)),
    ...ofVersion,
  ];
}

/**
 * Returns the months to export. The fingerprint of a month in a feed's table is the sum of `changed_at`. Every change
 * increases it, so a change is noticed even if it is committed after a later change. In a rollup, the fingerprint is made of
 * all values.
 * @param since the requested moment, if any
 */
export async function readMonths(
  snapshot: Snapshot,
  scope: ExportScope,
  { columns, since }: { columns: readonly ExportColumn[]; since: string | undefined },
): Promise<MonthState[]> {
  const changedAt = sql.ref(scope.versions ? 'known_from' : 'changed_at');
  const fingerprint = isRollup(scope.table)
    ? sql`sum(hashtextextended(held::text, 0))`
    : sql`sum(extract(epoch from ${changedAt}))`;
  // A row is committed at most half of this delay after its changed_at.
  const isChanged =
    since === undefined
      ? sql`false`
      : sql`bool_or(${changedAt} >= ${since}::timestamptz - gmsi.as_of_delay())`;
  const { rows } = await sql<MonthState>`
    select ${monthOf(scope)} as month, count(*)::float8 as rows, ${fingerprint}::text as fingerprint, ${isChanged} as "isChanged"
    from ${source(scope, columns)} as held where ${isInScope(scope)} group by 1 order by 1
  `.execute(snapshot);
  return rows;
}

/** Returns when a load began, to the microsecond; `undefined` if there is none with this number. */
export async function startOfLoad(warehouse: Warehouse, loadId: number): Promise<string | undefined> {
  const { rows } = await sql<{ began: string }>`
    select ${exactTime('started_at')} as began from gmsi.loads where load_id = ${loadId}`.execute(warehouse);
  return rows[0]?.began;
}

/**
 * Returns the totals of some months, by month, then by series.
 * @param scores columns to add up
 * @param months `YYYY-MM`, in order
 */
export async function countTotals(
  snapshot: Snapshot,
  scope: ExportScope,
  {
    columns,
    scores,
    months,
  }: { columns: readonly ExportColumn[]; scores: readonly string[]; months: readonly string[] },
): Promise<Totals[]> {
  if (months.length === 0) return [];
  const bounds = isBetween(scope, months[0]!, months.at(-1)!);
  const sums = scores.map((column) => sql`, ${sql.raw(exactSum(column))} as ${sql.ref(column)}`);
  const { rows } = await sql<Readonly<Record<string, string>>>`
    select ${sql.ref(seriesColumn(scope.table))} as series, ${monthOf(scope)} as month,
           count(*)::text as rows ${sql.join(sums, sql``)}
    from ${source(scope, columns)} as held
    where ${isInScope(scope)} and ${bounds} and ${monthOf(scope)} = any(${[...months]}::text[])
    group by 1, 2 order by 2, 1
  `.execute(snapshot);
  return rows.map((row) => totalsFrom(row, scores));
}

/**
 * Returns SQL for a sum in whole billionths, which is the same in any order of the values, unlike a sum of floating-point
 * numbers. The same SQL works in PostgreSQL and DuckDB. NaN and infinity are omitted.
 */
export function exactSum(column: string): string {
  const value = `"${column.replaceAll('"', '""')}"`;
  const billionths = `floor(${value} * 1e9::float8 + 0.5::float8)::bigint`;
  return `coalesce(sum(case when abs(${value}) < 1e9::float8 then ${billionths} end), 0)::text`;
}

/** Reads totals as both databases return them, with numbers as text. */
export function totalsFrom(row: Readonly<Record<string, string>>, scores: readonly string[]): Totals {
  const sums = Object.fromEntries(scores.map((column) => [column, BigInt(row[column]!)]));
  return { series: row.series!, month: row.month!, rows: Number(row.rows), sums };
}

/**
 * Yields the rows of a month in the order of the table's key, through a cursor of the server, `atMost` at a time. Each row is
 * a line of CSV. Each value is PostgreSQL's text for it: exact, and times to the microsecond.
 */
export async function* linesOf(
  snapshot: Snapshot,
  scope: ExportScope,
  month: string,
  { columns, atMost }: { columns: readonly ExportColumn[]; atMost: number },
): AsyncGenerator<string[]> {
  const { table, versions } = scope;
  const key = [...table.series, ...table.key, ...(versions ? ['known_from'] : [])];
  await sql`
    declare export_rows no scroll cursor for
    select ${lineOf(columns)} as line from ${source(scope, columns)} as held
    where ${isBetween(scope, month, month)} and ${isInScope(scope)}
    order by ${sql.join(key.map((column) => sql.ref(column)))}
  `.execute(snapshot);
  while (true) {
    const { rows } = await sql<{ line: string }>`fetch ${sql.lit(atMost)} from export_rows`.execute(snapshot);
    if (rows.length > 0) yield rows.map(({ line }) => line);
    if (rows.length < atMost) break;
  }
  // If reading failed, the end of the transaction closes the cursor.
  await sql`close export_rows`.execute(snapshot);
}

/** Types whose text contains no comma, no quote and no line break. */
const plainTypes = [
  'uuid',
  'timestamp with time zone',
  'double precision',
  'boolean',
  'bigint',
  'integer',
  'date',
];

/**
 * Returns an expression for a row as a line of CSV. The server makes the line, because sending a text for each value costs
 * several times as much. A null has no characters, an empty text is `""`.
 */
function lineOf(columns: readonly ExportColumn[]): RawBuilder<string> {
  const values = columns.map(({ name, type }) =>
    plainTypes.includes(type) ? sql.ref(name) : sql`'"' || replace(${sql.ref(name)}::text, '"', '""') || '"'`,
  );
  // A function takes at most 100 arguments.
  const parts: RawBuilder<unknown>[] = [];
  for (let at = 0; at < values.length; at += 40)
    parts.push(sql`concat(${sql.join(values.slice(at, at + 40), sql`, ',', `)})`);
  return sql`${sql.join(parts, sql` || ',' || `)}`;
}

function source(scope: ExportScope, columns: readonly ExportColumn[]): RawBuilder<unknown> {
  const { table, asOf, versions } = scope;
  if (versions) return versionsOf(table, columns);
  return asOf === undefined
    ? sql.table(`gmsi.${table.name}`)
    : sql`${sql.table(`gmsi.${table.name}_as_of`)}(${asOf}::timestamptz)`;
}

/** Returns all versions of a table's rows, the current ones without `known_to` and `reason`. */
function versionsOf({ name }: ExportTable, columns: readonly ExportColumn[]): RawBuilder<unknown> {
  const own = columns.slice(0, -ofVersion.length).map((column) => column.name);
  const ofRow = sql.join(
    own.map((column) => (column === 'known_from' ? sql`changed_at as known_from` : sql.ref(column))),
  );
  const replaced =
    name === 'headlines'
      ? sql`select ${sql.join(own.map((column) => sql.ref(column)))}, known_to, reason from gmsi.headline_revisions`
      : sql`select version.*, r.known_to, r.reason from gmsi.revisions r
            cross join lateral (
              select ${ofRow} from jsonb_populate_record(null::${sql.table(`gmsi.${name}`)}, r.version)
            ) as version
            where r.table_name = ${name}`;
  return sql`(
      select ${ofRow}, null::timestamptz as known_to, null::text as reason from ${sql.table(`gmsi.${name}`)}
      union all ${replaced})`;
}

function timeOf({ table }: ExportScope): RawBuilder<unknown> {
  return sql.ref(table.key.find((column) => table.columns[column] === 'timestamptz')!);
}

function monthOf(scope: ExportScope): RawBuilder<string> {
  return sql`to_char(${timeOf(scope)} at time zone 'UTC', 'YYYY-MM')`;
}

/** Returns the condition that a row is of these months or of one between them; partitions of others are not read. */
function isBetween(scope: ExportScope, first: string, last: string): RawBuilder<boolean> {
  const time = timeOf(scope);
  const began = sql`(${`${first}-01`}::timestamp at time zone 'UTC')`;
  const ended = sql`((${`${last}-01`}::timestamp + interval '1 month') at time zone 'UTC')`;
  return sql`(${time} >= ${began} and ${time} < ${ended})`;
}

function isInScope(scope: ExportScope): RawBuilder<boolean> {
  const { from, to, only } = scope;
  const conditions = Object.entries(only).map(
    ([column, values]) => sql`${sql.ref(column)} = any(${[...values]}::text[])`,
  );
  if (from !== undefined)
    conditions.push(sql`${timeOf(scope)} >= ${from}::date::timestamp at time zone 'UTC'`);
  if (to !== undefined)
    conditions.push(sql`${timeOf(scope)} < (${to}::date + 1)::timestamp at time zone 'UTC'`);
  return conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`;
}
