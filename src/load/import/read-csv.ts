import { isUtf8 } from 'node:buffer';
import type { ColumnType, Feed } from '../../feeds/feed.ts';
import { copyBytes, GrowingBytes } from '../../growing-bytes.ts';
import { closeBrace, comma, openBrace } from '../../json-bytes.ts';
import { parseJson } from '../../service/json.ts';
import { type Batch, longest, most, type Reading, refuseEmpty, refuseExport } from './batch.ts';
import { writeCell, writeMade } from './csv-values.ts';
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
  let page: CsvPage | undefined;
  let { skip } = reading;
  let isEmpty = true;
  for await (const [piece, isEnd] of bytesOf(file, reading, () => splitter.line)) {
    splitter.push(piece, isEnd);
    while (splitter.next()) {
      if (page === undefined) {
        page = new CsvPage(readHeader(splitter, reading));
        continue;
      }
      // Files that were put together have it more than once.
      if (isHeader(splitter, page.header)) continue;
      if (splitter.cells !== page.header.columns.length) throw otherCells(splitter, page.header);
      isEmpty = false;
      if (skip-- > 0) continue;
      page.add(splitter);
      if (page.isFull) yield page.take();
    }
  }
  if (page === undefined) throw new FileRefused('is empty, without even a header');
  if (isEmpty)
    refuseEmpty(
      reading.feed,
      page.header.columns.map(({ name }) => name),
    );
  if (!page.isEmpty) yield page.take();
}

interface Header {
  readonly columns: readonly Column[];
  /** Bytes of the first column's name. */
  readonly firstLength: number;
  /** Members that each record gets at its end. */
  readonly given: readonly Buffer[];
  /** Bytes that a record takes at most besides its cells. */
  readonly size: number;
}

interface Column {
  readonly name: string;
  /** The type of the column that it fills, if it fills one. */
  readonly fills: ColumnType | undefined;
  /** Its name as JSON, and a colon. */
  readonly member: Buffer;
  readonly ifEmpty: Buffer;
}

function readHeader(splitter: CsvSplitter, { feed, columns: given }: Reading): Header {
  const names = Array.from({ length: splitter.cells }, (_, cell) => splitter.textAt(cell));
  const line = splitter.recordLine;
  if (!isUtf8(splitter.record)) throw notUtf8(line);
  const met = new Set<string>();
  const twice = names.find((name) => name !== '' && met.size === met.add(name).size);
  if (twice !== undefined) throw new FileRefused(`has the column "${twice}" twice`, { line });
  // Assigned to a record, it would not become one of its fields.
  if (names.includes('__proto__')) throw new FileRefused('has a column "__proto__"', { line });
  refuseExport(names);
  const fills = columnsOfFields(feed);
  const columns = names.map((name) => ({
    ...{ name, fills: fills.get(name), member: Buffer.from(`${JSON.stringify(name)}:`) },
    ifEmpty: Buffer.from(JSON.stringify(Object.hasOwn(given, name) ? given[name] : null)),
  }));
  const missing = Object.entries(given).filter(([name]) => !met.has(name));
  const atEnd = missing.map(([name, value]) =>
    Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`),
  );
  const fixed = [...columns.flatMap(({ member, ifEmpty }) => [member, ifEmpty]), ...atEnd];
  // Of each value also its quotes and a comma, of the record its braces.
  const size = fixed.reduce((sum, { length }) => sum + length + 3, 2);
  return { columns, firstLength: splitter.ends[0]! - splitter.starts[0]!, given: atEnd, size };
}

/** The type of the column that each field fills. */
function columnsOfFields({ fields, table }: Feed): ReadonlyMap<string, ColumnType | undefined> {
  return new Map(
    Object.entries(fields).flatMap(([column, names]) =>
      names.map((name) => [name, table.columns[column]] as const),
    ),
  );
}

function isHeader(splitter: CsvSplitter, { columns, firstLength }: Header): boolean {
  if (splitter.ends[0]! - splitter.starts[0]! !== firstLength || splitter.cells !== columns.length)
    return false;
  return columns.every(({ name }, cell) => splitter.textAt(cell) === name);
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

/** Records as the JSON of a page, with what the reader of pages wants to know of it. */
class CsvPage {
  readonly header: Header;
  readonly #json = new GrowingBytes();
  /**
   * Where the values of members end, and where records are: see `RecordsAsJson`. Negative if a value has escapes; a name need not
   * say so, since whoever reads bytes leaves such names alone.
   */
  readonly #ends: Int32Array;
  #noted = 0;
  #spans: number[] = [];
  #lines: number[] = [];

  constructor(header: Header) {
    this.header = header;
    const members = header.columns.length + header.given.length;
    // None has fewer bytes than `"a":1,`, so a record of many does not need room for a thousand like it.
    this.#ends = new Int32Array(Math.min(most.records * members, most.size / 6 + members));
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  get isFull(): boolean {
    return this.#lines.length === most.records || this.#json.end >= most.size;
  }

  /** Adds the record that a splitter has found. */
  add(splitter: CsvSplitter): void {
    const { columns, given, size } = this.header;
    const { starts, ends } = splitter;
    // A byte takes six at most, as `\u001f`.
    this.#json.makeRoom(size + 6 * (ends[columns.length - 1]! - starts[0]!));
    const { bytes } = this.#json;
    const begins = this.#json.end;
    const firstMember = this.#noted;
    let at = begins;
    for (let cell = 0; cell < columns.length; cell++) {
      const { name, fills, member, ifEmpty } = columns[cell]!;
      if (name === '') continue;
      bytes[at] = at === begins ? openBrace : comma;
      at = copyBytes(member, 0, member.length, bytes, at + 1);
      let end: number;
      if (starts[cell] === ends[cell]) end = writeMade(ifEmpty, bytes, at);
      else end = writeCell(splitter, cell, fills, bytes, at);
      this.#ends[this.#noted++] = end;
      at = Math.abs(end);
    }
    for (const member of given) {
      bytes[at] = at === begins ? openBrace : comma;
      const end = writeMade(member, bytes, at + 1);
      this.#ends[this.#noted++] = end;
      at = Math.abs(end);
    }
    if (at === begins) bytes[at++] = openBrace;
    bytes[at++] = closeBrace;
    this.#json.end = at;
    this.#spans.push(begins, at, columns.length, firstMember);
    this.#lines.push(splitter.recordLine);
  }

  /** The records so far; then it is empty. @throws FileRefused if one of them is not UTF-8 */
  take(): Batch {
    const content = this.#json.bytes.subarray(0, this.#json.end);
    const lines = this.#lines;
    const begins = lines.map((_, index) => this.#spans[4 * index]!);
    if (!isUtf8(content)) {
      const broken = begins.findIndex((start, index) => !isUtf8(content.subarray(start, begins[index + 1])));
      throw notUtf8(lines[broken]!);
    }
    const records = begins.map((start, index) =>
      parseJson(content.toString('utf8', start, this.#spans[4 * index + 1])),
    );
    this.#json.clear();
    this.#noted = 0;
    this.#spans = [];
    this.#lines = [];
    return { records, lines };
  }
}
