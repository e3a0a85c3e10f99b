import { join, resolve } from 'node:path';
import { type DuckDB, openDuckDB } from '../duckdb.ts';
import { ConfigError } from '../errors.ts';
import { oneAhead } from '../one-ahead.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import type { Snapshot } from '../warehouse/snapshot.ts';
import { inOneState, linesOf } from '../warehouse/tables/export-rows.ts';
import { claimPlace } from '../warehouse/turns.ts';
import { checkFiles } from './check-files.ts';
import type { FileFormat } from './duckdb.ts';
import { openSheet, refuseTooLong, writeSheet } from './excel.ts';
import type { Manifest, WrittenFile } from './manifest.ts';
import { describeExport, type ExportPlan, type ExportWish, planExport, refuseOther } from './plan-export.ts';
import { stageRows } from './stage-rows.ts';
import { ExportNotWritten, type ExportTarget, type OpenMode } from './target.ts';
import { openFolder } from './target-folder.ts';
import type { StorageSettings } from './target-s3.ts';
import { writeFile } from './write-file.ts';

/** `excel` is a single CSV file instead of one a month. */
export type ExportFormat = FileFormat | 'excel';

export interface ExportContext extends ExportWish {
  readonly warehouse: Warehouse;
  readonly format: ExportFormat;
  /** A folder, or an address such as `s3://bucket/folder`; for Excel, a file. */
  readonly out: string;
  /** For an `s3://` address. */
  readonly storage: StorageSettings;
  readonly mode: OpenMode;
  /** The most rows of a file. */
  readonly rowsPerFile?: number;
  /** Called with the rows read so far and the total. */
  readonly onRows?: (done: number, all: number) => void;
}

export interface Exported {
  /** The place of the export; `null` if there was nothing to export. */
  readonly out: string | null;
  /** Of the whole export, including months that were written before. */
  readonly manifest: Manifest;
  /** Rows, months, and values of the series' first column (country, ticker …) that were written now. */
  readonly written: { readonly rows: number; readonly months: number; readonly series: number };
}

/** Makes files of about 80 MB. Until a file is written, its rows need six times as much space on the disk. */
const usualRowsPerFile = 1_000_000;

/** How many rows are read at a time. */
const batchRows = 2000;

/**
 * Writes the rows of a table to `out/month=…/part-N`. Reads the rows through a cursor in one transaction, stages them as CSV,
 * writes file by file, reads the files again to compare them, and only then puts them in place. If it continues an export, it
 * writes only months that have changed.
 * @throws ConfigError if `out` cannot be used, ExportNotWritten, WarehouseUnavailable; AbortError
 */
export async function exportTable(context: ExportContext): Promise<Exported> {
  const { warehouse, scope, out, stop } = context;
  const format = fileFormat(context.format);
  // Without this, the older of two simultaneous exports could overwrite files of the younger one.
  await using claimed = await claimPlace(warehouse, isS3(out) ? out : resolve(out));
  if (!claimed.isOurs)
    throw new ExportNotWritten(`Another export to ${out} is running.`, {
      hint: 'Run it again when that export has ended.',
    });
  await using target = await openTarget(context);
  const { held } = target;
  const { versions } = scope;
  if (held) refuseOther(held, out, { table: `gmsi.${scope.table.name}`, format, versions });
  using duckdb = await openDuckDB(`${target.path}-spill`, stop);
  const { plan, files, moment } = await inOneState(warehouse, stop, async (snapshot, moment) => {
    const plan = await planExport(snapshot, context, held);
    if (context.format === 'excel') refuseTooLong(plan.rows);
    return { plan, files: await writeFiles(context, snapshot, plan, duckdb, target.path), moment };
  }).catch((error) => {
    // A stopped statement fails, too: report the stop, not its error.
    stop.throwIfAborted();
    throw namedDatabaseError(error);
  });
  const manifest = describeExport(scope, plan, held, { format, files, exportedAt: moment });
  const series = new Set(plan.totals.map(({ series }) => series)).size;
  const written = { rows: plan.rows, months: plan.write.length, series };
  if (files.length === 0 && !held) return { out: null, manifest, written };
  const isSame = held?.complete && files.length === 0 && held.months.length === plan.kept.length;
  if (isSame) return { out: target.place, manifest: { ...held, changed: [] }, written };
  const paths = files.map(({ path }) => join(target.path, path));
  if (paths.length > 0) await checkFiles(duckdb, format, paths, plan);
  const published =
    context.format === 'excel'
      ? { ...manifest, files: [await writeSheet(duckdb, target.path, paths, plan)], changed: [] }
      : manifest;
  stop.throwIfAborted();
  // Another export may have begun if the session has ended.
  await claimed.confirm().catch((error) => {
    throw namedDatabaseError(error);
  });
  await target.publish(published);
  return { out: target.place, manifest: published, written };
}

async function openTarget(context: ExportContext): Promise<ExportTarget> {
  const { format, out, mode } = context;
  if (format === 'excel' && isS3(out))
    throw new ConfigError('--excel writes a file on this machine.', {
      hint: `Name a file with --out, not ${out}.`,
    });
  if (format === 'excel') return openSheet(out, mode);
  if (!isS3(out)) return openFolder(out, mode);
  // Loaded only here, because it is a large library.
  const { openS3 } = await import('./target-s3.ts');
  return openS3(context);
}

function isS3(out: string): boolean {
  return /^s3:/i.test(out);
}

function fileFormat(format: ExportFormat): FileFormat {
  return format === 'excel' ? 'csv' : format;
}

async function writeFiles(
  { scope, format, stop, rowsPerFile = usualRowsPerFile, onRows }: ExportContext,
  snapshot: Snapshot,
  { columns, write, rows }: ExportPlan,
  duckdb: DuckDB,
  root: string,
): Promise<WrittenFile[]> {
  const writer = { duckdb, columns, format: fileFormat(format), root };
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
    for (const { month } of write) {
      const part = (n: number) => `month=${month}/part-${n}.${writer.format}`;
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
