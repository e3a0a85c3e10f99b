import { isUtf8 } from 'node:buffer';
import type { Feed } from '../../feeds/feed.ts';
import { copyBytes, GrowingBytes } from '../../growing-bytes.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isDigit,
  minus,
  openBrace,
  openBracket,
  point,
  quote,
  zero,
} from '../../json-bytes.ts';
import { parseBody } from '../../service/parse-body.ts';
import { parsePage, type RecordsAsJson } from '../../service/parse-page.ts';
import { type Batch, longest, most, type Reading, refuseExport } from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { bytesOf } from './file-bytes.ts';
import { CsvSplitter } from './split-csv.ts';

/**
 * Reads a CSV file batch by batch. A batch becomes the JSON of a page, so that one reader, the one that is fast with pages,
 * reads both, and the same record is the same row.
 * @throws FileRefused with the line, if it cannot be read any further
 */
export async function* csvBatches(file: DataFile, reading: Reading): AsyncGenerator<Batch, void> {
  const splitter = new CsvSplitter(longest);
  const json = new GrowingBytes();
  let header: Header | undefined;
  let lines: number[] = [];
  let { skip } = reading;
  for await (const [piece, isEnd] of bytesOf(file, reading.onBytes, () => splitter.line)) {
    splitter.push(piece, isEnd);
    while (splitter.next()) {
      if (header === undefined) {
        header = readHeader(splitter, reading);
        continue;
      }
      // Files that were put together have it more than once.
      if (isHeader(splitter, header)) continue;
      if (splitter.cells !== header.columns.length) throw otherCells(splitter, header);
      if (skip-- > 0) continue;
      writeRecord(json, splitter, header);
      lines.push(splitter.recordLine);
      if (lines.length < most.records && json.end < most.size) continue;
      yield batchOf(json, lines);
      lines = [];
    }
  }
  if (lines.length > 0) yield batchOf(json, lines);
  if (header === undefined) throw new FileRefused('is empty, without even a header');
}

interface Header {
  readonly columns: readonly Column[];
  /** Members that each record gets at its end, each with a comma after it. */
  readonly given: Buffer;
  /** Bytes that a record takes besides its cells. */
  readonly size: number;
}

interface Column {
  readonly name: string;
  /** True if a page has a text there, whatever it looks like. */
  readonly isText: boolean;
  /** Its name as JSON, and a colon. */
  readonly member: Buffer;
  readonly ifEmpty: Buffer;
}

