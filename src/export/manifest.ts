import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { version } from '../package.ts';
import type { ExportScope, MonthState, Totals } from '../warehouse/tables/export-rows.ts';
import { duckdbType } from './duckdb.ts';
import { billionths, type ExportPlan } from './export-table.ts';
import type { WrittenFile } from './write-file.ts';

/** The underscore makes pandas, pyarrow and Spark ignore the file. */
export const manifestName = '_manifest.json';

/** The path of a file within an export; nothing else is ever replaced or removed. */
export const filePath = /^month=(\d{4,}-\d{2})\/part-\d+\.(parquet|csv)$/;

const number = z.number().nonnegative();
const text = z.string();

const manifest = z.object({
  gmsi: text,
  table: text,
  format: z.enum(['parquet', 'csv']),
  /** False while files are replaced one by one, in a storage that cannot replace all of them at once. */
  complete: z.boolean(),
  /** When the table was read; `as_of` is the past moment that was asked for. */
  exported_at: z.iso.datetime(),
  as_of: text.nullable(),
  /** Set if the export began with only the months that had changed since then. */
  changed_since: text.nullable(),
  /** Days (UTC), as asked for; null means no bound. */
  from: text.nullable(),
  to: text.nullable(),
  /** Which values columns were limited to. */
  only: z.record(text, z.array(text)),
  rows: number,
  /** Of each column of scores. */
  sums: z.record(text, z.number()),
  /** The column that is a folder. */
  partitioned_by: z.array(text),
  /** Columns of the files with DuckDB's types, and then the one that is a folder. */
  columns: z.record(text, text),
  /** The fingerprint is that of `MonthState`; empty if the files of the month are not known to be whole. */
  months: z.array(
    z.object({ month: text, rows: number, sums: z.record(text, z.number()), fingerprint: text }),
  ),
  files: z.array(z.object({ path: text.regex(filePath), rows: number, bytes: number })),
});

/** Describes an export to whoever finds it, and to the export that follows. */
export type Manifest = Readonly<z.output<typeof manifest>>;

/**
 * Reads the manifest of an export that is to be continued. Months whose files are not all as it says lose their fingerprint.
 * @param bytes of each file that is there, by its path
 * @throws ConfigError if this version cannot continue it
 */
export function readManifest(
  json: string,
  place: string,
  bytes: ReadonlyMap<string, number | undefined>,
): Manifest {
  const { data } = manifest.safeParse(parsed(json));
  if (!data)
    throw new ConfigError(`${place} holds an export that this version of gmsi cannot continue.`, {
      hint: 'Replace it once with --overwrite.',
    });
  const broken = new Set(
    data.files.filter((file) => bytes.get(file.path) !== file.bytes).map(({ path }) => monthOf(path)),
  );
  const months = data.months.map((month) =>
    broken.has(month.month) ? { ...month, fingerprint: '' } : month,
  );
  return { ...data, months };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

export function writeManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The month of a file. */
export function monthOf(path: string): string {
  return filePath.exec(path)![1]!;
}

/**
 * The manifest of an export after its plan is carried out.
 * @param held of the export that is continued, if one is
 * @param files that were written
 */
export function describeExport(
  scope: ExportScope,
  plan: ExportPlan,
  held: Manifest | undefined,
  made: { format: Manifest['format']; files: readonly WrittenFile[]; exportedAt: Date },
): Manifest {
  const { table, from = null, to = null, asOf = null, only } = scope;
  const keeps = (month: string) => plan.kept.includes(month);
  const written = plan.write.map((state) => describeMonth(state, plan));
  const months = [...written, ...(held?.months.filter(({ month }) => keeps(month)) ?? [])];
  const files = [...made.files, ...(held?.files.filter(({ path }) => keeps(monthOf(path))) ?? [])];
  return {
    ...{ gmsi: version, table: `gmsi.${table.name}`, format: made.format, complete: true },
    ...{ exported_at: made.exportedAt.toISOString(), as_of: asOf, changed_since: plan.changedSince },
    ...{ from, to, only: Object.fromEntries(Object.entries(only).map(([name, of]) => [name, [...of]])) },
    ...{ rows: months.reduce((sum, { rows }) => sum + rows, 0), sums: sumsOf(months) },
    ...{ partitioned_by: ['month'], columns: columnsOf(plan) },
    months: months.toSorted((a, b) => (a.month < b.month ? -1 : 1)),
    files: files.toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true })),
  };
}

export function columnsOf({ columns }: Pick<ExportPlan, 'columns'>): Record<string, string> {
  const ofFiles = columns.map((column) => [column.name, duckdbType(column)]);
  return Object.fromEntries([...ofFiles, ['month', 'VARCHAR']]);
}

function describeMonth({ month, rows, fingerprint }: MonthState, { scores, totals }: ExportPlan) {
  const own = totals.filter((of: Totals) => of.month === month);
  const sum = (column: string) => billionths(own.reduce((total, { sums }) => total + sums[column]!, 0n));
  return {
    month,
    rows,
    sums: Object.fromEntries(scores.map((column) => [column, sum(column)])),
    fingerprint,
  };
}

/** The sum of each column of scores over the whole export, without the noise that adding in binary brings. */
function sumsOf(months: Manifest['months']): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const month of months)
    for (const [column, sum] of Object.entries(month.sums)) sums[column] = (sums[column] ?? 0) + sum;
  return Object.fromEntries(Object.entries(sums).map(([column, sum]) => [column, Number(sum.toFixed(9))]));
}
