import { addAbortListener } from 'node:events';
import { availableParallelism } from 'node:os';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** A DuckDB in memory, which writes and reads Parquet. */
export interface DuckDB extends Disposable {
  readonly connection: DuckDBConnection;
  /** Another connection, which is closed with it: to begin a DuckDB takes far longer. */
  connect(): Promise<DuckDBConnection>;
  /** Runs a statement; its rows with numbers as text. @throws AbortError if the work is stopped meanwhile */
  run(statement: string): Promise<Record<string, string>[]>;
}

/** Only built-in features: DuckDB looks for nothing in the user's home and downloads nothing. */
const settings = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // Beyond this limit DuckDB uses the disk. The rows of a file take a small part of it unless their texts are huge.
  memory_limit: '1GB',
  threads: String(Math.min(4, availableParallelism())),
  // Every file is read once, so a cache is of no use: some 50 kB for a small file, which fills the memory up to the limit.
  enable_external_file_cache: 'false',
};

/**
 * @param spill a place for a folder with what does not fit into memory, which is removed when disposed; empty if all of it
 * fits
 */
export async function openDuckDB(spill: string, stop: AbortSignal): Promise<DuckDB> {
  const instance = await DuckDBInstance.create(':memory:', { ...settings, temp_directory: spill });
  const connections = new Set<DuckDBConnection>();
  const listening = addAbortListener(stop, () => {
    for (const connection of connections) connection.interrupt();
  });
  const connect = async () => {
    const connection = await instance.connect();
    connections.add(connection);
    await connection.run(`set TimeZone = 'UTC'`);
    return connection;
  };
  const connection = await connect();
  return {
    ...{ connection, connect },
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
      listening[Symbol.dispose]();
      for (const each of connections) each.closeSync();
      instance.closeSync();
    },
  };
}

/** A text within a statement of DuckDB. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The path of one file within a statement of DuckDB, which would take `*`, `?` and `[` for a pattern. */
export function pathLiteral(path: string): string {
  return literal(path.replace(/[*?[]/g, '[$&]'));
}

/** The name of a table or column within a statement of DuckDB. */
export function identifier(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
