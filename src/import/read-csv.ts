import Papa from 'papaparse';
import type { Feed } from '../feeds/feed.ts';
import type { Fields } from '../feeds/reading/sent-record.ts';
import { oneName } from '../one-name.ts';
import { parseJson } from '../service/json.ts';
import {
  checkNames,
  longest,
  type PlacedRecord,
  type ReadOptions,
  refuseEmpty,
  tableRecords,
  tooLong,
} from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { linesOf } from './file-bytes.ts';

interface Parsed {
  readonly data: readonly (readonly string[])[];
  readonly errors: readonly { readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

/** How a CSV file is written (RFC 4180), by its header. */
interface Dialect {
  readonly names: readonly string[];
  readonly newLine: '\n' | '\r\n';
  parse(text: string, isEnd: boolean): Parsed;
}

/** Rows that follow each other in a file, with the header if they begin with it. */
interface Rows {
  readonly names: readonly string[];
  readonly rows: Parsed['data'];
  /** The average length of a row. */
  readonly size: number;
  /** Returns the line on which a row begins. */
  lineOf(at: number): number;
}

const notQuotes = 'a quote is not closed, or does not end where its cell ends';

/**
 * Yields the records of a CSV file in order. If records have too many or too few cells, yields the others before it refuses the
 * file.
 * @throws FileRefused with the line
 */
export async function* csvRecords(
  file: DataFile,
  reading: ReadOptions,
): AsyncGenerator<readonly PlacedRecord[]> {
  let recordOf: ReturnType<typeof tableRecords> | undefined;
  let records = 0;
  let header: readonly string[] = [];
  let broken = 0;
  let refusal: FileRefused | undefined;
  for await (const { names, rows, size, lineOf } of rowsOf(file, reading)) {
    header = names;
    recordOf ??= tableRecords(names, reading, jsonOf(names, reading.feed));
    const read: PlacedRecord[] = [];
    for (let at = 0; at < rows.length; at++) {
      const cells = rows[at]!;
      if (cells.length === 1 && cells[0] === '') continue;
      // Skips the header, which concatenated files repeat, each with a byte order mark of its own.
      if (oneName(cells[0]!) === names[0] && cells.every((cell, at) => oneName(cell) === names[at])) continue;
      if (cells.length === names.length) {
        read.push({ record: recordOf(cells), at: ++records, size });
      } else {
        broken++;
        refusal ??= new FileRefused(`has ${cells.length} cells, but the header has ${names.length}`, {
          line: lineOf(at),
        });
      }
    }
    yield read;
  }
  if (refusal && broken > 1)
    throw new FileRefused(`${refusal.message}; in total, ${broken} records cannot be read`, refusal);
  if (refusal) throw refusal;
  if (records === 0) refuseEmpty(reading.feed, header);
}

/** Yields the rows of a file piece by piece. @throws FileRefused behind the rows that can be read */
async function* rowsOf(file: DataFile, reading: ReadOptions): AsyncGenerator<Rows> {
  let dialect: Dialect | undefined;
  let rest = '';
  let line = 1;
  for await (const [lines, isEnd] of linesOf(file, reading, () => line)) {
    let text = rest + lines;
    if (dialect === undefined) {
      const header = text.replace(/^[\r\n]+/, '');
      if (header === '' && isEnd) throw new FileRefused('is empty, without even a header');
      line += countOf(text.slice(0, text.length - header.length), '\n');
      text = header;
      dialect = dialectOf(text, isEnd);
    }
    if (dialect === undefined) {
      rest = text;
      if (rest.length > longest) throw tooLong(line);
      continue;
    }
    const { names, newLine } = dialect;
    const { data, errors, meta } = dialect.parse(text, isEnd);
    const whole = isEnd ? text : text.slice(0, meta.cursor);
    const lineOf = (at: number) =>
      data.slice(0, at).reduce((sum, cells) => sum + 1 + countOf(cells.join(), '\n'), line);
    const mixed = mixedAt(data, whole, newLine, isEnd);
    const unclosed = errors[0]?.row ?? data.length;
    const readable = Math.min(mixed, unclosed, data.length);
    yield { names, rows: data.slice(0, readable), size: Math.ceil(whole.length / data.length), lineOf };
    if (readable < data.length) {
      const why = mixed < unclosed ? 'its line ends are mixed, or its quotes are not CSV quotes' : notQuotes;
      throw new FileRefused(why, { line: lineOf(readable) });
    }
    line += countOf(whole, '\n');
    rest = text.slice(whole.length);
    if (rest.length > longest) throw tooLong(line);
  }
}

/** Returns the dialect of a file by its header, or undefined if the text ends within the header. @throws FileRefused */
function dialectOf(text: string, isEnd: boolean): Dialect | undefined {
  let end = text.indexOf('\n');
  for (let from = 0, quotes = 0; end >= 0; from = end, end = text.indexOf('\n', end + 1)) {
    quotes += countOf(text.slice(from, end), '"');
    if (quotes % 2 === 0) break;
  }
  if (end < 0 && !isEnd) return undefined;
  const header = end < 0 ? text : text.slice(0, end);
  const newLine = header.endsWith('\r') ? '\r\n' : '\n';
  const delimiter = [',', ';', '\t'].find((sign) => header.includes(sign)) ?? ',';
  const parser = new Papa.Parser({ delimiter, newline: newLine });
  const parse = (text: string, isEnd: boolean): Parsed => parser.parse(text, 0, !isEnd);
  const { data, errors } = parse(header.replace(/\r$/, ''), true);
  const names = (data as [readonly string[]])[0].map(oneName);
  if (errors.length > 0) throw new FileRefused(notQuotes, { line: 1 });
  if (mixedAt(data, header, '\n', true) === 0)
    throw new FileRefused('its lines end with CR alone: save it with LF or CRLF at the end of lines', {
      line: 1,
    });
  checkNames(names, 1);
  return { names, newLine, parse };
}

/**
 * Returns the first row with the end of a line in a cell that is not quoted, or infinity. A quoted cell is in the text with its
 * quotes.
 */
function mixedAt(rows: Parsed['data'], text: string, newLine: string, isEnd: boolean): number {
  const ends = isEnd ? rows.length - 1 : rows.length;
  if (countOf(text, '\n') === ends && countOf(text, '\r') === (newLine === '\n' ? 0 : ends)) return Infinity;
  let from = 0;
  for (const [at, cells] of rows.entries()) {
    for (const cell of cells) {
      if (!/[\r\n]/.test(cell)) continue;
      const quoted = `"${cell.replaceAll('"', '""')}"`;
      const found = text.indexOf(quoted, from);
      if (found < 0) return at;
      from = found + quoted.length;
    }
  }
  return Infinity;
}

/** Counts a character in a text. */
function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++;
  return count;
}

/** Returns what JSON has in place of a cell: null for an empty one; a text in a column that is not for numbers. */
function jsonOf(header: readonly string[], { fields, table }: Feed): Fields['jsonOf'] {
  const texts = Object.entries(fields).flatMap(([column, names]) =>
    ['double precision', 'bigint'].includes(table.columns[column]!) ? [] : names,
  );
  const isText = header.map((name) => texts.includes(name));
  return (cell, at) => (cell === '' ? null : isText[at] ? cell : asJson(cell as string));
}

/**
 * Returns the value that a page's JSON has for a cell, so that the same record gives the same row: true, false, a list, an
 * object, a number if the cell has its shortest form, else the text.
 */
function asJson(cell: string): unknown {
  if (shortest.test(cell)) return Number(cell);
  if (/^-?\d/.test(cell)) {
    const number = Number(cell);
    // From 2^53 on, digits may have been rounded.
    const isExact = Math.abs(number) < 2 ** 53 || !/^-?\d+$/.test(cell);
    return isExact && String(number) === cell ? number : cell;
  }
  if (cell === 'true' || cell === 'false') return cell === 'true';
  return beginsAsJson.test(cell) && /[\]}]$/.test(cell.trimEnd()) ? (parseJson(cell) ?? cell) : cell;
}

/** Decimals that have their shortest form, because they have at most 15 digits: to write each number again takes longer. */
const shortest = /^-?(?:[1-9]\d{0,3}|0(?=\.0{0,5}[1-9]))\.\d{0,10}[1-9]$/;

/** How lists and objects begin, and few other texts: an error for each of those would take far longer than to read its record. */
const beginsAsJson = /^(?:\{\s*["}]|\[\s*(?:["\d[{\]-]|true|false|null|NaN|Infinity))/;
