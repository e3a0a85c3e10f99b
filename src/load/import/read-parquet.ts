import { type DuckDBResult, DuckDBTypeId } from '@duckdb/node-api';
import { literal, openDuckDB } from '../../duckdb.ts';
import { FileRefused } from './data-file.ts';
import { type PlacedRecord, refuseExport } from './read-records.ts';

/** Numbers that DuckDB writes as text, because JavaScript would round the large ones. */
const whole: readonly DuckDBTypeId[] = [DuckDBTypeId.BIGINT, DuckDBTypeId.UBIGINT, DuckDBTypeId.HUGEINT];

/** The records of a Parquet file, in its order. @throws FileRefused */
export async function* parquetRecords(path: string): AsyncGenerator<readonly PlacedRecord[]> {
  let row = 0;
  using duckdb = await openDuckDB('', new AbortController().signal);
  try {
    // One thread reads the rows in their order, which a rerun counts on.
    await duckdb.connection.run('set threads = 1');
    const result: DuckDBResult = await duckdb.connection.stream(
      `select * from read_parquet(${literal(path)}, hive_partitioning = false)`,
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
  } catch (cause) {
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be read: ${(cause as Error).message}`, { line: row + 1, cause });
  }
}
