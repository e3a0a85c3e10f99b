import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBAppender, DuckDBDataChunk, VARCHAR } from '@duckdb/node-api';
import type { ExportColumn, TextRow } from '../warehouse/tables/export-rows.ts';
import { type DuckDB, duckdbType, type ExportFormat, identifier, literal, writeOptions } from './duckdb.ts';
import { writable } from './target-folder.ts';

/** A file, by its path within the export. */
export interface WrittenFile {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
}

/** What files are written with. */
export interface PartWriter {
  readonly duckdb: DuckDB;
  readonly stage: StagingTable;
  readonly format: ExportFormat;
  /** Where the export is made. */
  readonly root: string;
  /** The most rows of a file: as many are in memory at a time. */
  readonly rowsPerFile: number;
  /** What is written of the staged table: a part of a statement; the table as it is if left out. */
  readonly select?: (table: string) => string;
}

/**
 * Writes the rows of one partition into its folder, in as many files as it takes.
 * @param folder within the export
 * @param batches none larger than a file may be
 */
export async function writePartition(
  writer: PartWriter,
  folder: string,
  batches: AsyncIterable<readonly TextRow[]>,
): Promise<WrittenFile[]> {
  const { stage, rowsPerFile } = writer;
  const files: WrittenFile[] = [];
  const writeFile = async () => {
    files.push(await writePart(writer, join(folder, `part-${files.length}.${writer.format}`)));
  };
  await writable(() => mkdir(join(writer.root, folder), { recursive: true }));
  for await (const rows of batches) {
    if (stage.rows + rows.length > rowsPerFile) await writeFile();
    await stage.append(rows);
  }
  if (stage.rows > 0) await writeFile();
  return files;
}

async function writePart(
  { duckdb, stage, format, root, select = (table) => table }: PartWriter,
  path: string,
): Promise<WrittenFile> {
  const { rows } = stage;
  const file = join(root, path);
  await stage.drain((table) =>
    // The rows are DuckDB's own by now: what goes wrong is not theirs.
    writable(() => duckdb.run(`copy ${select(table)} to ${literal(file)} ${writeOptions[format]}`)),
  );
  const { size } = await stat(file);
  return { path, rows, bytes: size };
}

/** The most rows that DuckDB takes at a time. */
export const chunkRows = 2048;

/** Rows on their way into a file: a table of DuckDB's, in memory. */
export interface StagingTable {
  /** How many there are. */
  readonly rows: number;
  /** Adds up to `chunkRows` rows. Values come as PostgreSQL writes them, and DuckDB reads them into its own types. */
  append(rows: readonly TextRow[]): Promise<void>;
  /** Hands the rows to `write`, as the name of the table that they stand in, and begins anew. */
  drain(write: (table: string) => Promise<unknown>): Promise<void>;
}

export function createStage(duckdb: DuckDB, columns: readonly ExportColumn[]): StagingTable {
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
