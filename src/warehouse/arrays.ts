import type { ColumnType, Row } from '../feeds/feed.ts';

/** What `pg` sends unchanged: text in PostgreSQL's text format, bytes in its binary format. */
export type ArrayParameter = string | Buffer;

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
export function arrayParameter(rows: readonly Row[], column: string, type: ColumnType): ArrayParameter {
  const values = rows.map((row) => row[column] ?? null);
  if (type === 'double precision') return arrayOfNumbers(values as (number | null)[]);
  if (type === 'text') return arrayOfTexts(values, oids.text);
  // jsonb in the binary format is the version number 1 and the JSON text.
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
