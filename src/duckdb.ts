import { addAbortListener } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { DuckDBConnection } from '@duckdb/node-api';
import { ConfigError } from './errors.ts';

/** An in-memory DuckDB that reads and writes Parquet. */
export interface DuckDB extends Disposable {
  readonly connection: DuckDBConnection;
  /** Opens another connection, far faster than another DuckDB; it is closed with this one. */
  connect(): Promise<DuckDBConnection>;
  /** Runs a statement and returns its rows, with numbers as text. @throws AbortError if stopped */
  run(statement: string): Promise<Record<string, string>[]>;
}

/** Built-in features only, so DuckDB does not search the user's home and downloads nothing. */
const settings = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // Beyond this limit DuckDB uses the disk. A file's rows need only a small part of it, unless their texts are huge.
  memory_limit: '1GB',
  threads: String(Math.min(4, availableParallelism())),
  // Every file is read once. A cache would keep some 50 kB for each small file, until the memory limit is reached.
  enable_external_file_cache: 'false',
};

/**
 * @param spill path of a folder for data beyond the memory limit, which only the user can read, and which is removed at the
 * end; empty for none
 * @throws ConfigError if DuckDB is not installed for this machine
 */
export async function openDuckDB(spill: string, stop: AbortSignal): Promise<DuckDB> {
  const { DuckDBInstance } = await loaded();
  if (spill !== '') mkdirSync(spill, { mode: 0o700 });
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
    connection,
    connect,
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
      if (spill !== '') rmSync(spill, { recursive: true, force: true });
    },
  };
}

/** Loads DuckDB only when it is needed: its part for this machine is an optional dependency of the package. */
function loaded(): Promise<typeof import('@duckdb/node-api')> {
  return import('@duckdb/node-api').catch((cause: Error) => {
    throw new ConfigError(
      `DuckDB, which reads and writes Parquet, cannot be loaded: ${cause.message.split('\n')[0]}`,
      {
        cause,
        hint: 'Install gmsi again, without --omit=optional.',
      },
    );
  });
}

/** Quotes a text for a DuckDB statement. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes a path for a DuckDB statement, and escapes `*`, `?` and `[`, which DuckDB would read as a pattern. */
export function pathLiteral(path: string): string {
  return literal(path.replace(/[*?[]/g, '[$&]'));
}

/** Quotes the name of a table or column for a DuckDB statement. */
export function identifier(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
