import { closeBrace, openBrace } from '../../json-bytes.ts';
import type { ColumnType, FeedTable, Row } from '../feed.ts';
import { bytesOfUuid, uuidBytes } from './identity.ts';
import { microsecondsOf } from './read-time.ts';

/** Where a text is: nowhere, because it is null; in `#texts`; from 0 on, the index of its first byte. An id is at 0. */
const [isNull, isText] = [-1, -2];

const nothing: Buffer = Buffer.alloc(0);

/** Far more than most pages need. */
const mostJsonKept = 1024 * 1024;

/**
 * The rows of a page, column by column. A text stays in the bytes that the service sent until it is copied into what
 * PostgreSQL gets. A row has no object of its own: to collect those took as long as to read the records.
 */
export class RowsByColumn {
  readonly #types: readonly ColumnType[];
  readonly #places: ReadonlyMap<string, number>;
  #content = nothing;
  /** How many rows there are. */
  length = 0;
  /** A cell for each column, row by row: a number, or a time in microseconds since 1970; NaN for null. */
  #numbers = new Float64Array();
  /** The places of texts and JSON; of JSON within `#json`. */
  #starts = new Int32Array();
  #ends = new Int32Array();
  /** Texts and JSON that are not bytes of the content. */
  readonly #texts = new Map<number, string>();
  /** JSON objects that were put together from parts of the content. */
  #json = nothing;
  #jsonEnd = 0;
  /** The end of the members of the row that is being read. */
  #memberEnd = 0;
  /** The ids of each column that has them, in the order of the rows. */
  readonly #ids: Uint8Array[];

  constructor(columns: FeedTable['columns']) {
    this.#types = Object.values(columns);
    this.#places = new Map(Object.keys(columns).map((column, place) => [column, place]));
    this.#ids = this.#types.map(() => nothing);
  }

  placeOf(column: string): number {
    return this.#places.get(column)!;
  }

