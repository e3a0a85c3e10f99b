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
  const keyed = rows.map((row) => ({
    row,
    time: microsecondsOf(row[time] as string),
    id: row[id] as string,
  }));
  keyed.sort((a, b) => a.time - b.time || (a.id < b.id ? -1 : Number(a.id > b.id)));
  const isLast = keyed.map(({ time, id }, at) => time !== keyed[at + 1]?.time || id !== keyed[at + 1]!.id);
  const kept = keyed.filter((_, at) => isLast[at]);
  const others = kept.length === keyed.length ? [] : keyed.filter((_, at) => !isLast[at]);
  const rowsOf = (of: typeof keyed) => of.map(({ row }) => row);
  const sorted = rowsOf(kept);
  const columns = Object.fromEntries(
    Object.entries(table.columns).map(([column, type]) => [column, arrayParameter(sorted, column, type)]),
  );
  return {
    length: sorted.length,
    earlier: others.length === 0 ? undefined : sortedRows(table, rowsOf(others)),
    times: kept.map(({ time }) => time),
    ids: kept.map(({ id }) => id),
    columns,
    key: [columns[time]!, columns[id]!],
  };
}

/**
 * Returns one column of rows as an array that PostgreSQL can unnest. The binary format costs client and server half as much
 * as the text format.
 * @throws TypeError for a value of another type
 */
export function arrayParameter(rows: readonly Row[], column: string, type: ColumnType): ArrayParameter {
  const values = rows.map((row) => row[column] ?? null);
  if (type === 'text' || type === 'jsonb') return arrayOfTexts(values, type);
  const { oid, bytes, write } = fixed[type];
  const array = arrayOf(values.length, oid, values.length * (4 + bytes));
  let at = headerBytes;
  // Not for…of: at this place V8 makes an object for each value.
  values.forEach((value) => {
    at = array.writeInt32BE(value === null ? -1 : bytes, at);
    if (value !== null) at = write(array, value, at);
  });
  return array.subarray(0, at);
}

function arrayOfTexts(values: readonly (string | number | null)[], type: 'text' | 'jsonb'): ArrayParameter {
  // In the binary format of jsonb, a byte with the version precedes the text.
  const before = type === 'jsonb' ? 1 : 0;
  const texts = values.map((value) => (value === null ? null : String(value)));
  let bytes = 0;
  for (const text of texts) bytes += 4 + (text === null ? 0 : before + Buffer.byteLength(text));
  const array = arrayOf(texts.length, type === 'jsonb' ? 3802 : 25, bytes);
  let at = headerBytes;
  for (const text of texts) {
    const begins = at + 4 + before;
    const ends = text === null ? at + 4 : begins + array.write(text, begins);
    array.writeInt32BE(text === null ? -1 : ends - at - 4, at);
    if (text !== null && before === 1) array[begins - 1] = 1;
    at = ends;
  }
  return array;
}

/** Types of a fixed size, with their OIDs, which are the same on every server (pg_type.dat). */
const fixed = {
  uuid: {
    oid: 2950,
    bytes: 16,
    write: (array: Buffer, value: string | number, at: number) => {
      const written = array.write(String(value).replaceAll('-', ''), at, 'hex');
      if (written !== 16) throw new TypeError(`"${value}" is not a UUID.`);
      return at + 16;
    },
  },
  'double precision': {
    oid: 701,
    bytes: 8,
    write: (array: Buffer, value: string | number, at: number) => array.writeDoubleBE(Number(value), at),
  },
  bigint: {
    oid: 20,
    bytes: 8,
    write: (array: Buffer, value: string | number, at: number) => writeInt64(array, Number(value), at),
  },
  timestamptz: {
    oid: 1184,
    bytes: 8,
    write: (array: Buffer, value: string | number, at: number) =>
      writeInt64(array, microsecondsOf(String(value)) - beginOf2000, at),
  },
};

/** Writes two 32-bit words, because a BigInt for each value costs more than the rest of its row. */
function writeInt64(array: Buffer, value: number, at: number): number {
  array.writeInt32BE(Math.floor(value / 2 ** 32), at);
  return array.writeUInt32BE(value >>> 0, at + 4);
}

/** Where PostgreSQL's times count from, in microseconds since 1970. */
const beginOf2000 = Date.UTC(2000) * 1000;

const headerBytes = 20;

/** Returns an array without its elements. */
function arrayOf(length: number, oid: number, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(headerBytes + bytes);
  // Dimensions, a flag that nulls may occur, the type of the elements, the length, the lower bound.
  for (const [index, word] of [1, 1, oid, length, 1].entries()) array.writeInt32BE(word, index * 4);
  return array;
}
