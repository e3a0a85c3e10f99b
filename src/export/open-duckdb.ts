import { availableParallelism } from 'node:os';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** A DuckDB in memory, for the time of one export. */
export interface DuckDB extends Disposable {
  readonly connection: DuckDBConnection;
  /** Runs a statement; its rows with numbers as text. @throws AbortError where the export is stopped meanwhile */
  run(statement: string): Promise<Record<string, string>[]>;
}

/** Only what is built in is used: nothing is looked for in the user's home, nothing is fetched. */
const settings = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // What goes beyond it is put aside on disk: a file's rows take a small part of it unless their texts are huge.
  memory_limit: '1GB',
  threads: String(Math.min(4, availableParallelism())),
  // Every file is read once: what it keeps of each, some 50 kB of a small one, is of no use and fills the memory up to the limit.
  enable_external_file_cache: 'false',
};

/** @param spill where a folder may be made for what does not fit into memory; gone when disposed */
export async function openDuckDB(spill: string, stop: AbortSignal): Promise<DuckDB> {
  const instance = await DuckDBInstance.create(':memory:', { ...settings, temp_directory: spill });
  const connection = await instance.connect();
  await connection.run(`set TimeZone = 'UTC'`);
  const interrupt = () => connection.interrupt();
  stop.addEventListener('abort', interrupt);
  return {
    connection,
    async run(statement) {
      stop.throwIfAborted();
      try {
        const reader = await connection.runAndReadAll(statement);
        return reader.getRowObjectsJson() as Record<string, string>[];
      } catch (error) {
        stop.throwIfAborted();
        throw error;
      }
    },
    [Symbol.dispose]() {
      stop.removeEventListener('abort', interrupt);
      connection.closeSync();
      instance.closeSync();
    },
  };
}
