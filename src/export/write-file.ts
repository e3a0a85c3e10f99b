import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDB, literal } from '../duckdb.ts';
import type { ExportColumn } from '../warehouse/tables/export-rows.ts';
import { type FileFormat, readCsv, writeOptions } from './duckdb.ts';
import type { WrittenFile } from './manifest.ts';
import type { Staged } from './stage-rows.ts';
import { writable } from './target.ts';

/** Writes staged rows into a file of the export, whose folder is `root`, and removes them. */
export async function writeFile(
  to: { duckdb: DuckDB; columns: readonly ExportColumn[]; format: FileFormat; root: string },
  path: string,
  { path: from, rows, longest }: Staged,
): Promise<WrittenFile> {
  const staged = readCsv([from], to.columns, { header: false, longest });
  return writable(async () => {
    const file = await makeFile(to.root, path);
    await to.duckdb.run(`copy (select * from ${staged}) to ${literal(file)} ${writeOptions[to.format]}`);
    await rm(from);
    return { path, rows, ...(await sizeOf(file)) };
  });
}

/**
 * Creates an empty file, and the folders for it, which can be read by those who may read the folder of the export: an export
 * contains licensed data.
 */
export async function makeFile(root: string, path: string): Promise<string> {
  const mode = (await stat(root)).mode & 0o777;
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true, mode });
  await (await open(file, 'w', mode & 0o666)).close();
  return file;
}

/** Returns the size and the checksum of a file. */
export async function sizeOf(path: string): Promise<Pick<WrittenFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}
