import { version } from '../package.ts';
import type { ExportScope } from '../warehouse/tables/export-rows.ts';
import { duckdbType, type ExportFormat } from './duckdb.ts';
import { billionths, type ExportPlan } from './export-table.ts';
import type { WrittenFile } from './write-file.ts';

/** The underscore makes pandas, pyarrow and Spark ignore the file. */
export const manifestName = '_manifest.json';

/** Describes an export to whoever finds the folder. */
export interface Manifest {
  readonly gmsi: string;
  readonly table: string;
  readonly format: ExportFormat;
  /** Whether texts that a spreadsheet would run as formulas have an apostrophe before them; `null` for Parquet. */
  readonly formulas_defused: boolean | null;
  /** When the table was read; `as_of` is the past moment that was asked for. */
  readonly exported_at: Date;
  readonly as_of: string | null;
  /** Days (UTC), as asked for; null means no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Which values columns were limited to. */
  readonly only: ExportScope['only'];
  readonly rows: number;
  /** Of each column of scores. */
  readonly sums: Readonly<Record<string, number>>;
  /** The column that is a folder. */
  readonly partitioned_by: readonly string[];
  /** Columns of the files with DuckDB's types, and then the one that is a folder. */
  readonly columns: Readonly<Record<string, string>>;
  readonly files: readonly WrittenFile[];
}

/** @param made what is as it stands in the manifest */
export function describeExport(
  scope: ExportScope,
  plan: ExportPlan,
  made: Pick<Manifest, 'format' | 'formulas_defused' | 'files' | 'exported_at'>,
): Manifest {
  const { table, from = null, to = null, asOf = null, only } = scope;
  const columns = plan.columns.map((column) => [column.name, duckdbType(column)]);
  return {
    ...{ ...made, gmsi: version, table: `gmsi.${table.name}`, as_of: asOf, from, to, only },
    ...{ rows: plan.rows, sums: sumsOf(plan), partitioned_by: ['month'] },
    columns: Object.fromEntries([...columns, ['month', 'VARCHAR']]),
  };
}

/** The sum of each column of scores over the whole export. */
function sumsOf({ scores, totals }: ExportPlan): Record<string, number> {
  const sum = (column: string) => totals.reduce((total, { sums }) => total + sums[column]!, 0n);
  return Object.fromEntries(scores.map((column) => [column, billionths(sum(column))]));
}
