import { version } from '../package.ts';
import type { Snapshot } from '../warehouse/snapshot.ts';
import {
  countTotals,
  type ExportColumn,
  type ExportScope,
  exportColumns,
  readMonths,
  seriesColumn,
  type Totals,
} from '../warehouse/tables/export-rows.ts';
import { duckdbType } from './duckdb.ts';
import { type Manifest, monthOf, type WrittenFile } from './manifest.ts';
import { changesFrom, type MonthsToWrite, monthsToWrite } from './months-to-write.ts';

/** The rows to export. */
export interface ExportWish {
  readonly scope: ExportScope;
  /** With the mode `continue`: writes months that have changed since this moment, even if the manifest matches. */
  readonly since?: string | undefined;
  readonly stop: AbortSignal;
}

/** The months and rows that an export writes, and the totals that its files must have. */
export interface ExportPlan extends MonthsToWrite {
  /** The columns of the table, which are those of the files. */
  readonly columns: readonly ExportColumn[];
  /** The columns whose sums are compared. */
  readonly scores: readonly string[];
  /** The column by which rows are counted, within each month. */
  readonly series: string;
  /** Of the months that are written. */
  readonly totals: readonly Totals[];
  readonly rows: number;
}

/** Decides which months to write and counts their rows, in one transaction. */
export async function planExport(
  snapshot: Snapshot,
  { scope, since, stop }: ExportWish,
  held: Manifest | undefined,
): Promise<ExportPlan> {
  const columns = await exportColumns(snapshot, scope);
  // An earlier stop would not end the long statement below.
  stop.throwIfAborted();
  const from = changesFrom(held, since);
  const months = await readMonths(snapshot, scope, { columns, since: from });
  stop.throwIfAborted();
  const toWrite = monthsToWrite(months, { scope, columns: columnsOf({ columns }), held, since: from });
  const scores = columns.filter(({ type }) => type === 'double precision').map(({ name }) => name);
  const { write } = toWrite;
  const written = write.map(({ month }) => month);
  const totals = await countTotals(snapshot, scope, { columns, scores, months: written });
  const rows = write.reduce((sum, of) => sum + of.rows, 0);
  return { ...toWrite, columns, scores, series: seriesColumn(scope.table), totals, rows };
}

/**
 * Returns the manifest of a finished export.
 * @param held the manifest of the export that is continued, if any
 * @param files that were written
 */
export function describeExport(
  scope: ExportScope,
  plan: ExportPlan,
  held: Manifest | undefined,
  made: { format: Manifest['format']; files: readonly WrittenFile[]; exportedAt: string },
): Manifest {
  const { table, from = null, to = null, asOf = null, versions, only } = scope;
  const keeps = (month: string) => plan.kept.includes(month);
  const written = plan.write.map(({ month, rows, fingerprint }) => ({ month, rows, fingerprint }));
  const months = [...written, ...(held?.months.filter(({ month }) => keeps(month)) ?? [])];
  const files = [...made.files, ...(held?.files.filter(({ path }) => keeps(monthOf(path))) ?? [])];
  return {
    gmsi: version,
    table: `gmsi.${table.name}`,
    format: made.format,
    complete: true,
    exported_at: made.exportedAt,
    as_of: asOf,
    versions,
    continues: held?.exported_at ?? null,
    changed_since: plan.changedSince,
    from,
    to,
    only: Object.fromEntries(Object.entries(only).map(([name, of]) => [name, [...of]])),
    rows: months.reduce((sum, { rows }) => sum + rows, 0),
    partitioned_by: ['month'],
    columns: columnsOf(plan),
    months: months.toSorted((a, b) => (a.month < b.month ? -1 : 1)),
    files: sorted(files),
    changed: sorted(changedFiles(made.files, files, held?.files ?? [])),
  };
}

function sorted<One extends Pick<WrittenFile, 'path'>>(files: readonly One[]): One[] {
  return files.toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}

/**
 * Returns the files that are new or differ from those of the export before, and the removed ones.
 * @param written those of `files` that were written now
 * @param held all files of the export before
 */
function changedFiles(
  written: readonly WrittenFile[],
  files: readonly WrittenFile[],
  held: readonly WrittenFile[],
): Manifest['changed'] {
  const before = new Map(held.map(({ path, ...file }) => [path, file]));
  const paths = new Set(files.map(({ path }) => path));
  const others = written.filter(({ path, sha256 }) => before.get(path)?.sha256 !== sha256);
  return [...others, ...held.filter(({ path }) => !paths.has(path))].map(({ path }) => ({
    path,
    before: before.get(path) ?? null,
  }));
}

export function columnsOf({ columns }: Pick<ExportPlan, 'columns'>): Record<string, string> {
  const ofFiles = columns.map((column) => [column.name, duckdbType(column)]);
  return Object.fromEntries([...ofFiles, ['month', 'VARCHAR']]);
}
