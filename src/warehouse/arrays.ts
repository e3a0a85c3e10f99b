import type { ColumnType, FeedTable, Row } from '../feeds/feed.ts';
import { uuidBytes } from '../feeds/reading/identity.ts';
import { RowsByColumn } from '../feeds/reading/rows-by-column.ts';
import { lendBytes } from '../page-memory.ts';

/** An array in PostgreSQL's binary format, which `pg` sends unchanged. */
export type ArrayParameter = Buffer;

/** The rows of a page as they are written: sorted by their key, of several with one key the last one. */
export interface SortedRows {
  readonly length: number;
  /** Those that came before the last one of their key. */
  readonly earlier: SortedRows | undefined;
  /** The times of their keys, in microseconds since 1970. */
  readonly times: readonly number[];
  /** The ids of their keys, 16 bytes each. */
  readonly ids: Uint8Array;
  /** The columns of the table, in its order. */
  readonly columns: readonly ArrayParameter[];
  /** Those of them that the keys are made of. */
  readonly key: readonly [times: ArrayParameter, ids: ArrayParameter];
  /** What the columns are in, to be given back (page-memory.ts) once they are written. */
  readonly memory: Buffer;
}

/**
 * Sorts rows and makes arrays of their columns. Writers that lock rows in one order cannot deadlock, and one statement may
 * not touch a row twice (error 21000).
 */
export function sortedRows({ columns, key }: FeedTable, rows: RowsByColumn): SortedRows {
  const [time, id] = key.map((column) => rows.placeOf(column)) as [number, number];
  const compare = (a: number, b: number) =>
    rows.numberAt(a, time) - rows.numberAt(b, time) || rows.compareIds(id, a, b);
  const sortedOf = (some: readonly number[]): SortedRows => {
    const sorted = some.toSorted(compare);
    const isLast = sorted.map((row, at) => at === sorted.length - 1 || compare(row, sorted[at + 1]!) !== 0);
    const order = sorted.filter((_, at) => isLast[at]);
    const others = order.length === sorted.length ? [] : sorted.filter((_, at) => !isLast[at]);
    const earlier = others.length === 0 ? undefined : sortedOf(others);
    return { ...arraysOf(rows, order, { columns, time, id }), earlier };
  };
  return sortedOf(Array.from({ length: rows.length }, (_, row) => row));
}

function arraysOf(
  rows: RowsByColumn,
  order: readonly number[],
  { columns, time, id }: { columns: FeedTable['columns']; time: number; id: number },
): Omit<SortedRows, 'earlier'> {
  const ids = new Uint8Array(order.length * uuidBytes);
  for (const [index, row] of order.entries()) rows.writeIdAt(row, id, ids, index * uuidBytes);
  const types = Object.values(columns);
  const sizes = types.map((type, place) => mostBytes(rows, order, place, type));
  const memory = lendBytes(sizes.reduce((sum, size) => sum + size, 0));
  let end = 0;
  const arrays = types.map((type, place) => {
    const begins = end;
    end += sizes[place]!;
    return writeArray(rows, order, place, type, memory.subarray(begins, end));
  });
  return {
    length: order.length,
    times: order.map((row) => rows.numberAt(row, time)),
    ids,
    columns: arrays,
    key: [arrays[time]!, arrays[id]!],
    memory,
  };
}

/** Rows that are objects, as `sortedRows` of a page. */
export function sortedFrom(table: FeedTable, rows: readonly Row[]): SortedRows {
  return sortedRows(table, byColumn(table.columns, rows));
}

/** One column of rows as an array. */
export function arrayParameter(rows: readonly Row[], column: string, type: ColumnType): ArrayParameter {
  const of = [byColumn({ [column]: type }, rows), [...rows.keys()], 0, type] as const;
  return writeArray(...of, Buffer.allocUnsafe(mostBytes(...of)));
}

function byColumn(columns: FeedTable['columns'], rows: readonly Row[]): RowsByColumn {
  const all = new RowsByColumn(columns);
  all.begin(rows.length);
  for (const row of rows) all.add(row);
  return all;
}

