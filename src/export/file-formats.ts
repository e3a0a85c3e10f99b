import type { ExportColumn } from '../warehouse/queries/export-rows.ts';
import type { ExportPlan } from './plan-export.ts';
import { identifier, literal } from './quote.ts';

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

/** What spreadsheets take for the beginning of a formula, in their full width as well; a line break and a tab may precede it. */
const formulaSigns = [...'=+-@＝＋－＠\t\r\n'];

/** A table with an apostrophe before each text, and each column's name, that a spreadsheet would run as a formula. */
export function withoutFormulas(columns: readonly ExportColumn[]): (table: string) => string {
  const signs = formulaSigns.map((sign) => `chr(${sign.codePointAt(0)})`).join(', ');
  const selected = columns.map((column) => {
    const value = identifier(column.name);
    const isText = duckdbType(column) === 'VARCHAR';
    const defused = isText
      ? `case when left(${value}, 1) in (${signs}) then '''' || ${value} else ${value} end`
      : value;
    const name = formulaSigns.includes(column.name[0]!) ? `'${column.name}` : column.name;
    return `${defused} as ${identifier(name)}`;
  });
  return (table) => `(select ${selected.join(', ')} from ${table})`;
}