  /**
   * Begins a page.
   * @param most how many rows there will be at most
   * @param content what places of bytes refer to
   */
  begin(most: number, content: Buffer = nothing): void {
    this.clear();
    this.#content = content;
    const cells = most * this.#types.length;
    if (this.#numbers.length >= cells) return;
    this.#numbers = new Float64Array(cells);
    this.#starts = new Int32Array(cells);
    this.#ends = new Int32Array(cells);
    for (const [place, type] of this.#types.entries()) {
      if (type === 'uuid') this.#ids[place] = new Uint8Array(most * uuidBytes);
    }
  }

  /** Forgets all rows and the content. */
  clear(): void {
    this.length = 0;
    this.#content = nothing;
    this.#texts.clear();
    this.#jsonEnd = 0;
    if (this.#json.length > mostJsonKept) this.#json = nothing;
  }

  /** Begins a row in which every column is null; it counts once it is complete. */
  beginRow(): void {
    const first = this.#cell(this.length, 0);
    this.#numbers.fill(Number.NaN, first, first + this.#types.length);
    this.#starts.fill(isNull, first, first + this.#types.length);
    this.#memberEnd = this.#jsonEnd;
  }

  completeRow(): void {
    this.length++;
  }

  /** Adds a whole row. */
  add(row: Row): void {
    this.beginRow();
    for (const [column, place] of this.#places) {
      const value = row[column] ?? null;
      if (value !== null) this.#put(place, value);
    }
    this.completeRow();
  }

  #put(place: number, value: string | number): void {
    const type = this.#types[place];
    if (type === 'double precision') this.putNumber(place, value as number);
    else if (type === 'timestamptz') this.putNumber(place, microsecondsOf(String(value)));
    else if (type === 'uuid') this.putId(place, bytesOfUuid(String(value)));
    else this.putText(place, String(value));
  }

  /** Puts a number, or a time in microseconds since 1970. */
  putNumber(place: number, value: number): void {
    this.#numbers[this.#cell(this.length, place)] = value;
  }

  putText(place: number, text: string): void {
    const cell = this.#cell(this.length, place);
    this.#starts[cell] = isText;
    this.#texts.set(cell, text);
  }

  /** Puts an id. @param id its 16 bytes */
  putId(place: number, id: Uint8Array): void {
    this.#starts[this.#cell(this.length, place)] = 0;
    copyBytes(id, 0, uuidBytes, this.#ids[place]!, this.length * uuidBytes);
  }

  /** Puts a text that is the content's bytes from `start` to before `end`. */
  putBytes(place: number, start: number, end: number): void {
    const cell = this.#cell(this.length, place);
    this.#starts[cell] = start;
    this.#ends[cell] = end;
  }

  /** Adds a member to the row's JSON object. @param name as `,"name":` @param start of its value in the content */
  addMember(name: Uint8Array, start: number, end: number): void {
    const size = this.#memberEnd + name.length + end - start;
    // With room for the closing brace.
    if (this.#json.length <= size) {
      const larger = Buffer.allocUnsafe(Math.max(64 * 1024, 2 * size));
      this.#json.copy(larger, 0, 0, this.#memberEnd);
      this.#json = larger;
    }
    const at = copyBytes(name, 0, name.length, this.#json, this.#memberEnd);
    this.#memberEnd = copyBytes(this.#content, start, end, this.#json, at);
  }

  /** Puts the object of the members that were added, if there are any. */
  putMembers(place: number): void {
    if (this.#memberEnd === this.#jsonEnd) return;
    const cell = this.#cell(this.length, place);
    this.#starts[cell] = this.#jsonEnd;
    this.#json[this.#jsonEnd] = openBrace;
    this.#json[this.#memberEnd++] = closeBrace;
    this.#jsonEnd = this.#memberEnd;
    this.#ends[cell] = this.#jsonEnd;
  }

  /** A number of a row, or a time in microseconds since 1970; NaN for null. */
  numberAt(row: number, place: number): number {
    return this.#numbers[this.#cell(row, place)]!;
  }

  isNull(row: number, place: number): boolean {
    const cell = this.#cell(row, place);
    return Number.isNaN(this.#numbers[cell]) && this.#starts[cell] === isNull;
  }

  /** Compares the ids of two rows. @returns 0 if they are equal, else a number of the sign that a sort takes */
  compareIds(place: number, left: number, right: number): number {
    const ids = this.#ids[place]!;
    const [from, to] = [left * uuidBytes, right * uuidBytes];
    let at = 0;
    while (at < uuidBytes - 1 && ids[from + at] === ids[to + at]) at++;
    return ids[from + at]! - ids[to + at]!;
  }

  /** Writes the 16 bytes of an id. @returns the index after the last one */
  writeIdAt(row: number, place: number, into: Uint8Array, at: number): number {
    const start = row * uuidBytes;
    return copyBytes(this.#ids[place]!, start, start + uuidBytes, into, at);
  }

  /** Bytes of a text in UTF-8; -1 for null. */
  sizeAt(row: number, place: number): number {
    const cell = this.#cell(row, place);
    const start = this.#starts[cell]!;
    if (start === isNull) return -1;
    return start === isText ? Buffer.byteLength(this.#texts.get(cell)!) : this.#ends[cell]! - start;
  }

  /** Writes a text. @returns the index after its last byte; -1 for null */
  writeAt(row: number, place: number, into: Buffer, at: number): number {
    const cell = this.#cell(row, place);
    const start = this.#starts[cell]!;
    if (start === isNull) return -1;
    if (start === isText) return at + into.write(this.#texts.get(cell)!, at);
    const source = this.#types[place] === 'jsonb' ? this.#json : this.#content;
    return copyBytes(source, start, this.#ends[cell]!, into, at);
  }

  #cell(row: number, place: number): number {
    return row * this.#types.length + place;
  }
}

/** Copies bytes; for as few as most texts have, quicker than a call of a function of Node.js. */
function copyBytes(source: Uint8Array, start: number, end: number, into: Uint8Array, at: number): number {
  const length = end - start;
  if (length > 128) into.set(source.subarray(start, end), at);
  else for (let index = 0; index < length; index++) into[at + index] = source[start + index]!;
  return at + length;
}
