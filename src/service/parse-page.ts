import { createHash } from 'node:crypto';
import { PageTooLarge } from './errors.ts';
import { endOfString, NotJson, parseBody } from './parse-body.ts';
import type { Body } from './read-body.ts';

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

  constructor(text: string, values: number) {
    this.digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    this.bytes = Buffer.byteLength(text);
    this.values = values;
    this.#beginning = text.slice(0, 3000);
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
 * Parses the body of a page. The result of JSON.parse can be fifty times as large as a body. So the records of a large body
 * with many values stay text and are parsed one by one, during iteration. A record that is too large is a `RecordTooLarge`.
 * @param body its text, and its size as UTF-8
 * @param maxRecordBytes the largest record, in bytes of its JSON text; it bounds the number of its values, too
 * @throws NotJson, or PageTooLarge for more than `mostRecords` records
 */
export function parsePage(
  { text, unpackedBytes }: Pick<Body, 'text' | 'unpackedBytes'>,
  maxRecordBytes: number,
): unknown {
  const isSmall = (record: unknown) => countDown(record, maxRecordBytes * valuesPerByte, 0) >= 0;
  // Scanning the text costs half as much as parsing it, and nearly all pages are small enough to parse at once.
  if (unpackedBytes <= Math.min(maxRecordBytes, 1024 * 1024)) {
    const body = parseBody(text);
    const records = Array.isArray(body) ? body : (body as { data?: unknown } | null)?.data;
    if (!Array.isArray(records) || records.every(isSmall)) return body;
  }
  const { values, members, spans } = outline(text);
  if (spans === undefined) return parseAnything(text);
  const records = new RecordsAsText(text, spans, maxRecordBytes);
  if (values <= mostValues && !records.hasTooLarge()) return parseBody(text);
  // Invalid JSON is found here, so that the page is asked for again, and not half-way through its records.
  for (const _ of records);
  return members === undefined ? records : { ...members, data: records };
}

/** `left` minus the number of JSON values in a value; may stop counting below 0. */
function countDown(value: unknown, left: number, depth: number): number {
  let rest = left - 1;
  if (typeof value !== 'object' || value === null || rest < 0) return rest;
  // So many levels of recursion could overflow the stack.
  if (depth > 1000) return -1;
  for (const name in value) {
    rest = countDown((value as Record<string, unknown>)[name], rest, depth + 1);
    if (rest < 0) return rest;
  }
  return rest;
}

/** Parses a body without limits for its parts. @throws NotJson; PageTooLarge if it holds too much to be parsed at once */
export function parseAnything(text: string): unknown {
  if (text.length > mostValues) {
    const scan = new Scan(text);
    scan.skipValue();
    if (scan.values > mostValues) {
      throw new PageTooLarge(`The answer holds more than ${mostValues} JSON values.`);
    }
  }
  return parseBody(text);
}

/**
 * The place of each record of a page: the index of its first character, the index after its last, and its number of values.
 */
type Spans = readonly number[];

/** Records that are parsed one by one, again at each iteration. */
export class RecordsAsText implements Iterable<unknown> {
  readonly #text: string;
  readonly #spans: Spans;
  readonly #maxRecordBytes: number;

  constructor(text: string, spans: Spans, maxRecordBytes: number) {
    this.#text = text;
    this.#spans = spans;
    this.#maxRecordBytes = maxRecordBytes;
  }

  get length(): number {
    return this.#spans.length / 3;
  }

  hasTooLarge(): boolean {
    for (const [text, values] of this.#texts()) if (this.#isTooLarge(text, values)) return true;
    return false;
  }

  *[Symbol.iterator](): Iterator<unknown> {
    for (const [text, values] of this.#texts()) {
      yield this.#isTooLarge(text, values) ? new RecordTooLarge(text, values) : parseBody(text);
    }
  }

  *#texts(): Iterable<[text: string, values: number]> {
    for (let at = 0; at < this.#spans.length; at += 3) {
      yield [this.#text.slice(this.#spans[at], this.#spans[at + 1]), this.#spans[at + 2]!];
    }
  }

  #isTooLarge(text: string, values: number): boolean {
    const bytes = this.#maxRecordBytes;
    if (values > bytes * valuesPerByte || text.length > bytes) return true;
    // A UTF-16 unit is one to three bytes of UTF-8, so most records need not be measured.
    return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
  }
}

/** Finds the records of a page, and the rest of its envelope; `spans` is undefined if there is no list of records. */
function outline(text: string): {
  readonly values: number;
  readonly members: Record<string, unknown> | undefined;
  readonly spans: Spans | undefined;
} {
  const scan = new Scan(text);
  if (scan.next() === '[') {
    const spans = scan.readElements();
    scan.expectEnd();
    return { values: scan.values, members: undefined, spans };
  }
  if (scan.next() !== '{') return { values: 0, members: undefined, spans: undefined };
  const members: Record<string, unknown> = {};
  let spans: Spans | undefined;
  scan.take('{');
  for (let isFirst = true; scan.next() !== '}'; isFirst = false) {
    if (!isFirst) scan.take(',');
    const name = scan.readName();
    scan.take(':');
    if (name === 'data' && scan.next() === '[') {
      spans = scan.readElements();
    } else {
      const [start, end] = scan.skipValue();
      if (!membersRead.includes(name)) continue;
      members[name] = parseAnything(text.slice(start, end));
      if (name === 'data') spans = undefined;
    }
  }
  scan.take('}');
  scan.expectEnd();
  return { values: scan.values, members, spans };
}

/** Scans JSON text from value to value without parsing or keeping anything. */
class Scan {
  readonly #text: string;
  #at = 0;
  /** Approximate number of values so far. */
  values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next character that is not a space; empty at the end. */
  next(): string {
    space.lastIndex = this.#at;
    space.test(this.#text);
    this.#at = space.lastIndex;
    return this.#text.charAt(this.#at);
  }

  take(character: string): void {
    if (this.next() !== character) throw new NotJson('The body is not JSON.');
    this.#at++;
  }

  expectEnd(): void {
    if (this.next() !== '') throw new NotJson('The body is not JSON.');
  }

  readName(): string {
    if (this.next() !== '"') throw new NotJson('The body is not JSON.');
    const [start, end] = this.skipValue();
    // No wanted name can be this long, however it is escaped.
    return end - start > 100 ? '' : String(parseBody(this.#text.slice(start, end)));
  }

  readElements(): Spans {
    const spans: number[] = [];
    this.take('[');
    while (this.next() !== ']') {
      if (spans.length > 0) this.take(',');
      this.next();
      const before = this.values;
      const [start, end] = this.skipValue();
      spans.push(start, end, this.values - before);
      if (spans.length > 3 * mostRecords) throw tooManyRecords();
    }
    this.take(']');
    return spans;
  }

  /** Skips a value. @returns where it begins, and the index after it */
  skipValue(): [start: number, end: number] {
    const text = this.#text;
    const start = this.#at;
    let depth = 0;
    let at = start;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) {
        at = endOfString(text, at) - 1;
        if (depth === 0) return this.#to(start, at + 1);
      } else if (code === openBrace || code === openBracket) {
        depth++;
        // Counts its first value; each further one has a comma before it.
        const next = text.charCodeAt(at + 1);
        if (next !== closeBrace && next !== closeBracket) this.values++;
      } else if (code === comma) {
        if (depth === 0) break;
        this.values++;
      } else if (code === closeBrace || code === closeBracket) {
        if (depth === 0) break;
        depth--;
        if (depth === 0) return this.#to(start, at + 1);
      }
    }
    if (at === start || depth > 0) throw new NotJson('The body is not JSON.');
    return this.#to(start, at);
  }

  #to(start: number, end: number): [number, number] {
    this.#at = end;
    this.values++;
    return [start, end];
  }
}

export function tooManyRecords(): PageTooLarge {
  return new PageTooLarge(`The page holds more than ${mostRecords} records.`);
}

const space = /[ \t\n\r]*/y;
const [quote, comma, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];
