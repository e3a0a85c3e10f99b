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

/** What writing a file needs. */
export interface PartWriter {
  readonly duckdb: DuckDB;
  readonly stage: StagingTable;
  readonly format: ExportFormat;
  /** The folder of the export. */
  readonly root: string;
  readonly rowsPerFile: number;
  /** The SQL expression for the staged table as it is written; the table itself by default. */
  readonly select?: (table: string) => string;
  readonly onBatch?: (rows: number) => void;
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
    writer.onBatch?.(rows.length);
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
    // The rows are read and staged by now, so an error here comes from writing.
    writable(() => duckdb.run(`copy ${select(table)} to ${literal(file)} ${writeOptions[format]}`)),
  );
  const { size } = await stat(file);
  return { path, rows, bytes: size };
}

/** DuckDB takes at most this many rows at a time. */
export const chunkRows = 2048;

export type StagingTable = ReturnType<typeof createStage>;

/** Rows for a file: an in-memory table of DuckDB. */
export function createStage(duckdb: DuckDB, columns: readonly ExportColumn[]) {
  const declared = columns.map((column) => `${identifier(column.name)} ${duckdbType(column)}`).join(', ');
  // One chunk for all rows: Node does not count the memory of chunks, so unused ones would pile up before they are
  // collected.
  const chunk = DuckDBDataChunk.create(
    columns.map(() => VARCHAR),
    chunkRows,
  );
  let appender: DuckDBAppender | undefined;
  let staged = 0;
  return {
    get rows(): number {
      return staged;
    },
    /** Adds up to `chunkRows` rows. Values come as PostgreSQL writes them, and DuckDB reads them into its own types. */
    async append(rows: readonly TextRow[]): Promise<void> {
      appender ??= await begin(duckdb, declared);
      chunk.reset();
      chunk.rowCount = rows.length;
      chunk.setColumns(columns.map((column) => rows.map((row) => row[column.name]!)));
      appender.appendDataChunk(chunk);
      staged += rows.length;
    },
    /** Calls `write` with the name of the table that holds the rows, then begins with an empty one. */
    async drain(write: (table: string) => Promise<unknown>): Promise<void> {
      appender?.closeSync();
      appender = undefined;
      staged = 0;
      await write('staged');
    },
  };
}

/** Replaced rather than emptied, because an in-memory table keeps the space of deleted rows. */
async function begin({ connection, run }: DuckDB, declared: string): Promise<DuckDBAppender> {
  await run(`create or replace table staged (${declared})`);
  return connection.createAppender('staged');
}
