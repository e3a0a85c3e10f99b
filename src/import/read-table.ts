import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { identifier, literal, pathLiteral } from '../duckdb.ts';
import { systemReason } from '../errors.ts';
import type { Feed } from '../feeds/feed.ts';
import { parseJson } from '../service/json.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { longest, type PlacedRecord, type ReadOptions, refuseEmpty, refuseExport } from './batch.ts';
import { type CsvShape, CsvShapeReader } from './csv-shape.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { bytesOf } from './file-bytes.ts';

/** Far more than a record has. DuckDB keeps 2,048 records in memory, so the number must have a bound. */
const mostColumns = 1000;

/**
 * Yields the records of a CSV or Parquet file in order. If lines of a CSV file are broken, yields the others before it
 * refuses the file.
 * @throws FileRefused
 */
export async function* tableRecords(
  file: DataFile,
  reading: ReadOptions,
): AsyncGenerator<readonly PlacedRecord[]> {
  await using plain = await plainFile(file, reading);
  const connection = await reading.duckdb!.connect();
  const { shape } = plain;
  let row = 0;
  let records = 0;
  try {
    const source = shape
      ? readCsv(plain.path, shape)
      : // Older writers do not mark texts as texts. Read as bytes, "é" would be stored as "\\xC3\\xA9".
        `read_parquet(${pathLiteral(plain.path)}, hive_partitioning = false, binary_as_string = true)`;
    const empty = shape ? undefined : await connection.stream(`from ${source} limit 0`);
    const names = shape?.columns ?? empty!.columnNames();
    checkNames(names, shape && 1);
    // In a list, all values must have one type.
    const columns = names.map((name, at) =>
      empty ? `to_json(${atItsPrecision(name, `${empty.columnType(at)}`)})` : `c${at}`,
    );
    const texts = textFields(reading.feed);
    const result = await connection.stream(`select to_json([${columns.join()}])::varchar from ${source}`);
    for await (const rows of result.yieldRows()) {
      const read: PlacedRecord[] = [];
      for (const [json] of rows) {
        const values = parseJson(json as string) as unknown[];
        row++;
        // Skips the header, which concatenated files repeat.
        if (shape && values.every((value, at) => (value ?? '') === names[at])) continue;
        const record: Record<string, unknown> = {};
        for (const [at, name] of names.entries()) {
          if (name === '') continue;
          record[name] = shape && !texts.has(name) ? asJson(values[at] as string | null) : values[at];
        }
        read.push({ record, at: ++records, size: (json as string).length });
      }
      yield read;
    }
    if (shape) await refuseBroken(connection, shape, row);
    if (records === 0) refuseEmpty(reading.feed, names);
  } catch (cause) {
    if (cause instanceof FileRefused) throw cause;
    const at = records === 0 ? {} : { record: records + 1 };
    throw new FileRefused(`cannot be read: ${reasonOf(cause)}`, { ...at, cause });
  } finally {
    connection.closeSync();
  }
}

/** Returns a column with its 32-bit numbers as their shortest decimals: 0.2, not 0.20000000298023224. */
function atItsPrecision(name: string, type: string): string {
  const withNumbers = (as: string) =>
    type.replace(/"(?:[^"]|"")*"|\bFLOAT\b/g, (part) => (part === 'FLOAT' ? as : part));
  const double = withNumbers('DOUBLE');
  const column = identifier(name);
  return double === type ? column : `${column}::${withNumbers('VARCHAR')}::${double}`;
}

/** Returns the DuckDB call that reads a CSV file strictly, without guessing, and the header like any record. */
function readCsv(path: string, { columns, delimiter, newLine }: CsvShape): string {
  const types = columns.map((_, at) => `c${at}: 'VARCHAR'`).join();
  const dialect = `delim = ${literal(delimiter)}, quote = '"', escape = '"', new_line = ${literal(newLine === '\n' ? '\\n' : '\\r\\n')}`;
  // DuckDB also stores the text of a broken line.
  const limits = `max_line_size = ${2 * longest}, store_rejects = true, rejects_limit = 10`;
  return `read_csv(${pathLiteral(path)}, auto_detect = false, header = false, compression = 'none', ${dialect}, ${limits}, columns = {${types}})`;
}

