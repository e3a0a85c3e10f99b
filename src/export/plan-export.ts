import { join } from 'node:path';
import {
  columnsOf,
  type ExportColumn,
  type ExportScope,
  type Partition,
  type PartitionTotals,
  partitionColumn,
  partitionTotals,
} from '../warehouse/queries/export-rows.ts';
import type { Snapshot } from '../warehouse/queries/run-check.ts';
import { hiveFolder } from './quote.ts';

/** What an export will hold, and what it must come to. */
export interface ExportPlan {
  /** The columns of the files: all of the table but the one that is a folder. */
  readonly columns: readonly ExportColumn[];
  /** Those of them that are added up. */
  readonly scores: readonly string[];
  /** The columns that are folders, the outer one first. */
  readonly folders: readonly [series: string, month: string];
  readonly partitions: readonly PartitionTotals[];
  readonly rows: number;
}

/** Counts what there is to export, as of the transaction. */
export async function planExport(
  snapshot: Snapshot,
  scope: ExportScope,
  stop: AbortSignal,
): Promise<ExportPlan> {
  const series = partitionColumn(scope.table);
  const columns = (await columnsOf(snapshot, scope)).filter(({ name }) => name !== series);
  // The statement that may take long must not begin after the moment at which it would have been ended.
  stop.throwIfAborted();
  const scores = columns.filter(({ type }) => type === 'double precision').map(({ name }) => name);
  const partitions = await partitionTotals(snapshot, scope, scores);
  const rows = partitions.reduce((sum, partition) => sum + partition.rows, 0);
  return { columns, scores, folders: [series, 'month'], partitions, rows };
}

/** The folder of a partition within the export, such as `country=US/month=2025-01`. */
export function folderOf({ folders }: ExportPlan, { series, month }: Partition): string {
  return join(hiveFolder(folders[0], series), hiveFolder(folders[1], month));
}

/** A sum in billionths as a number again. */
export function billionths(sum: bigint): number {
  return Number(sum) / 1e9;
}
