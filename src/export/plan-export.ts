import { isDeepStrictEqual } from 'node:util';
import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';
import { version } from '../package.ts';
import type { Snapshot } from '../warehouse/snapshot.ts';
import {
  countTotals,
  type ExportColumn,
  type ExportScope,
  exportColumns,
  type MonthState,
  readMonths,
  seriesColumn,
  type Totals,
} from '../warehouse/tables/export-rows.ts';
import { duckdbType } from './duckdb.ts';
import { type Manifest, monthOf, type WrittenFile } from './manifest.ts';

/** The rows to export. */
export interface ExportWish {
  readonly scope: ExportScope;
  /** With the mode `continue`: writes months that have changed since this moment, even if the manifest matches. */
  readonly since?: string | undefined;
  readonly stop: AbortSignal;
}

/** The months and rows that an export writes, and the totals that its files must have. */
export interface ExportPlan {
  readonly write: readonly MonthState[];
  /** Months (`YYYY-MM`) whose files stay as they are. */
  readonly kept: readonly string[];
  /** For the manifest. */
  readonly changedSince: string | null;
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
  const toWrite = monthsToWrite(months, scope, columnsOf({ columns }), held, from);
  const scores = columns.filter(({ type }) => type === 'double precision').map(({ name }) => name);
  const { write } = toWrite;
  const written = write.map(({ month }) => month);
  const totals = await countTotals(snapshot, scope, { columns, scores, months: written });
  const rows = write.reduce((sum, of) => sum + of.rows, 0);
  return { ...toWrite, columns, scores, series: seriesColumn(scope.table), totals, rows };
}

/**
 * Returns the months of an export to write: all months of a new export; of a continued one, those that differ from its manifest
 * or have changed since the requested moment.
 * @param months as the warehouse has them
 * @param held the export that is continued, if any
 * @param since the moment; without `held`, the new export contains only months that have changed since then
 */
function monthsToWrite(
  months: readonly MonthState[],
  scope: ExportScope,
  columns: Manifest['columns'],
  held: Manifest | undefined,
  since: string | undefined,
): Pick<ExportPlan, 'write' | 'kept' | 'changedSince'> {
  const isOther =
    !held ||
    !isDeepStrictEqual([held.columns, held.only, held.from], [columns, scope.only, scope.from ?? null]);
  if (isOther && (held || since === undefined)) return { write: months, kept: [], changedSince: null };
  const known = new Map(held?.months.map((month) => [month.month, month]));
  const changedSince = held ? held.changed_since : since!;
  // Days at the end of the period: some of their rows may be older than the existing export.
  const moved = held && held.to !== (scope.to ?? null) ? earlier(held.to, scope.to).slice(0, 7) : undefined;
  const isToWrite = ({ month, rows, fingerprint, isChanged }: MonthState) => {
    if (isChanged || (moved !== undefined && month >= moved)) return true;
    const before = known.get(month);
    return before ? before.rows !== rows || before.fingerprint !== fingerprint : changedSince === null;
  };
  const write = months.filter(isToWrite);
  const kept = months.filter((month) => !write.includes(month) && known.has(month.month));
  return { write, kept: kept.map(({ month }) => month), changedSince };
}

function earlier(...days: (string | null | undefined)[]): string {
  return days.filter((day) => day != null).toSorted()[0] ?? '';
}

/**
 * Returns the moment since which changed months are written even if the manifest matches: the requested one, but no later than
 * the moment of an export that began with only changed months, because its manifest lacks the others.
 */
function changesFrom(held: Manifest | undefined, since: string | undefined): string | undefined {
  const moments = [since, held?.changed_since ? held.exported_at : undefined];
  return moments.filter((at) => at !== undefined).sort(Temporal.Instant.compare)[0];
}

/** @throws ConfigError if the existing export is of other data, so that this one cannot continue it */
export function refuseOther(
  held: Manifest,
  place: string,
  wanted: Pick<Manifest, 'table' | 'format' | 'versions'>,
): void {
  const { as_of } = held;
  const [there, here] = [held, wanted].map(
    ({ table, format, versions }) => `${versions ? 'all versions of ' : ''}${table} as ${format}`,
  );
  if (there === here && as_of === null) return;
  const what = `${there}${as_of === null ? '' : ` as of ${as_of}`}`;
  throw new ConfigError(`${place} contains an export of ${what}, not of ${here}.`, {
    hint: 'Name another place with --out, or replace it with --overwrite.',
  });
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
