import { type DuckDBAppender, DuckDBDataChunk, VARCHAR } from '@duckdb/node-api';
import type { ExportColumn, TextRow } from '../warehouse/queries/export-rows.ts';
import { duckdbType } from './file-formats.ts';
import type { DuckDB } from './open-duckdb.ts';
import { identifier } from './quote.ts';

/** The most rows that DuckDB takes at a time. */
export const chunkRows = 2048;

/** Rows on their way into a file: a table of DuckDB's, in memory. */
export interface Stage {
  /** How many there are. */
  readonly rows: number;
  /** Adds up to `chunkRows` rows. Values come as PostgreSQL writes them, and DuckDB reads them into its own types. */
  append(rows: readonly TextRow[]): Promise<void>;
  /** Hands the rows to `write`, as the name of the table that they stand in, and begins anew. */
  drain(write: (table: string) => Promise<unknown>): Promise<void>;
}

export function createStage(duckdb: DuckDB, columns: readonly ExportColumn[]): Stage {
  const declared = columns.map((column) => `${identifier(column.name)} ${duckdbType(column)}`).join(', ');
  // One for all: a chunk's memory is not Node's to count, so that chunks left to the collector would pile up.
  const chunk = DuckDBDataChunk.create(
    columns.map(() => VARCHAR),
    chunkRows,
  );
  let appender: DuckDBAppender | undefined;
  let staged = 0;
  return {
    get rows() {
      return staged;
    },
    async append(rows) {
      appender ??= await begin(duckdb, declared);
      chunk.reset();
      chunk.rowCount = rows.length;
      chunk.setColumns(columns.map((column) => rows.map((row) => row[column.name]!)));
      appender.appendDataChunk(chunk);
      staged += rows.length;
    },
    async drain(write) {
      appender?.closeSync();
      appender = undefined;
      staged = 0;
      await write('staged');
    },
  };
}

/** Replaced rather than emptied: a table in memory keeps the room of deleted rows. */
async function begin({ connection, run }: DuckDB, declared: string): Promise<DuckDBAppender> {
  await run(`create or replace table staged (${declared})`);
  return connection.createAppender('staged');
}
