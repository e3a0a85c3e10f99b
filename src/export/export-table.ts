import { writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDB, openDuckDB } from '../duckdb.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import {
  countTotals,
  type ExportColumn,
  type ExportScope,
  exportColumns,
  inOneState,
  linesOf,
  seriesColumn,
  type Totals,
} from '../warehouse/tables/export-rows.ts';
import type { Snapshot } from '../warehouse/tables/run-check.ts';
import { checkFiles } from './check-files.ts';
import { type ExportFormat, withoutFormulas } from './duckdb.ts';
import { describeExport, type Manifest, manifestName } from './manifest.ts';
import { oneAhead } from './one-ahead.ts';
import { stageRows } from './stage-rows.ts';
import { makePartial, writable } from './target-folder.ts';
import { type WrittenFile, writeFile } from './write-file.ts';

export interface ExportContext {
  readonly warehouse: Warehouse;
  readonly scope: ExportScope;
  readonly format: ExportFormat;
  /** CSV only: whether texts that a spreadsheet would run as formulas get an apostrophe before them. */
  readonly defuseFormulas?: boolean;
  readonly out: string;
  readonly overwrite: boolean;
  /** The most rows of a file. */
  readonly rowsPerFile?: number;
  readonly stop: AbortSignal;
  /** Called with the rows read so far and the total. */
  readonly onRows?: (done: number, all: number) => void;
}

export interface Exported {
  /** Absolute path of the folder; `null` if there was nothing to export. */
  readonly out: string | null;
  readonly manifest: Manifest;
  readonly bytes: number;
  /** Country, ticker …: the column by which rows were counted. How many of its values, and how many months, have rows. */
  readonly seriesColumn: string;
  readonly series: number;
  readonly months: number;
}

/** Files of some 80 MB; until one is written, its rows need six times that on the disk. */
const usualRowsPerFile = 1_000_000;

/** How many rows are read at a time. */
const batchRows = 2000;

/**
 * Writes the rows of a table, as of one moment, to `out/month=…/part-N`: read through a cursor, staged as CSV, written file by
 * file, read again and compared, and only then renamed to `out`.
 * @throws ConfigError if `out` cannot be used, ExportNotWritten, ExportDiffers, WarehouseUnavailable; AbortError
 */
export async function exportTable(context: ExportContext): Promise<Exported> {
  const { warehouse, scope, format, out, overwrite, stop } = context;
  await using partial = await makePartial(out, overwrite);
  using duckdb = await openDuckDB(`${partial.path}-spill`, stop);
  const { plan, files, moment } = await inOneState(warehouse, stop, async (snapshot, moment) => {
    const plan = await planExport(snapshot, scope, stop);
    return { plan, files: await writeFiles(context, snapshot, plan, duckdb, partial.path), moment };
  }).catch((error) => {
    // A stopped statement also fails; report the stop instead.
    stop.throwIfAborted();
    throw namedDatabaseError(error);
  });
  const formulas_defused = format === 'csv' ? (context.defuseFormulas ?? false) : null;
  const manifest = describeExport(scope, plan, { format, formulas_defused, files, exported_at: moment });
  const { series, totals } = plan;
  const sizes = {
    seriesColumn: series,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    series: new Set(totals.map(({ series }) => series)).size,
    months: plan.months.length,
  };
  if (files.length === 0) return { out: null, manifest, ...sizes };
  const paths = files.map(({ path }) => join(partial.path, path));
  await checkFiles(duckdb, format, paths, plan);
  const described = `${JSON.stringify(manifest, null, 2)}\n`;
  await writable(() => writeText(join(partial.path, manifestName), described));
  stop.throwIfAborted();
  return { out: await partial.finish(), manifest, ...sizes };
}

async function writeFiles(
  { scope, format, defuseFormulas, stop, rowsPerFile = usualRowsPerFile, onRows }: ExportContext,
  snapshot: Snapshot,
  plan: ExportPlan,
  duckdb: DuckDB,
  root: string,
): Promise<WrittenFile[]> {
  const { columns, months, rows } = plan;
  const select = defuseFormulas ? { select: withoutFormulas(columns) } : {};
  const writer = { duckdb, columns, format, root, ...select };
  const read = { columns, atMost: Math.min(batchRows, rowsPerFile) };
  let done = 0;
  async function* batches(month: string) {
    for await (const lines of linesOf(snapshot, scope, month, read)) {
      stop.throwIfAborted();
      done += lines.length;
      onRows?.(done, rows);
      yield lines;
    }
  }
  async function* stagedParts() {
    for (const month of months) {
      const part = (n: number) => join(`month=${month}`, `part-${n}.${format}`);
      const pathOf = (n: number) => join(root, `_${month}-${n}.csv`);
      let n = 0;
      for await (const staged of stageRows(oneAhead(batches(month)), { pathOf, rowsPerFile }))
        yield { path: part(n++), staged };
    }
  }
  const files: WrittenFile[] = [];
  // PostgreSQL reads the rows of the next file while DuckDB writes one.
  for await (const { path, staged } of oneAhead(stagedParts()))
    files.push(await writeFile(writer, path, staged));
  return files;
}

/** What an export will hold, and the totals that its files must have. */
export interface ExportPlan {
  /** The columns of the table, which are those of the files. */
  readonly columns: readonly ExportColumn[];
  /** The columns whose sums are compared. */
  readonly scores: readonly string[];
  /** The column by which rows are counted, within each month. */
  readonly series: string;
  readonly totals: readonly Totals[];
  /** `YYYY-MM`, each of which becomes a folder. */
  readonly months: readonly string[];
  readonly rows: number;
}

/** Counts the rows to export, as the transaction sees them. */
async function planExport(snapshot: Snapshot, scope: ExportScope, stop: AbortSignal): Promise<ExportPlan> {
  const columns = await exportColumns(snapshot, scope);
  // A stop that has happened already would not end the long statement that follows.
  stop.throwIfAborted();
  const scores = columns.filter(({ type }) => type === 'double precision').map(({ name }) => name);
  const totals = await countTotals(snapshot, scope, scores);
  const months = [...new Set(totals.map(({ month }) => month))];
  const rows = totals.reduce((sum, of) => sum + of.rows, 0);
  return { columns, scores, series: seriesColumn(scope.table), totals, months, rows };
}

/** A sum in billionths as a number again. */
export function billionths(sum: bigint): number {
  return Number(sum) / 1e9;
}
