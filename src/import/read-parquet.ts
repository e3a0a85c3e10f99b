import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { identifier, pathLiteral } from '../duckdb.ts';
import { systemReason } from '../errors.ts';
import { itself } from '../feeds/reading/sent-record.ts';
import { oneName } from '../one-name.ts';
import { parseJson } from '../service/json.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { checkNames, type PlacedRecord, type ReadOptions, refuseEmpty, tableRecords } from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { bytesOf } from './file-bytes.ts';

/**
 * Yields the records of a Parquet file in order.
 * @throws FileRefused
 */
export async function* parquetRecords(
  file: DataFile,
  reading: ReadOptions,
): AsyncGenerator<readonly PlacedRecord[]> {
  await using plain = await onDisk(file, reading);
  const connection = await reading.duckdb!.connect();
  let records = 0;
  try {
    // Older writers do not mark texts as texts. Read as bytes, "é" would be stored as "\\xC3\\xA9".
    const source = `read_parquet(${pathLiteral(plain.path)}, hive_partitioning = false, binary_as_string = true)`;
    const empty = await connection.stream(`from ${source} limit 0`);
    const written = empty.columnNames();
    const names = written.map(oneName);
    checkNames(names);
    const recordOf = tableRecords(names, reading, itself);
    // In a list, all values must have one type.
    const columns = written.map((name, at) => `to_json(${atItsPrecision(name, `${empty.columnType(at)}`)})`);
    const result = await connection.stream(`select to_json([${columns.join()}])::varchar from ${source}`);
    for await (const chunk of result) {
      const read: PlacedRecord[] = [];
      for (const json of chunk.getColumnValues(0)) {
        const values = parseJson(json as string) as unknown[];
        read.push({ record: recordOf(values), at: ++records, size: (json as string).length });
      }
      yield read;
    }
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

/** Returns DuckDB's message without the statement, the advice and the name of the file. */
function reasonOf(error: unknown): string {
  const reason = systemReason(error);
  if (/magic bytes|too small to be a Parquet/i.test(reason))
    return 'it is not a Parquet file, or it is cut off';
  if (/invalid string encoding/i.test(reason)) return 'a text is not UTF-8';
  return reason
    .split('\n')[0]!
    .replace(/^[\w ]*Error: /, '')
    .replace(/ ?(?:in |at end of )?file '.*?'/i, '');
}

/** Returns a file's path. Unpacks one in a ZIP file to the system's temporary folder, and deletes it when disposed. */
async function onDisk(file: DataFile, reading: ReadOptions) {
  if (file.path !== undefined) return { path: file.path, [Symbol.asyncDispose]: async () => {} };
  const folder = await temporaryFolder();
  const path = join(folder, 'records');
  const remove = () => rm(folder, { recursive: true, force: true });
  async function* pieces() {
    for await (const [piece] of bytesOf(file, reading, () => undefined)) yield piece;
  }
  try {
    await pipeline(pieces, createWriteStream(path));
    return { path, [Symbol.asyncDispose]: remove };
  } catch (cause) {
    await remove();
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be unpacked to ${tmpdir()}: ${systemReason(cause)}`, { cause });
  }
}
