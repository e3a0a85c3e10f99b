import type { ExportColumn } from '../warehouse/queries/export-rows.ts';
import type { ExportPlan } from './plan-export.ts';
import { literal } from './quote.ts';

export type ExportFormat = 'parquet' | 'csv';

/** DuckDB's type for what PostgreSQL declares; JSON and whatever else somebody has added stay text. */
const types: Readonly<Record<string, string>> = {
  uuid: 'UUID',
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

/** How DuckDB writes a file of each format, after `copy … to`. */
export const writeOptions: Readonly<Record<ExportFormat, string>> = {
  parquet: '(format parquet, compression zstd)',
  csv: `(format csv, header, delimiter ',', quote '"', escape '"', nullstr '')`,
};

/** What DuckDB reads the files back with, nothing guessed: the columns in them, and the folders as text. */
export function readFiles(
  format: ExportFormat,
  files: readonly string[],
  { columns, folders }: Pick<ExportPlan, 'columns' | 'folders'>,
): string {
  const list = `[${files.map(literal).join(', ')}]`;
  const hive = `hive_partitioning = true, hive_types = {${folders.map((folder) => `${literal(folder)}: VARCHAR`).join(', ')}}`;
  if (format === 'parquet') return `read_parquet(${list}, ${hive})`;
  const declared = columns
    .map((column) => `${literal(column.name)}: ${literal(duckdbType(column))}`)
    .join(', ');
  // An empty text is written as "", and only what is not there as nothing at all.
  const dialect = `auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false`;
  return `read_csv(${list}, ${dialect}, columns = {${declared}}, ${hive})`;
}
