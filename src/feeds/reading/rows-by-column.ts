import { copyBytes, GrowingBytes } from '../../growing-bytes.ts';
import { closeBrace, openBrace } from '../../json-bytes.ts';
import type { ColumnType, FeedTable, Row } from '../feed.ts';
import { bytesOfUuid, scanUuid, uuidBytes } from './identity.ts';
import { microsecondsOf, scanTime } from './read-time.ts';

/** Where a text is that is null. */
const isNull = -1;

const nothing: Buffer = Buffer.alloc(0);

/**
 * The rows of a page, column by column. A text stays in the bytes that the service sent until it is copied into what
 * PostgreSQL gets. A row has no object of its own: to collect those took as long as to read the records.
 */
export class RowsByColumn {
  readonly #types: readonly ColumnType[];
  readonly #names: readonly string[];
  #content = nothing;
  /** How many rows there are. */
  length = 0;
  /** A cell for each column, row by row: a number, or a time in microseconds since 1970; NaN for null. */
  #numbers = new Float64Array();
  /** The places of texts in the content, or after it in `#texts`; those of JSON in `#json`. An id is at 0. */
  #starts = new Int32Array();
  #ends = new Int32Array();
  readonly #texts = new GrowingBytes();
  readonly #json = new GrowingBytes();
  /** The end of the members of the row that is being read. */
  #memberEnd = 0;
  /** Takes an id while it is read. */
  readonly #id = new Uint8Array(uuidBytes);
  /** The ids of each column that has them, in the order of the rows. */
  readonly #ids: Uint8Array[];

  constructor(columns: FeedTable['columns']) {
    this.#types = Object.values(columns);
    this.#names = Object.keys(columns);
    this.#ids = this.#types.map(() => nothing);
  }

  placeOf(column: string): number {
    return this.#names.indexOf(column);
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
    this.#json.clear();
  }

  /** Begins a row in which every column is null; it counts once it is complete. */
  beginRow(): void {
    const first = this.#cell(this.length, 0);
    this.#numbers.fill(Number.NaN, first, first + this.#types.length);
    this.#starts.fill(isNull, first, first + this.#types.length);
    this.#memberEnd = this.#json.end;
  }

  completeRow(): void {
    this.length++;
  }

  /** Adds a whole row. */
  add(row: Row): void {
    this.beginRow();
    for (let place = 0; place < this.#names.length; place++) {
      const value = row[this.#names[place]!] ?? null;
      if (value !== null) this.#put(place, value);
    }
    this.completeRow();
  }

  #put(place: number, value: string | number): void {
    const type = this.#types[place];
    if (type === 'double precision') this.putNumber(place, value as number);
    else if (type === 'timestamptz') this.#putTime(place, String(value));
    else if (type === 'uuid') this.#putUuid(place, String(value));
    else this.putText(place, String(value));
  }

  #putTime(place: number, text: string): void {
    const end = this.#texts.write(text);
    this.putNumber(place, scanTime(this.#texts.bytes, this.#texts.end, end) ?? microsecondsOf(text));
  }

  #putUuid(place: number, text: string): void {
    const end = this.#texts.write(text);
    const isUsual = scanUuid(this.#texts.bytes, this.#texts.end, end, this.#id);
    this.putId(place, isUsual ? this.#id : bytesOfUuid(text));
  }

  /** Puts a number, or a time in microseconds since 1970. */
  putNumber(place: number, value: number): void {
    this.#numbers[this.#cell(this.length, place)] = value;
  }

  /** Puts a text, or JSON as text. */
  putText(place: number, text: string): void {
    const into = this.#types[place] === 'jsonb' ? this.#json : this.#texts;
    const from = into === this.#json ? 0 : this.#content.length;
    const begins = into.end;
    into.end = into.write(text);
    this.putBytes(place, from + begins, from + into.end);
  }

  /** Puts an id. @param id its 16 bytes */
  putId(place: number, id: Uint8Array): void {
    this.#starts[this.#cell(this.length, place)] = 0;
    copyBytes(id, 0, uuidBytes, this.#ids[place]!, this.length * uuidBytes);
  }

  /** Puts a text, or JSON, that is from `start` to before `end`: places as in `#starts`, so those of the content as they are. */
  putBytes(place: number, start: number, end: number): void {
    const cell = this.#cell(this.length, place);
    this.#starts[cell] = start;
    this.#ends[cell] = end;
  }

  /** Adds a member to the row's JSON object. @param name as `,"name":` @param start of its value in the content */
  addMember(name: Uint8Array, start: number, end: number): void {
    // With room for the closing brace.
    this.#json.makeRoom(name.length + end - start + 1, this.#memberEnd);
    const { bytes } = this.#json;
    const at = copyBytes(name, 0, name.length, bytes, this.#memberEnd);
    this.#memberEnd = copyBytes(this.#content, start, end, bytes, at);
  }

  /** Puts the object of the members that were added, if there are any. */
  putMembers(place: number): void {
    const { bytes, end } = this.#json;
    if (this.#memberEnd === end) return;
    bytes[end] = openBrace;
    bytes[this.#memberEnd++] = closeBrace;
    this.putBytes(place, end, this.#memberEnd);
    this.#json.end = this.#memberEnd;
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
    return start === isNull ? -1 : this.#ends[cell]! - start;
  }

  /** Writes a text. @returns the index after its last byte; -1 for null */
  writeAt(row: number, place: number, into: Buffer, at: number): number {
    const cell = this.#cell(row, place);
    const start = this.#starts[cell]!;
    if (start === isNull) return -1;
    const end = this.#ends[cell]!;
    if (this.#types[place] === 'jsonb') return copyBytes(this.#json.bytes, start, end, into, at);
    const before = this.#content.length;
    if (start < before) return copyBytes(this.#content, start, end, into, at);
    return copyBytes(this.#texts.bytes, start - before, end - before, into, at);
  }

  #cell(row: number, place: number): number {
    return row * this.#types.length + place;
  }
}
