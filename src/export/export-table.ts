import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import {
  type ExportColumn,
  type ExportScope,
  exportColumns,
  inOneState,
  type Partition,
  type PartitionTotals,
  partitionColumn,
  partitionTotals,
  rowsOf,
} from '../warehouse/tables/export-rows.ts';
import type { Snapshot } from '../warehouse/tables/run-check.ts';
import { checkFiles } from './check-files.ts';
import { type DuckDB, type ExportFormat, hiveFolder, openDuckDB, withoutFormulas } from './duckdb.ts';
import { describeExport, type Manifest, manifestName } from './manifest.ts';
import { makePartial, writable } from './target-folder.ts';
import { chunkRows, createStage, type WrittenFile, writePartition } from './write-partition.ts';

export interface ExportContext {
  readonly warehouse: Warehouse;
  readonly scope: ExportScope;
  readonly format: ExportFormat;
  /** CSV only: whether texts that a spreadsheet would run as formulas get an apostrophe before them. */
  readonly defuseFormulas?: boolean;
  readonly out: string;
  readonly overwrite: boolean;
  /** The most rows of a file, which are all in memory at once. */
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
  /** How many countries (or tickers …) and months have rows. */
  readonly series: number;
  readonly months: number;
}

/** Some 500 MB of memory with texts as long as usual, and files of 5 to 20 MB. */
const usualRowsPerFile = 100_000;

/**
 * Writes the rows of a table, as of one moment, to `out/country=…/month=…/part-N`: read through a cursor, staged in DuckDB,
 * written file by file, read again and compared, and only then renamed to `out`.
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
  const { partitions } = plan;
  const sizes = {
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    series: new Set(partitions.map(({ series }) => series)).size,
    months: new Set(partitions.map(({ month }) => month)).size,
  };
  if (files.length === 0) return { out: null, manifest, ...sizes };
  const paths = files.map(({ path }) => join(partial.path, path));
  await checkFiles(duckdb, format, paths, plan);
  const described = `${JSON.stringify(manifest, null, 2)}\n`;
  await writable(() => writeFile(join(partial.path, manifestName), described));
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
  let done = 0;
  const writer = {
    ...{ duckdb, stage: createStage(duckdb, plan.columns), format, root, rowsPerFile },
    ...(defuseFormulas && { select: withoutFormulas(plan.columns) }),
    onBatch(rows: number) {
      stop.throwIfAborted();
      done += rows;
      onRows?.(done, plan.rows);
    },
  };
  const read = {
    columns: plan.columns.map(({ name }) => name),
    atMost: Math.min(chunkRows, rowsPerFile),
  };
  const files: WrittenFile[] = [];
  for (const partition of plan.partitions) {
    const batches = rowsOf(snapshot, scope, partition, read);
    files.push(...(await writePartition(writer, folderOf(plan, partition), batches)));
  }
  return files;
}

/** What an export will hold, and the totals that its files must have. */
export interface ExportPlan {
  /** The columns of the files: all columns of the table except those that are folders. */
  readonly columns: readonly ExportColumn[];
  /** The columns whose sums are compared. */
  readonly scores: readonly string[];
  /** The columns that are folders, the outer one first. */
  readonly folders: readonly [series: string, month: string];
  readonly partitions: readonly PartitionTotals[];
  readonly rows: number;
}

/** Counts the rows to export, as the transaction sees them. */
async function planExport(snapshot: Snapshot, scope: ExportScope, stop: AbortSignal): Promise<ExportPlan> {
  const series = partitionColumn(scope.table);
  const columns = (await exportColumns(snapshot, scope)).filter(({ name }) => name !== series);
  // A stop that has happened already would not end the long statement that follows.
  stop.throwIfAborted();
  const scores = columns.filter(({ type }) => type === 'double precision').map(({ name }) => name);
  const partitions = await partitionTotals(snapshot, scope, scores);
  const rows = partitions.reduce((sum, partition) => sum + partition.rows, 0);
  return { columns, scores, folders: [series, 'month'], partitions, rows };
}

/** The folder of a partition within the export, such as `country=US/month=2025-01`. */
function folderOf({ folders }: ExportPlan, { series, month }: Partition): string {
  return join(hiveFolder(folders[0], series), hiveFolder(folders[1], month));
}

/** A sum in billionths as a number again. */
export function billionths(sum: bigint): number {
  return Number(sum) / 1e9;
}
