import { type RawBuilder, sql } from 'kysely';
import type { FeedTable } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../database.ts';
import { inOneSnapshot, type Snapshot } from './run-check.ts';

/** Which rows of a feed's table are exported. */
export interface ExportScope {
  readonly table: FeedTable;
  /** Days (UTC) of the rows' time, both included; no bound if left out. */
  readonly from: Day | undefined;
  readonly to: Day | undefined;
  /** The values that a row may have in some of the columns that tell series apart. */
  readonly only: Readonly<Record<string, readonly string[]>>;
  /** An instant: exports `gmsi.headlines` as it was then. Other tables have no history. */
  readonly asOf: string | undefined;
}

/** A column as the database declares it, such as `published_at`, `timestamp with time zone`. */
export interface ExportColumn {
  readonly name: string;
  readonly type: string;
}

/** The rows of a country (or ticker …) in a month (UTC), for one file or several. */
export interface Partition {
  readonly series: string;
  /** `YYYY-MM`. */
  readonly month: string;
}

/** How many rows a partition has, and the sums of their scores. */
export interface PartitionTotals extends Partition {
  readonly rows: number;
  /** The exact sum of each column of scores, in billionths. */
  readonly sums: Readonly<Record<string, bigint>>;
}

/** A row with each value as PostgreSQL's text for it: exact, times to the microsecond. */
export type TextRow = Readonly<Record<string, string | null>>;

/** The column that an export has folders for: country, ticker, or the first one of the feed's series. */
export function partitionColumn({ series }: FeedTable): string {
  return Object.keys(series)[0]!;
}

/**
 * Runs `read` in a snapshot, so that everything it reads is from one moment; times are in UTC and numbers have all digits,
 * whatever the database's settings are.
 * @param stop ends the statement in hand, which then fails
 */
export function inOneState<T>(
  warehouse: Warehouse,
  stop: AbortSignal,
  read: (snapshot: Snapshot, moment: Date) => Promise<T>,
): Promise<T> {
  return inOneSnapshot(warehouse, { timeout: 0, stop }, async (snapshot) => {
    const { rows } = await sql<{ moment: Date }>`
      select set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true), now() as moment
    `.execute(snapshot);
    return read(snapshot, rows[0]!.moment);
  });
}

/** Whether the schema exists and is new enough. */
export async function canExport(warehouse: Warehouse): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select to_regprocedure('gmsi.as_of_delay()') is not null as yes`.execute(warehouse);
  return rows[0]!.yes;
}

/** Seconds, by the server's clock, until the state as of a moment can no longer change; 0 if it cannot change now. */
export async function secondsUntilSettled(warehouse: Warehouse, moment: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from ${moment}::timestamptz + gmsi.as_of_delay() - clock_timestamp())::float8 as seconds
  `.execute(warehouse);
  return Math.max(0, Math.ceil(rows[0]!.seconds));
}

/**
 * Every column of the table in its order, including those that a user has added; as of a past moment, the columns that exist
 * then.
 */
export async function exportColumns(
  snapshot: Snapshot,
  { table, asOf }: ExportScope,
): Promise<ExportColumn[]> {
  const ofTable = sql<ExportColumn>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${`gmsi.${table.name}`}::regclass and attnum > 0 and not attisdropped order by attnum`;
  const ofFunction = sql<ExportColumn>`
    select name, format_type(type, null) as type
    from pg_proc cross join unnest(proargnames, proallargtypes, proargmodes) with ordinality as a (name, type, mode, n)
    where pg_proc.oid = 'gmsi.headlines_as_of(timestamptz)'::regprocedure and mode = 't' order by n`;
  const { rows } = await (asOf === undefined ? ofTable : ofFunction).execute(snapshot);
  return rows;
}

/**
 * The partitions to export, by month, then by series: a month is a partition of the large tables, and is still in the
 * server's memory when its next country is read.
 * @param scores columns to add up
 */
export async function partitionTotals(
  snapshot: Snapshot,
  scope: ExportScope,
  scores: readonly string[],
): Promise<PartitionTotals[]> {
  const sums = scores.map((column) => sql`, ${sql.raw(exactSum(column))} as ${sql.ref(column)}`);
  const { rows } = await sql<Partition & Record<string, string>>`
    select ${sql.ref(partitionColumn(scope.table))} as series, to_char(${timeOf(scope)} at time zone 'UTC', 'YYYY-MM') as month,
           count(*)::text as rows ${sql.join(sums, sql``)}
    from ${source(scope)} where ${isInScope(scope)} group by 1, 2 order by 2, 1
  `.execute(snapshot);
  return rows.map((row) => totalsFrom(row, scores));
}

/**
 * A sum in whole billionths, which is the same in any order of the values, unlike a sum of floating-point numbers. The same
 * SQL works in PostgreSQL and DuckDB. NaN and infinity are left out.
 */
export function exactSum(column: string): string {
  const value = `"${column.replaceAll('"', '""')}"`;
  const billionths = `floor(${value} * 1e9::float8 + 0.5::float8)::bigint`;
  return `coalesce(sum(case when abs(${value}) < 1e9::float8 then ${billionths} end), 0)::text`;
}

/** Totals as both databases return them: numbers as text. */
export function totalsFrom(
  row: Partition & Readonly<Record<string, string>>,
  scores: readonly string[],
): PartitionTotals {
  const { series, month, rows } = row;
  const sums = Object.fromEntries(scores.map((column) => [column, BigInt(row[column]!)]));
  return { series, month, rows: Number(rows), sums };
}

/** The rows of a partition in the order of the table's key, through a cursor of the server: `atMost` at a time. */
export async function* rowsOf(
  snapshot: Snapshot,
  scope: ExportScope,
  { series, month }: Partition,
  { columns, atMost }: { columns: readonly string[]; atMost: number },
): AsyncGenerator<TextRow[]> {
  const { table } = scope;
  const [first, time] = [sql.ref(partitionColumn(table)), timeOf(scope)];
  // By the columns, not by the texts of the same names, so that the primary key's index can be used.
  const key = [...Object.keys(table.series), ...table.key];
  const began = sql`(${`${month}-01`}::timestamp at time zone 'UTC')`;
  const ended = sql`((${`${month}-01`}::timestamp + interval '1 month') at time zone 'UTC')`;
  await sql`
    declare export_rows no scroll cursor for
    select ${sql.join(columns.map((column) => sql`${sql.ref(column)}::text as ${sql.ref(column)}`))}
    from ${source(scope)} as held
    where ${first} = ${series} and ${time} >= ${began} and ${time} < ${ended} and ${isInScope(scope)}
    order by ${sql.join(key.map((column) => sql.ref(`held.${column}`)))}
  `.execute(snapshot);
  while (true) {
    const { rows } = await sql<TextRow>`fetch ${sql.lit(atMost)} from export_rows`.execute(snapshot);
    if (rows.length > 0) yield rows;
    if (rows.length < atMost) break;
  }
  // If reading failed, the end of the transaction closes the cursor.
  await sql`close export_rows`.execute(snapshot);
}

function source({ table, asOf }: ExportScope): RawBuilder<unknown> {
  return asOf === undefined
    ? sql.table(`gmsi.${table.name}`)
    : sql`gmsi.headlines_as_of(${asOf}::timestamptz)`;
}

function timeOf({ table }: ExportScope): RawBuilder<unknown> {
  return sql.ref(table.key.find((column) => table.columns[column] === 'timestamptz')!);
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