function readHeader(splitter: CsvSplitter, { feed, columns: given }: Reading): Header {
  const names = Array.from({ length: splitter.cells }, (_, cell) => splitter.textAt(cell));
  const line = splitter.recordLine;
  if (!isUtf8(splitter.record)) throw notUtf8(line);
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new FileRefused(`has the column "${twice}" twice`, { line });
  // Assigned to a record, it would not become one of its fields.
  if (names.includes('__proto__')) throw new FileRefused('has a column "__proto__"', { line });
  refuseExport(names);
  const texts = textFieldsOf(feed);
  const columns = names.map((name) => ({
    ...{ name, isText: texts.has(name), member: Buffer.from(`${JSON.stringify(name)}:`) },
    ifEmpty: Buffer.from(JSON.stringify(given[name] ?? null)),
  }));
  const missing = Object.entries(given).filter(([name]) => !names.includes(name));
  const members = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`);
  // Of a column: its value's quotes and the comma. Of a record: its braces and what is around it.
  const sizes = columns.map(({ member, ifEmpty }) => member.length + ifEmpty.length + 3);
  const atEnd = Buffer.from(members.join(''));
  return { columns, given: atEnd, size: sizes.reduce((sum, size) => sum + size, atEnd.length + 4) };
}

function textFieldsOf({ fields, table }: Feed): ReadonlySet<string> {
  const ofTexts = Object.entries(fields).filter(([column]) => table.columns[column] !== 'double precision');
  return new Set(ofTexts.flatMap(([, names]) => names));
}

function isHeader(splitter: CsvSplitter, { columns }: Header): boolean {
  return (
    splitter.cells === columns.length && columns.every(({ name }, cell) => splitter.textAt(cell) === name)
  );
}

function otherCells({ record, cells, recordLine: line }: CsvSplitter, { columns }: Header): FileRefused {
  if (!isUtf8(record)) return notUtf8(line);
  return new FileRefused(`has another number of cells (${cells}) than its header (${columns.length})`, {
    line,
  });
}

function notUtf8(line: number): FileRefused {
  return new FileRefused('is not UTF-8', { line });
}

/** @throws FileRefused if a record is not UTF-8 */
function batchOf(json: GrowingBytes, lines: readonly number[]): Batch {
  json.bytes[json.end - 1] = closeBracket;
  const content = json.bytes.subarray(0, json.end);
  // Longer than a record may be it is not, and its JSON may be.
  const records = parsePage(content, Number.POSITIVE_INFINITY) as RecordsAsJson;
  if (!isUtf8(content)) {
    const begins = lines.map((_, index) => records.startOf(index));
    const broken = begins.findIndex((start, index) => !isUtf8(content.subarray(start, begins[index + 1])));
    throw notUtf8(lines[broken]!);
  }
  json.clear();
  return { records, lines };
}

/** Writes a record as an element of an array, with a comma after it. */
function writeRecord(json: GrowingBytes, splitter: CsvSplitter, { columns, given, size }: Header): void {
  const { bytes: cells, starts, ends } = splitter;
  // A byte takes six at most, as `\u001f`.
  json.makeRoom(size + 6 * (ends[columns.length - 1]! - starts[0]!));
  const { bytes } = json;
  let at = json.end;
  if (at === 0) bytes[at++] = openBracket;
  bytes[at++] = openBrace;
  for (let cell = 0; cell < columns.length; cell++) {
    const { name, isText, member, ifEmpty } = columns[cell]!;
    if (name === '') continue;
    at = copyBytes(member, 0, member.length, bytes, at);
    const [start, end] = [starts[cell]!, ends[cell]!];
    if (start === end) at = copyBytes(ifEmpty, 0, ifEmpty.length, bytes, at);
    else if (!isText && isJson(splitter, cell)) at = writeJson(cells, start, end, bytes, at);
    else at = writeText(cells, start, end, bytes, at);
    bytes[at++] = comma;
  }
  at = copyBytes(given, 0, given.length, bytes, at);
  if (bytes[at - 1] === comma) at--;
  bytes[at++] = closeBrace;
  bytes[at++] = comma;
  json.end = at;
}

/** Writes a cell as a JSON string. */
function writeText(from: Buffer, start: number, end: number, into: Buffer, at: number): number {
  into[at++] = quote;
  for (let index = start; index < end; index++) {
    const byte = from[index]!;
    if (byte < 0x20) {
      at += into.write(`\\u${byte.toString(16).padStart(4, '0')}`, at);
      continue;
    }
    // A quote within a cell is doubled.
    if (byte === quote) index++;
    if (byte === quote || byte === backslash) into[at++] = backslash;
    into[at++] = byte;
  }
  into[at++] = quote;
  return at;
}

/** Writes a cell as it is. */
function writeJson(from: Buffer, start: number, end: number, into: Buffer, at: number): number {
  for (let index = start; index < end; index++) {
    into[at++] = from[index]!;
    // A quote within a cell is doubled.
    if (from[index] === quote) index++;
  }
  return at;
}

/**
 * Whether JSON can have the cell as it is, so that the same record of a page is the same row: a number, a list or an object
 * that can be written no other way, or true or false.
 */
function isJson(splitter: CsvSplitter, cell: number): boolean {
  const { bytes, starts, ends } = splitter;
  const first = bytes[starts[cell]!]!;
  if (first === minus || isDigit(first)) {
    if (isUsualNumber(bytes, starts[cell]!, ends[cell]!)) return true;
    const text = splitter.textAt(cell);
    return String(Number(text)) === text;
  }
  if (first === lowerT || first === lowerF) return ['true', 'false'].includes(splitter.textAt(cell));
  if (first !== openBracket && first !== openBrace) return false;
  try {
    parseBody(splitter.textAt(cell));
    return true;
  } catch {
    return false;
  }
}

/** Whether a cell is a number as JavaScript writes it, with few digits; asked of its bytes, which is quicker. */
function isUsualNumber(bytes: Buffer, start: number, end: number): boolean {
  const begins = bytes[start] === minus ? start + 1 : start;
  let at = begins;
  while (isDigit(bytes[at])) at++;
  const isZero = bytes[begins] === zero;
  if (at === begins || end - start > 15 || (isZero && at - begins > 1)) return false;
  if (at === end) return !isZero || begins === start;
  if (bytes[at] !== point) return false;
  const decimals = ++at;
  while (bytes[at] === zero) at++;
  // JavaScript writes less than a millionth with an exponent.
  if (isZero && at - decimals > 5) return false;
  while (isDigit(bytes[at])) at++;
  return at === end && at > decimals && bytes[at - 1] !== zero;
}

const [lowerF, lowerT] = [0x66, 0x74];
