import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DuckDB, literal } from '../duckdb.ts';
import type { ExportColumn } from '../warehouse/tables/export-rows.ts';
import { type FileFormat, readCsv, writeOptions } from './duckdb.ts';
import type { WrittenFile } from './manifest.ts';
import type { Staged } from './stage-rows.ts';
import { writable } from './target.ts';

/** What writing a file needs. */
export interface FileWriter {
  readonly duckdb: DuckDB;
  readonly columns: readonly ExportColumn[];
  readonly format: FileFormat;
  /** The folder of the export. */
  readonly root: string;
}

/** Writes staged rows into a file of the export, and removes them. */
export async function writeFile(
  { duckdb, columns, format, root }: FileWriter,
  path: string,
  { path: from, rows, longest }: Staged,
): Promise<WrittenFile> {
  const file = join(root, path);
  const staged = readCsv([from], columns, { header: false, longest });
  return writable(async () => {
    await mkdir(dirname(file), { recursive: true });
    await duckdb.run(`copy (select * from ${staged}) to ${literal(file)} ${writeOptions[format]}`);
    await rm(from);
    const { size } = await stat(file);
    return { path, rows, bytes: size };
  });
}
