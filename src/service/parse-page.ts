import { createHash } from 'node:crypto';
import { closeBrace, closeBracket, colon, comma, openBrace, openBracket } from '../json-bytes.ts';
import { returnBytes } from '../page-memory.ts';
import { PageTooLarge } from './errors.ts';
import { JsonScan } from './json-scan.ts';
import { parseBody } from './parse-body.ts';
import { textOf } from './read-body.ts';

/** Stands for a record that is larger than a record may be, and is not parsed. */
export class RecordTooLarge {
  /** SHA-256 of its JSON text as sent, in UTF-8. */
  readonly digest: string;
  /** Size of its JSON text in UTF-8. */
  readonly bytes: number;
  /** Approximate number of JSON values in it. */
  readonly values: number;
  /** The beginning of its JSON text. */
  begins: string;
  readonly #beginning: string;

  constructor(json: Uint8Array, values: number) {
    this.digest = `sha256:${createHash('sha256').update(json).digest('hex')}`;
    this.bytes = json.byteLength;
    this.values = values;
    this.#beginning = textOf(json).slice(0, 3000);
    this.begins = this.#beginning.slice(0, 300);
  }

  /** The same without its beginning, if `redact` changes that: a part of the key could be left at its edge. */
  redacted(redact: (text: string) => string): this {
    if (redact(this.#beginning) !== this.#beginning) this.begins = '[key]';
    return this;
  }
}

/**
 * JSON values that a record may hold, per byte of its limit: 10,485 for a megabyte, and a usual record has some twenty. In
 * memory, in a UUID and in PostgreSQL the values cost more than the bytes.
 */
const valuesPerByte = 0.01;

/** Whether a stored record stands for one that was too large, so that there is nothing to read. */
export function standsForLarger(record: unknown): boolean {
  if (typeof record !== 'object' || record === null) return false;
  const { digest } = record as Record<string, unknown>;
  return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) && 'begins' in record;
}

/**
 * How many JSON values may be parsed at once; a page of 1,000 records has some 20,000. Each takes up to 100 bytes of memory.
 */
const mostValues = 250_000;

/** The most records of a page, whatever was asked for: ten times the service's maximum (docs/service.md, "Paging"). */
export const mostRecords = 10_000;

/** The parts of a page's envelope that are read (docs/service.md, "Page envelope"). */
const membersRead = ['data', 'has_more', 'next_token'];

/**
 * Reads the envelope of a page, and finds its records. They stay bytes until somebody reads or iterates them, because the
 * result of JSON.parse can be fifty times as large. A record that is too large is iterated as a `RecordTooLarge`.
 * @param content the body, in UTF-8
 * @param maxRecordBytes the largest record, in bytes of its JSON text; it bounds the number of its values, too
 * @throws NotJson, or PageTooLarge for more than `mostRecords` records
 */
export function parsePage(content: Uint8Array, maxRecordBytes: number): unknown {
  const scan = new JsonScan(content);
  const first = scan.next();
  if (first !== openBracket && first !== openBrace) return parseAnything(content);
  // Once, even if an envelope has `data` many times: of those, the last one counts.
  const ends = new Int32Array(content.byteLength / bytesAMember);
  const findRecords = () => new RecordsAsJson(content, readElements(scan, ends), ends, maxRecordBytes);
  if (first === openBracket) {
    const records = findRecords();
    scan.expectEnd();
    return records;
  }
  const members: Record<string, unknown> = {};
  scan.take(openBrace);
  for (let isFirst = true; scan.next() !== closeBrace; isFirst = false) {
    if (!isFirst) scan.take(comma);
    const name = readName(scan, content);
    scan.take(colon);
    if (name === 'data' && scan.next() === openBracket) {
      members.data = findRecords();
    } else {
      scan.next();
      const start = scan.at;
      scan.skipValue();
      if (membersRead.includes(name)) members[name] = parseAnything(content.subarray(start, scan.at));
    }
  }
  scan.take(closeBrace);
  scan.expectEnd();
  return members;
}

/** Parses JSON without limits for its parts. @throws NotJson; PageTooLarge if it holds too much to be parsed at once */
export function parseAnything(content: Uint8Array): unknown {
  if (content.byteLength > mostValues) {
    const scan = new JsonScan(content);
    scan.next();
    scan.skipValue();
    if (scan.values > mostValues) {
      throw new PageTooLarge(`The answer holds more than ${mostValues} JSON values.`);
    }
  }
  return parseBody(textOf(content));
}

/**
 * Of each record of a page: the index of its first byte, the index after its last, its number of values, and the index of its
 * first member in `ends`.
 */
type Spans = readonly number[];

const spanNumbers = 4;

/** Bytes of content for each member whose end is noted. Members of usual records take twice as many. */
const bytesAMember = 16;

/** Valid records, which are parsed one by one, again at each iteration, until they are forgotten. */
export class RecordsAsJson implements Iterable<unknown> {
  content: Buffer;
  /** Where the values of their members end: see `JsonScan.skipValue`. */
  readonly ends: Int32Array;
  readonly #spans: Spans;
  readonly #maxRecordBytes: number;

  constructor(content: Uint8Array, spans: Spans, ends: Int32Array, maxRecordBytes: number) {
    this.content = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    this.ends = ends;
    this.#spans = spans;
    this.#maxRecordBytes = maxRecordBytes;
  }

  get length(): number {
    return this.#spans.length / spanNumbers;
  }

  /** The index of a record's first byte. */
  startOf(index: number): number {
    return this.#spans[spanNumbers * index]!;
  }

  /** The index in `ends` of a record's first member. */
  firstMemberOf(index: number): number {
    return this.#spans[spanNumbers * index + 3]!;
  }

  isTooLarge(index: number): boolean {
    const bytes = this.#endOf(index) - this.startOf(index);
    return bytes > this.#maxRecordBytes || this.#valuesOf(index) > this.#maxRecordBytes * valuesPerByte;
  }

  at(index: number): unknown {
    const [start, end] = [this.startOf(index), this.#endOf(index)];
    if (!this.isTooLarge(index)) return parseBody(textOf(this.content, start, end));
    return new RecordTooLarge(this.content.subarray(start, end), this.#valuesOf(index));
  }

  /** Gives the memory of the body back; nothing can be read any more. */
  forget(): void {
    returnBytes(this.content);
    this.content = Buffer.alloc(0);
  }

  *[Symbol.iterator](): Iterator<unknown> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  #endOf(index: number): number {
    return this.#spans[spanNumbers * index + 1]!;
  }

  #valuesOf(index: number): number {
    return this.#spans[spanNumbers * index + 2]!;
  }
}

function readElements(scan: JsonScan, ends: Int32Array): Spans {
  const spans: number[] = [];
  let noted = 0;
  scan.take(openBracket);
  while (scan.next() !== closeBracket) {
    if (spans.length > 0) scan.take(comma);
    scan.next();
    const start = scan.at;
    const [before, firstMember] = [scan.values, noted];
    noted = scan.skipValue(ends, noted);
    spans.push(start, scan.at, scan.values - before, firstMember);
    if (spans.length > spanNumbers * mostRecords) throw tooManyRecords();
  }
  scan.take(closeBracket);
  return spans;
}

function readName(scan: JsonScan, content: Uint8Array): string {
  scan.next();
  const start = scan.at;
  scan.skipString();
  // No wanted name can be this long, however it is escaped.
  return scan.at - start > 100 ? '' : String(parseBody(textOf(content, start, scan.at)));
}

export function tooManyRecords(): PageTooLarge {
  return new PageTooLarge(`The page holds more than ${mostRecords} records.`);
}
