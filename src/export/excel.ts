import { lstat, realpath, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type DuckDB, identifier, literal } from '../duckdb.ts';
import { ConfigError } from '../errors.ts';
import { formulaStart, withoutFormulas } from '../formulas.ts';
import type { ExportColumn } from '../warehouse/tables/export-rows.ts';
import { duckdbType, readFiles, writeOptions } from './duckdb.ts';
import type { WrittenFile } from './manifest.ts';
import { ExportNotWritten, type ExportTarget, type OpenMode, writable } from './target.ts';
import { makeBeside, unusable } from './target-folder.ts';
import { makeFile, sizeOf } from './write-file.ts';

/** The most rows that Excel opens, minus the one with column names. */
const mostRows = 1_048_575;

/** @throws ConfigError if Excel would not open all rows */
export function refuseTooLong(rows: number): void {
  if (rows <= mostRows) return;
  const [found, most] = [rows, mostRows].map((count) => count.toLocaleString('en-US'));
  throw new ConfigError(`The export has ${found} rows, but Excel opens at most ${most} of a file.`, {
    hint: 'Export fewer days (--from, --to), countries or topics, or use --format parquet or csv, which have no such limit.',
  });
}

const sheetName = 'sheet.csv';

/**
 * Merges CSV files into one that Excel opens correctly: a byte-order mark, without which Excel does not read UTF-8; times (UTC)
 * in a form that Excel recognizes; no formulas in texts and column names.
 * @param root the folder of the target, which gets the file
 * @throws ExportNotWritten unless it has this many rows
 */
export async function writeSheet(
  duckdb: DuckDB,
  root: string,
  paths: readonly string[],
  { columns, rows }: { readonly columns: readonly ExportColumn[]; readonly rows: number },
): Promise<WrittenFile> {
  const shown = (column: ExportColumn) => {
    const value = identifier(column.name);
    const type = duckdbType(column);
    if (type === 'TIMESTAMPTZ') return `strftime(${value}, '%Y-%m-%d %H:%M:%S')`;
    if (type !== 'VARCHAR') return value;
    return `regexp_replace(${value}, ${literal(formulaStart)}, '\\1''\\2', 'g')`;
  };
  const selected = columns.map((column, n) => {
    const name = withoutFormulas(column.name);
    // The mark is part of the first column name, which needs no quotes, so the file begins with it.
    return `${shown(column)} as ${identifier(n === 0 ? `\uFEFF${name}` : name)}`;
  });
  const file = await writable(() => makeFile(root, sheetName));
  const query = `select ${selected.join(', ')} from ${readFiles('csv', paths, columns)}`;
  const [copied] = await writable(() =>
    duckdb.run(`copy (${query}) to ${literal(file)} ${writeOptions.csv}`),
  );
  if (Number(copied!.Count) !== rows)
    throw new ExportNotWritten(`The file for Excel has ${copied!.Count} rows, the warehouse ${rows}.`, {
      hint: 'Nothing was kept. Run it again.',
    });
  return { path: sheetName, rows, ...(await sizeOf(file)) };
}

/** Begins an export to one file. @throws ConfigError if the file exists and may not be replaced */
export async function openSheet(out: string, mode: OpenMode): Promise<ExportTarget> {
  const there = await lstat(out).catch(() => undefined);
  const isFile = there && !(await lstat(await realpath(out))).isDirectory();
  if (there && !(isFile && mode === 'replace'))
    throw new ConfigError(`${isFile ? 'The file' : 'The folder'} ${out} already exists.`, {
      hint: `Name another file with --out${isFile ? ', or add --overwrite to replace it' : ''}.`,
    });
  const target = isFile ? await realpath(out) : resolve(out);
  const { path, [Symbol.asyncDispose]: remove } = await makeBeside(target, out);
  return {
    place: target,
    path,
    held: undefined,
    async publish() {
      await rename(join(path, sheetName), target).catch((cause) => {
        throw unusable(out, cause);
      });
    },
    [Symbol.asyncDispose]: remove,
  };
}
