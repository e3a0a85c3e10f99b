import { join } from 'node:path';
import { version } from '../package.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import { type ExportScope, inOneState, rowsOf } from '../warehouse/queries/export-rows.ts';
import type { Snapshot } from '../warehouse/queries/run-check.ts';
import { checkFiles } from './check-files.ts';
import { type ExportFormat, withoutFormulas } from './file-formats.ts';
import { describeExport, type Manifest, writeManifest } from './manifest.ts';
import { type DuckDB, openDuckDB } from './open-duckdb.ts';
import { type ExportPlan, folderOf, planExport } from './plan-export.ts';
import { chunkRows, createStage } from './stage-rows.ts';
import { makePartial } from './target-folder.ts';
import { type WrittenFile, writePartition } from './write-partition.ts';

export interface ExportContext {
  readonly warehouse: Warehouse;
  readonly scope: ExportScope;
  readonly format: ExportFormat;
  /** Only of CSV: whether texts that a spreadsheet would run as formulas get an apostrophe before them. */
  readonly defuseFormulas?: boolean;
  readonly out: string;
  /** Whether an export that stands there is replaced. */
  readonly overwrite: boolean;
  /** The most rows of a file: as many are in memory at a time. */
  readonly rowsPerFile?: number;
  readonly stop: AbortSignal;
  /** Told the rows read so far, and all that there are. */
  readonly onRows?: (done: number, all: number) => void;
}

export interface Exported {
  /** Absolute path of the folder; `null` where there was nothing to export, and none was made. */
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
 * Writes what a table holds, all of one moment, to `out/country=…/month=…/part-N`: read through a cursor, staged in
 * DuckDB, written file by file, read again and compared, and only then renamed to `out`.
 * @throws ConfigError where `out` will not do, ExportNotWritten, ExportDiffers, WarehouseUnavailable; AbortError
 */
export async function exportTable(context: ExportContext): Promise<Exported> {
  const { warehouse, scope, format, out, overwrite, stop } = context;
  await using partial = await makePartial(out, overwrite);
  using duckdb = await openDuckDB(`${partial.path}-spill`, stop);
  const { plan, files, moment } = await inOneState(warehouse, stop, async (snapshot, moment) => {
    const plan = await planExport(snapshot, scope, stop);
    return { plan, files: await writeFiles(context, { snapshot, plan, duckdb, root: partial.path }), moment };
  }).catch((error) => {
    // A statement that was stopped fails, too.
    stop.throwIfAborted();
    throw namedDatabaseError(error);
  });
  const formulas_defused = format === 'csv' ? (context.defuseFormulas ?? false) : null;
  const made = { scope, plan, format, formulas_defused, files, exported_at: moment, gmsi: version };
  const manifest = describeExport(made);
  const { partitions } = plan;
  const sizes = {
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    series: new Set(partitions.map(({ series }) => series)).size,
    months: new Set(partitions.map(({ month }) => month)).size,
  };
  if (files.length === 0) return { out: null, manifest, ...sizes };
  const paths = files.map(({ path }) => join(partial.path, path));
  await checkFiles(duckdb, { format, paths }, plan);
  await writeManifest(partial.path, manifest);
  stop.throwIfAborted();
  return { out: await partial.finish(), manifest, ...sizes };
}

interface Writing {
  readonly snapshot: Snapshot;
  readonly plan: ExportPlan;
  readonly duckdb: DuckDB;
  readonly root: string;
}

async function writeFiles(context: ExportContext, writing: Writing): Promise<WrittenFile[]> {
  const { scope, format, defuseFormulas, stop, rowsPerFile = usualRowsPerFile, onRows = () => {} } = context;
  const { snapshot, plan, duckdb, root } = writing;
  const writer = {
    ...{ duckdb, stage: createStage(duckdb, plan.columns), format, root, rowsPerFile },
    ...(defuseFormulas && { select: withoutFormulas(plan.columns) }),
  };
  const read = {
    columns: plan.columns.map(({ name }) => name),
    atMost: Math.min(chunkRows, rowsPerFile),
  };
  let done = 0;
  const onBatch = (rows: number) => {
    stop.throwIfAborted();
    done += rows;
    onRows(done, plan.rows);
  };
  const files: WrittenFile[] = [];
  for (const partition of plan.partitions) {
    const batches = watched(rowsOf(snapshot, scope, partition, read), onBatch);
    files.push(...(await writePartition(writer, folderOf(plan, partition), batches)));
  }
  return files;
}

async function* watched<Row>(batches: AsyncIterable<Row[]>, onBatch: (rows: number) => void) {
  for await (const batch of batches) {
    onBatch(batch.length);
    yield batch;
  }
}
