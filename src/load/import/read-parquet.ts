import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDBResult, DuckDBTypeId } from '@duckdb/node-api';
import { openDuckDB, pathLiteral } from '../../duckdb.ts';
import { systemReason } from '../../errors.ts';
import { type Reading, refuseEmpty, refuseExport } from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { checking } from './file-bytes.ts';
import type { PlacedRecord } from './read-records.ts';

/** Numbers that DuckDB writes as text, because JavaScript would round the large ones. */
const whole: readonly DuckDBTypeId[] = [DuckDBTypeId.BIGINT, DuckDBTypeId.UBIGINT, DuckDBTypeId.HUGEINT];

/** The records of a Parquet file, in its order. @throws FileRefused */
export async function* parquetRecords(
  file: DataFile,
  { feed, stop }: Reading,
): AsyncGenerator<readonly PlacedRecord[]> {
  let row = 0;
  using duckdb = await openDuckDB('', stop);
  try {
    await using unpacked = file.path === undefined ? await unpack(file, stop) : undefined;
    const path = unpacked?.path ?? file.path!;
    // One thread reads the rows in their order, which a rerun counts on.
    await duckdb.connection.run('set threads = 1');
    const result: DuckDBResult = await duckdb.connection.stream(
      `select * from read_parquet(${pathLiteral(path)}, hive_partitioning = false)`,
    );
    const names = result.columnNames();
    refuseExport(names);
    const types = result.columnTypes();
    const numbers = names.filter((_, at) => whole.includes(types[at]!.typeId));
    for await (const rows of result.yieldRowObjectJson()) {
      yield (rows as Record<string, unknown>[]).map((record) => {
        row++;
        for (const name of numbers) {
          const number = Number(record[name]);
          if (record[name] !== null && Number.isSafeInteger(number)) record[name] = number;
        }
        // Rows have no size of their own here; this many bytes make a batch of 1,000.
        return { record, line: row, size: 4000 };
      });
    }
    if (row === 0) refuseEmpty(feed, names);
  } catch (cause) {
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be read: ${reasonOf(cause)}`, {
      line: row === 0 ? undefined : row + 1,
      cause,
    });
  }
}

/** DuckDB's own words without its statement, its advice and the name of the file. */
function reasonOf(error: unknown): string {
  const reason = systemReason(error);
  if (/magic bytes|too small to be a Parquet/i.test(reason))
    return 'it is not a Parquet file, or it is cut off';
  return reason
    .split('\n')[0]!
    .replace(/^[\w ]*Error: /, '')
    .replace(/ ?(?:in |at end of )?file '.*?'/i, '');
}

/** Unpacks a file of a ZIP file, since Parquet is read from its end; gone when disposed. */
async function unpack(file: DataFile, signal: AbortSignal) {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-import-'));
  const path = join(folder, 'records.parquet');
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await pipeline(
      await file.open(),
      checking(file, () => {}),
      createWriteStream(path),
      { signal },
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}
