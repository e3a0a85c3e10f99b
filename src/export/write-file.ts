import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
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
    return { path, rows, ...(await sizeOf(file)) };
  });
}

/** Returns the size and the checksum of a file. */
export async function sizeOf(path: string): Promise<Pick<WrittenFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}