/** Refuses a CSV file with broken lines, or if DuckDB has not read as many records as `CsvShapeReader` counted. */
async function refuseBroken(connection: DuckDBConnection, shape: CsvShape, rows: number): Promise<void> {
  const reader = await connection.runAndReadAll(
    'select line, error_type, error_message from reject_errors order by line_byte_position',
  );
  const broken = reader.getRows() as [line: bigint, kind: string, message: string][];
  const [first] = broken;
  if (!first) {
    if (rows === shape.records) return;
    throw new FileRefused(
      `has ${shape.records} records by its quotes and line ends, but only ${rows} can be read: its line ends are mixed, or its quotes are not CSV quotes`,
    );
  }
  const [line, kind, message] = first;
  const [, wanted, found] = /Columns: (\d+) Found: (\d+)/.exec(message) ?? [];
  const what: Record<string, string> = {
    'TOO MANY COLUMNS': `has ${found} cells, but the header has ${wanted}`,
    'MISSING COLUMNS': `has ${found} cells, but the header has ${wanted}`,
    'UNQUOTED VALUE': 'a quote is not closed, or does not end where its cell ends',
    'INVALID ENCODING': 'is not UTF-8',
  };
  // Can be below one: broken quotes also make the count of records wrong.
  const lost = shape.records - rows;
  const more = lost > 1 ? `; in total, ${lost} records cannot be read` : '';
  throw new FileRefused(`${what[kind] ?? message}${more}`, { line: Number(line) });
}

function checkNames(names: readonly string[], line: number | undefined): void {
  refuseExport(names);
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new FileRefused(`has the column "${twice}" twice`, { line });
  // Assigning `__proto__` to a record would not add a field.
  if (names.includes('__proto__')) throw new FileRefused('has a column "__proto__"', { line });
  if (names.length > mostColumns) throw new FileRefused(`has more than ${mostColumns} columns`, { line });
}

/** Returns the fields of columns that are not numbers; their cells stay text. */
function textFields({ fields, table }: Feed): ReadonlySet<string> {
  return new Set(
    Object.entries(fields).flatMap(([column, names]) =>
      ['double precision', 'bigint'].includes(table.columns[column]!) ? [] : names,
    ),
  );
}

/**
 * Returns the value that a page's JSON has for a cell, so that the same record gives the same row: true, false, a list, an
 * object, a number if the cell has its shortest form, else the text.
 */
function asJson(cell: string | null): unknown {
  if (cell === null) return null;
  if (/^-?\d/.test(cell)) {
    const number = Number(cell);
    // From 2^53 on, digits may have been rounded.
    const isExact = Number.isSafeInteger(number) || !/^-?\d+$/.test(cell);
    return isExact && String(number) === cell ? number : cell;
  }
  if (cell === 'true' || cell === 'false') return cell === 'true';
  if (!beginsAsJson.test(cell) || !/[\]}]$/.test(cell.trimEnd())) return cell;
  try {
    return parseJson(cell);
  } catch {
    return cell;
  }
}

/** How lists and objects begin, and few other texts: an error for each of those would take far longer than to read its record. */
const beginsAsJson = /^(?:\{\s*["}]|\[\s*(?:["\d[{\]-]|true|false|null|NaN|Infinity))/;

/** Returns DuckDB's message without the statement, the advice and the name of the file. */
function reasonOf(error: unknown): string {
  const reason = systemReason(error);
  if (/magic bytes|too small to be a Parquet/i.test(reason))
    return 'it is not a Parquet file, or it is cut off';
  if (/invalid string encoding/i.test(reason)) return 'a text is not UTF-8';
  if (/invalid state/.test(reason)) return 'its line ends are mixed, or its quotes are not CSV quotes';
  return reason
    .split('\n')[0]!
    .replace(/^[\w ]*Error: /, '')
    .replace(/ ?(?:in |at end of )?file '.*?'/i, '');
}

/**
 * Returns a file that DuckDB can read. Unpacks a packed file to the system's temporary folder, and deletes it when disposed.
 * Reads a CSV file once for its shape.
 */
async function plainFile(file: DataFile, reading: ReadOptions) {
  const isPlain = file.path !== undefined && !file.isGzipped;
  const folder = isPlain ? undefined : await temporaryFolder();
  const path = folder === undefined ? file.path! : join(folder, 'records');
  const remove = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  const shape = file.format === 'csv' ? new CsvShapeReader(longest) : undefined;
  async function* pieces() {
    for await (const [piece] of bytesOf(file, reading, () => shape?.line)) {
      shape?.push(piece);
      yield piece;
    }
  }
  try {
    if (folder !== undefined) await pipeline(pieces, createWriteStream(path));
    else if (shape) for await (const _ of pieces());
    return { path, shape: shape?.end(), [Symbol.asyncDispose]: remove };
  } catch (cause) {
    await remove();
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be unpacked to ${tmpdir()}: ${systemReason(cause)}`, { cause });
  }
}
