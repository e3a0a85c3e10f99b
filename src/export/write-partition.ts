import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TextRow } from '../warehouse/queries/export-rows.ts';
import { writable } from './errors.ts';
import { type ExportFormat, writeOptions } from './file-formats.ts';
import type { DuckDB } from './open-duckdb.ts';
import { literal } from './quote.ts';
import type { Stage } from './stage-rows.ts';

/** A file, by its path within the export. */
export interface WrittenFile {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
}

/** What files are written with. */
export interface PartWriter {
  readonly duckdb: DuckDB;
  readonly stage: Stage;
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
