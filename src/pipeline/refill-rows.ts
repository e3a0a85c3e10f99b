import { beat } from '../warehouse/queries/loads.ts';
import { rowsToRefill, type StoredRow, writeRefilled } from '../warehouse/queries/refill.ts';
import { writeTransaction } from '../warehouse/write-transaction.ts';
import type { Replay } from './replay.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';
import { withWriteRetries } from './write-retries.ts';

/** Fills empty columns of a feed's rows from what their `extra` holds. */
export async function refillRows(run: Replay): Promise<void> {
  const { warehouse, feed, scope, reader, stop, batchSize } = run;
  const selection = { fields: reader.knownFields, scope };
  let last: StoredRow | undefined;
  while (!stop.aborted) {
    const batch = await withWarehouseRetries(() =>
      rowsToRefill(warehouse, feed.table, selection, last, batchSize),
    );
    if (batch.length === 0) return;
    last = batch.at(-1);
    await refillBatch(run, batch);
    run.onBatch?.(run.counts);
  }
}

async function refillBatch(run: Replay, batch: readonly StoredRow[]): Promise<void> {
  const { counts, totals, reader, dryRun } = run;
  const refilled: StoredRow[] = [];
  for (const row of batch) {
    const result = reader.refill(row);
    if (result.outcome === 'another identity') counts.rowsOfAnotherIdentity++;
    if (result.outcome !== 'refilled') continue;
    refilled.push(result.row);
    for (const column of result.filled) {
      counts.columnsFilled[column] = (counts.columnsFilled[column] ?? 0) + 1;
    }
  }
  if (refilled.length === 0) return;
  const written = dryRun ? refilled.length : await write(run, refilled);
  counts.rowsFilled += written;
  totals.rows_changed += written;
}

async function write(
  { warehouse, feed, totals, loadId: beginLoad, log }: Replay,
  rows: readonly StoredRow[],
): Promise<number> {
  const loadId = await beginLoad();
  const commit = () =>
    writeTransaction(warehouse, async (trx) => {
      const written = await writeRefilled(trx, feed.table, rows, loadId);
      await beat(trx, loadId, { ...totals, rows_changed: totals.rows_changed + written });
      return written;
    });
  return withWriteRetries(commit, log);
}