/** OIDs of the element types, the same on every server (pg_type.dat). */
const oids = { text: 25, 'double precision': 701, timestamptz: 1184, uuid: 2950, jsonb: 3802 } as const;

/** Dimensions, a flag that nulls may occur, the element's type, the array's length, its lower bound. */
const headerBytes = 20;
const nullLength = -1;

/** What comes before each text. jsonb in the binary format is the version number 1 and the JSON text. */
const prefixes = { text: new Uint8Array(), jsonb: Uint8Array.of(1) } as const;

/** Bytes that one column of rows needs as an array, and a few more if it has nulls. */
function mostBytes(rows: RowsByColumn, order: readonly number[], place: number, type: ColumnType): number {
  if (type === 'uuid') return headerBytes + order.length * (4 + uuidBytes);
  if (type !== 'text' && type !== 'jsonb') return headerBytes + order.length * 12;
  const prefix = prefixes[type].length;
  let size = headerBytes;
  for (const row of order) {
    const length = rows.sizeAt(row, place);
    size += 4 + (length === nullLength ? 0 : prefix + length);
  }
  return size;
}

/**
 * One column of rows as an array that PostgreSQL can unnest. In the binary format, which needs neither digits nor quotes, it
 * costs both sides half as much as in the text format.
 * @param bytes where to write it, `mostBytes` long
 */
function writeArray(
  rows: RowsByColumn,
  order: readonly number[],
  place: number,
  type: ColumnType,
  bytes: Buffer,
): ArrayParameter {
  if (type === 'text' || type === 'jsonb') return writeTexts(rows, order, place, type, bytes);
  if (type === 'uuid') return writeIds(rows, order, place, bytes);
  return writeNumbers(rows, order, place, type, bytes);
}

function writeNumbers(
  rows: RowsByColumn,
  order: readonly number[],
  place: number,
  type: 'double precision' | 'timestamptz',
  bytes: Buffer,
): Buffer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = writeHeader(bytes, oids[type], order.length);
  // By index: an iterator makes objects of numbers, for the garbage collector to remove.
  for (let index = 0; index < order.length; index++) {
    const value = rows.numberAt(order[index]!, place);
    const isNull = Number.isNaN(value);
    view.setInt32(at, isNull ? nullLength : 8);
    if (type === 'timestamptz' && !isNull) setMicroseconds(view, at + 4, value - beginOf2000);
    else if (!isNull) view.setFloat64(at + 4, value);
    at += isNull ? 4 : 12;
  }
  return bytes.subarray(0, at);
}

/** Where PostgreSQL's times count from, in microseconds since 1970. */
const beginOf2000 = Date.UTC(2000) * 1000;

/** As `setBigInt64`, without making a BigInt. */
function setMicroseconds(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  view.setInt32(at, high);
  view.setUint32(at + 4, value - high * 2 ** 32);
}

function writeIds(rows: RowsByColumn, order: readonly number[], place: number, bytes: Buffer): Buffer {
  let at = writeHeader(bytes, oids.uuid, order.length);
  for (const row of order) {
    const isNull = rows.isNull(row, place);
    at = bytes.writeInt32BE(isNull ? nullLength : uuidBytes, at);
    if (!isNull) at = rows.writeIdAt(row, place, bytes, at);
  }
  return bytes.subarray(0, at);
}

function writeTexts(
  rows: RowsByColumn,
  order: readonly number[],
  place: number,
  type: 'text' | 'jsonb',
  bytes: Buffer,
): Buffer {
  const prefix = prefixes[type];
  let at = writeHeader(bytes, oids[type], order.length);
  for (const row of order) {
    const begins = at + 4;
    const ends = rows.writeAt(row, place, bytes, begins + prefix.length);
    bytes.writeInt32BE(ends === -1 ? nullLength : ends - begins, at);
    if (ends !== -1) bytes.set(prefix, begins);
    at = ends === -1 ? begins : ends;
  }
  return bytes;
}

function writeHeader(bytes: Buffer, oid: number, length: number): number {
  for (const [index, word] of [1, 1, oid, length, 1].entries()) bytes.writeInt32BE(word, index * 4);
  return headerBytes;
}
