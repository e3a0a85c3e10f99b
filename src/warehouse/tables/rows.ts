import { CompiledQuery, sql } from 'kysely';
import type { ColumnType, FeedTable, Row, Series } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import { type WriteTransaction, writeTransaction } from '../write-transaction.ts';
import { seriesInTable } from './series.ts';

export interface Upserted {
  /** Rows that were new. */
  readonly inserted: number;
  /** Rows that replaced an older version, which is kept by the table's trigger. */
  readonly changed: number;
}

/** Where rows come from: what each of them says besides what its record said. */
export interface Provenance {
  readonly series: Series;
  readonly loadId: number;
  /** The window that brought them; `null` for rows of the live feed or a replay. */
  readonly windowId: number | null;
  readonly isBackfilled: boolean;
}

/**
 * Writes a page's rows in one statement: new ones are inserted, changed ones replaced, equal ones not touched.
 * The fastest way that upserts, close to COPY: one array a column, and one prepared text a table (docs/benchmarks.md).
 */
export async function upsertRows(
  trx: WriteTransaction,
  table: FeedTable,
  rows: readonly Row[],
  { series, loadId, windowId, isBackfilled }: Provenance,
): Promise<Upserted> {
  const unique = sortedAndUnique(rows, table.key);
  if (unique.length === 0) return { inserted: 0, changed: 0 };
  const columns = Object.entries(table.columns).map(([column, type]) => arrayParameter(unique, column, type));
  const parameters = [
    isBackfilled,
    loadId,
    windowId,
    ...Object.values(seriesInTable(table, series)),
    ...columns,
  ];
  const result = await trx.executeQuery<Upserted>(CompiledQuery.raw(statementFor(table), parameters));
  return result.rows[0]!;
}

const statements = new WeakMap<FeedTable, string>();

/** The upsert of a table's rows; written once, since putting its hundred names together costs as much as a commit. */
function statementFor(table: FeedTable): string {
  const statement = statements.get(table) ?? writeStatement(table);
  statements.set(table, statement);
  return statement;
}

function writeStatement({ name, columns, key, series }: FeedTable): string {
  const ofSeries = Object.keys(series);
  const names = Object.keys(columns);
  const values = names.filter((column) => !key.includes(column));
  const list = (of: readonly string[], before = '') => of.map((column) => `${before}"${column}"`).join(', ');
  // Side by side in the select list: a function in FROM would keep each column in a store of its own first.
  const sent = Object.values(columns).map(
    (type, index) => `unnest($${index + 4 + ofSeries.length}::${type}[])`,
  );
  return `
    with written as (
      insert into gmsi."${name}" as kept (is_backfilled, load_id, window_id, ${list([...ofSeries, ...names])})
      select $1::boolean, $2::bigint, $3::bigint, ${ofSeries.map((_, index) => `$${index + 4}::text`).join(', ')}, ${sent.join(', ')}
      on conflict (${list([...ofSeries, ...key])}) do update set
        ${values.map((column) => `"${column}" = excluded."${column}"`).join(', ')},
        load_id = excluded.load_id,
        window_id = excluded.window_id,
        retracted_at = null,
        -- Later than the version before it, even where this transaction began before that one was committed.
        changed_at = greatest(excluded.changed_at, kept.changed_at + interval '1 microsecond')
      where kept.retracted_at is not null or (${list(values, 'kept.')}) is distinct from (${list(values, 'excluded.')})
      returning kept.first_seen_at = kept.changed_at as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written`;
}

/**
 * In the order of the key, the last of several with the same key: parallel writers that lock rows in one order cannot
 * deadlock, and one statement may not touch a row twice (error 21000).
 */
function sortedAndUnique(rows: readonly Row[], key: readonly string[]): readonly Row[] {
  const sorted = rows.slice().sort((a, b) => compare(a, b, key));
  return sorted.filter((row, i) => i === sorted.length - 1 || compare(row, sorted[i + 1]!, key) !== 0);
}

function compare(a: Row, b: Row, key: readonly string[]): number {
  for (const column of key) {
    const left = a[column]!;
    const right = b[column]!;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** Partitions known to exist, so that a load asks for each of them once. */
export type KnownPartitions = Set<string>;

/**
 * Makes the month partitions that rows will fall into, in transactions of their own before the page's: making one
 * inside the page's transaction would hold its lock until the commit.
 */
export async function ensurePartitions(
  warehouse: Warehouse,
  table: FeedTable,
  rows: readonly Row[],
  known: KnownPartitions,
): Promise<void> {
  const { partitionedBy } = table;
  if (partitionedBy === null) return;
  const months = new Set(rows.map((row) => (row[partitionedBy] as string).slice(0, 7)));
  for (const month of months) {
    if (known.has(`${table.name} ${month}`)) continue;
    await writeTransaction(warehouse, (trx) =>
      sql`select gmsi.ensure_month_partition(${table.name}, ${`${month}-01`}::date)`.execute(trx),
    );
    known.add(`${table.name} ${month}`);
  }
}

/** What `pg` sends as it is: text in PostgreSQL's text format, bytes in its binary format. */
export type ArrayParameter = string | Buffer;

/** Numbers of the element types, the same on every server (pg_type.dat). */
const oids = { text: 25, 'double precision': 701, jsonb: 3802 } as const;

/** Dimensions, a flag that nulls may occur, the element's type, the array's length, its lower bound. */
const headerBytes = 20;
const nullLength = -1;

/**
 * One column of rows as an array that PostgreSQL can unnest. Numbers and texts go in the binary format: it needs
 * neither digits nor quotes, and costs half of what text costs on either side. Ids and times, which need no quotes
 * and are texts here, go as text.
 */
export function arrayParameter(rows: readonly Row[], column: string, type: ColumnType): ArrayParameter {
  const values = rows.map((row) => row[column] ?? null);
  if (type === 'double precision') return arrayOfNumbers(values as (number | null)[]);
  if (type === 'text') return arrayOfTexts(values, oids.text);
  // jsonb in the binary format is its JSON text after a version number, 1.
  if (type === 'jsonb')
    return arrayOfTexts(
      values.map((json) => (json === null ? null : `\u0001${json}`)),
      oids.jsonb,
    );
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

function arrayOfNumbers(values: readonly (number | null)[]): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + values.length * 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = writeHeader(bytes, oids['double precision'], values.length);
  for (const value of values) {
    view.setInt32(at, value === null ? nullLength : 8);
    if (value !== null) view.setFloat64(at + 4, value);
    at += value === null ? 4 : 12;
  }
  return bytes.subarray(0, at);
}

function arrayOfTexts(values: readonly (string | number | null)[], oid: number): Buffer {
  const texts = values.map((value) => (value === null ? null : String(value)));
  let size = headerBytes;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(size);
  let at = writeHeader(bytes, oid, texts.length);
  for (const text of texts) {
    const length = text === null ? nullLength : bytes.write(text, at + 4);
    at = bytes.writeInt32BE(length, at) + Math.max(0, length);
  }
  return bytes;
}

function writeHeader(bytes: Buffer, oid: number, length: number): number {
  for (const [index, word] of [1, 1, oid, length, 1].entries()) bytes.writeInt32BE(word, index * 4);
  return headerBytes;
}
