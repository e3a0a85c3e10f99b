import type { ColumnType, FeedTable, Row } from '../feeds/feed.ts';
import { microsecondsOf } from '../feeds/reading/read-time.ts';

/** An array in PostgreSQL's binary format, which `pg` sends unchanged. */
export type ArrayParameter = Buffer;

/** The rows of a page, sorted by key; if several have one key, only the last of them. */
export interface SortedRows {
  readonly length: number;
  /** Earlier rows with the same key as a later one. */
  readonly earlier: SortedRows | undefined;
  /** The times of their keys, in microseconds since 1970. */
  readonly times: readonly number[];
  /** The ids of their keys. */
  readonly ids: readonly string[];
  /** All columns of the table, by name. */
  readonly columns: Readonly<Record<string, ArrayParameter>>;
  /** The key columns. */
  readonly key: readonly [times: ArrayParameter, ids: ArrayParameter];
}

/**
 * Sorts rows and makes arrays of their columns. Writers that lock rows in one order cannot deadlock, and one statement may
 * not touch a row twice (error 21000).
 */
export function sortedRows(table: FeedTable, rows: readonly Row[]): SortedRows {
  const [time, id] = table.key;
  const times = rows.map((row) => microsecondsOf(row[time] as string));
  const ids = rows.map((row) => row[id] as string);
  const compare = (a: number, b: number) =>
    times[a]! - times[b]! || (ids[a]! < ids[b]! ? -1 : Number(ids[a]! > ids[b]!));
  const order = rows.map((_, at) => at).sort(compare);
  const isLast = order.map((at, place) => place === order.length - 1 || compare(at, order[place + 1]!) !== 0);
  const kept = order.filter((_, place) => isLast[place]);
  const others = order.filter((_, place) => !isLast[place]).map((at) => rows[at]!);
  const columns = Object.fromEntries(
    Object.entries(table.columns).map(([column, type]) => [
      column,
      arrayParameter(
        kept.map((at) => rows[at]![column] ?? null),
        type,
      ),
    ]),
  );
  return {
    length: kept.length,
    earlier: others.length === 0 ? undefined : sortedRows(table, others),
    times: kept.map((at) => times[at]!),
    ids: kept.map((at) => ids[at]!),
    columns,
    key: [columns[time]!, columns[id]!],
  };
}

type Value = string | number;

/**
 * Returns values as an array that PostgreSQL can unnest. The binary format costs client and server half as much as the text
 * format.
 * @throws TypeError for a value of another type
 */
export function arrayParameter(values: readonly (Value | null)[], type: ColumnType): ArrayParameter {
  const { oid, write } = writers[type];
  let at = 0;
  // Dimensions, a flag that nulls may occur, the type of the elements, the length, the lower bound.
  for (const word of [1, 1, oid, values.length, 1]) at = buffer.writeInt32BE(word, at);
  for (const value of values) {
    reserve(at, 32 + (typeof value === 'string' ? 3 * value.length : 0));
    const begins = at + 4;
    const ends = value === null ? begins : write(value, begins);
    buffer.writeInt32BE(value === null ? -1 : ends - begins, at);
    at = ends;
  }
  const array = Buffer.from(buffer.subarray(0, at));
  if (buffer.length > mostKept) buffer = Buffer.allocUnsafe(mostKept);
  return array;
}

/** How values of each type are written, and its OID, which is the same on every server (pg_type.dat). */
const writers: Readonly<Record<ColumnType, { oid: number; write(value: Value, at: number): number }>> = {
  text: { oid: 25, write: writeText },
  // A byte with the version of the format precedes the text.
  jsonb: { oid: 3802, write: (value, at) => writeText(value, buffer.writeInt8(1, at)) },
  uuid: {
    oid: 2950,
    write(value, at) {
      const written = buffer.write(String(value).replaceAll('-', ''), at, 'hex');
      if (written !== 16) throw new TypeError(`"${value}" is not a UUID.`);
      return at + 16;
    },
  },
  'double precision': { oid: 701, write: (value, at) => buffer.writeDoubleBE(Number(value), at) },
  bigint: { oid: 20, write: (value, at) => writeInt64(Number(value), at) },
  timestamptz: {
    oid: 1184,
    write: (value, at) => writeInt64(microsecondsOf(String(value)) - beginOf2000, at),
  },
};

function writeText(value: Value, at: number): number {
  return at + buffer.write(String(value), at);
}

/** Writes two 32-bit words, because a BigInt for each value costs more than the rest of its row. */
function writeInt64(value: number, at: number): number {
  return buffer.writeUInt32BE(value >>> 0, buffer.writeInt32BE(Math.floor(value / 2 ** 32), at));
}

/** Where PostgreSQL's times count from, in microseconds since 1970. */
const beginOf2000 = Date.UTC(2000) * 1000;

const mostKept = 1024 * 1024;

/** Where each array is written: its length is known only then. */
let buffer = Buffer.allocUnsafe(mostKept);

function reserve(at: number, bytes: number): void {
  if (at + bytes <= buffer.length) return;
  const larger = Buffer.allocUnsafe(2 * (at + bytes));
  buffer.copy(larger, 0, 0, at);
  buffer = larger;
}
