import type { ColumnType, FeedTable, Row } from '../feeds/feed.ts';
import { RowsByColumn } from '../feeds/reading/rows-by-column.ts';

/** What `pg` sends unchanged: text in PostgreSQL's text format, bytes in its binary format. */
export type ArrayParameter = string | Buffer;

/** The rows of a page as they are written: sorted by their key, and only the last of several with one key. */
export interface SortedRows {
  readonly length: number;
  /** The keys of the rows. */
  readonly times: readonly string[];
  readonly ids: readonly string[];
  /** The columns of the table, in its order. */
  readonly columns: readonly ArrayParameter[];
}

/**
 * Sorts rows and makes arrays of their columns. Writers that lock rows in one order cannot deadlock, and one statement may
 * not touch a row twice (error 21000).
 */
export function sortedRows({ columns, key }: FeedTable, rows: RowsByColumn): SortedRows {
  const [time, id] = key.map((column) => rows.placeOf(column)) as [number, number];
  const compare = (a: number, b: number) => compareWords(rows, time, a, b) || compareWords(rows, id, a, b);
  const sorted = Array.from({ length: rows.length }, (_, row) => row).sort(compare);
  const order = sorted.filter((row, at) => at === sorted.length - 1 || compare(row, sorted[at + 1]!) !== 0);
  const words = (place: number) => order.map((row) => rows.wordAt(row, place)!);
  return {
    length: order.length,
    times: words(time),
    ids: words(id),
    columns: Object.values(columns).map((type, place) => arrayOf(rows, order, place, type)),
  };
}

/** Rows that are objects, as `sortedRows` of a page. */
export function sortedFrom(table: FeedTable, rows: readonly Row[]): SortedRows {
  return sortedRows(table, byColumn(table.columns, rows));
}

/** One column of rows as an array. */
export function arrayParameter(rows: readonly Row[], column: string, type: ColumnType): ArrayParameter {
  return arrayOf(byColumn({ [column]: type }, rows), [...rows.keys()], 0, type);
}

function byColumn(columns: FeedTable['columns'], rows: readonly Row[]): RowsByColumn {
  const all = new RowsByColumn(columns);
  all.begin(rows.length);
  for (const row of rows) all.add(row);
  return all;
}

function compareWords(rows: RowsByColumn, place: number, a: number, b: number): number {
  const [left, right] = [rows.wordAt(a, place)!, rows.wordAt(b, place)!];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** OIDs of the element types, the same on every server (pg_type.dat). */
const oids = { text: 25, 'double precision': 701, jsonb: 3802 } as const;

/** Dimensions, a flag that nulls may occur, the element's type, the array's length, its lower bound. */
const headerBytes = 20;
const nullLength = -1;

/**
 * One column of rows as an array that PostgreSQL can unnest. Numbers and texts use the binary format, which needs neither
 * digits nor quotes and costs both sides half as much as text. Ids and times, which are texts here and need no quotes, use
 * the text format.
 */
function arrayOf(
  rows: RowsByColumn,
  order: readonly number[],
  place: number,
  type: ColumnType,
): ArrayParameter {
  if (type === 'double precision') return arrayOfNumbers(rows, order, place);
  if (type === 'text') return arrayOfTexts(rows, order, place, oids.text, nothing);
  // jsonb in the binary format is the version number 1 and the JSON text.
  if (type === 'jsonb') return arrayOfTexts(rows, order, place, oids.jsonb, jsonbVersion);
  return `{${order.map((row) => rows.wordAt(row, place) ?? 'NULL').join(',')}}`;
}

function arrayOfNumbers(rows: RowsByColumn, order: readonly number[], place: number): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + order.length * 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = writeHeader(bytes, oids['double precision'], order.length);
  // By index: an iterator makes objects of numbers, for the garbage collector to remove.
  for (let index = 0; index < order.length; index++) {
    const value = rows.numberAt(order[index]!, place);
    const isNull = Number.isNaN(value);
    view.setInt32(at, isNull ? nullLength : 8);
    if (!isNull) view.setFloat64(at + 4, value);
    at += isNull ? 4 : 12;
  }
  return bytes.subarray(0, at);
}

const nothing = new Uint8Array();
const jsonbVersion = Uint8Array.of(1);

/** @param before what each text begins with */
function arrayOfTexts(
  rows: RowsByColumn,
  order: readonly number[],
  place: number,
  oid: number,
  before: Uint8Array,
): Buffer {
  let size = headerBytes;
  for (const row of order) {
    const length = rows.sizeAt(row, place);
    size += 4 + (length === nullLength ? 0 : before.length + length);
  }
  const bytes = Buffer.allocUnsafe(size);
  let at = writeHeader(bytes, oid, order.length);
  for (const row of order) {
    const begins = at + 4;
    const ends = rows.writeAt(row, place, bytes, begins + before.length);
    bytes.writeInt32BE(ends === -1 ? nullLength : ends - begins, at);
    if (ends !== -1) bytes.set(before, begins);
    at = ends === -1 ? begins : ends;
  }
  return bytes;
}

function writeHeader(bytes: Buffer, oid: number, length: number): number {
  for (const [index, word] of [1, 1, oid, length, 1].entries()) bytes.writeInt32BE(word, index * 4);
  return headerBytes;
}
