import { literal, pathLiteral } from '../duckdb.ts';
import type { ExportColumn } from '../warehouse/tables/export-rows.ts';

/** The formats of the files of an export. */
export type FileFormat = 'parquet' | 'csv';

/**
 * DuckDB's type for a PostgreSQL type; JSON and unknown types stay text. So do UUIDs: Parquet stores them as 16 bytes, which
 * pandas cannot join with ids from SQL.
 */
const types: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'TIMESTAMPTZ',
  'double precision': 'DOUBLE',
  boolean: 'BOOLEAN',
  bigint: 'BIGINT',
  integer: 'INTEGER',
  date: 'DATE',
};

export function duckdbType({ type }: ExportColumn): string {
  return types[type] ?? 'VARCHAR';
}

/** The options of `copy … to` for each format. Without a temporary file, an existing file keeps its mode. */
export const writeOptions: Readonly<Record<FileFormat, string>> = {
  // Row groups of a third of the usual size: several are in memory at once, and a reader of one country can skip more of them.
  parquet: '(format parquet, compression zstd, row_group_size 40960, use_tmp_file false)',
  csv: `(format csv, header, delimiter ',', quote '"', escape '"', nullstr '', use_tmp_file false)`,
};

/**
 * Returns the call by which DuckDB reads the files back, with every type given: the columns of the files, and the month as
 * text.
 */
export function readFiles(
  format: FileFormat,
  files: readonly string[],
  columns: readonly ExportColumn[],
): string {
  return format === 'parquet'
    ? `read_parquet(${listOf(files)}, ${byMonth})`
    : readCsv(files, columns, { header: true, more: byMonth });
}

const byMonth = `hive_partitioning = true, hive_types = {'month': VARCHAR}`;

/** DuckDB's default for the longest line, in bytes. */
const usualLine = 2_097_152;

/** @param longest the most bytes that a line can have */
export function readCsv(
  files: readonly string[],
  columns: readonly ExportColumn[],
  { header, longest = 0, more }: { header: boolean; longest?: number; more?: string },
): string {
  const declared = columns
    .map((column) => `${literal(column.name)}: ${literal(duckdbType(column))}`)
    .join(', ');
  // An empty text is written as "", and a null as nothing. The line ending is set, too: even without auto_detect, DuckDB would
  // take it from the first line break that it finds, which may be within a text.
  const quoting = `delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false`;
  const dialect = `auto_detect = false, header = ${header}, ${quoting}`;
  const line = Math.max(longest, usualLine);
  const sizes = `max_line_size = ${line}, buffer_size = ${Math.max(line, 16 * usualLine)}`;
  return `read_csv(${[listOf(files), dialect, sizes, `columns = {${declared}}`, ...(more ? [more] : [])].join(', ')})`;
}

function listOf(files: readonly string[]): string {
  return `[${files.map(pathLiteral).join(', ')}]`;
}
