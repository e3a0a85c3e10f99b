import { standsForLarger } from '../api/parse-page.ts';
import type { Row, Series } from '../feeds/feed.ts';
import { beat } from '../warehouse/queries/loads.ts';
import { ensurePartitions } from '../warehouse/queries/partitions.ts';
import {
  findSuperseded,
  type Rejected,
  rejectedAfter,
  renewReasons,
  takeRejected,
} from '../warehouse/queries/replay.ts';
import { upsertRows } from '../warehouse/queries/upsert-rows.ts';
import { type WriteTransaction, writeTransaction } from '../warehouse/write-transaction.ts';
import type { Replay } from './replay.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';
import { withWriteRetries } from './write-retries.ts';

type Readable = Rejected & { readonly row: Row };

const nothing = { taken: 0, superseded: 0, inserted: 0, changed: 0 };

/** Reads rejected records again, the oldest first, so that of two versions of a headline the newer one stays. */
export async function replayRejected(run: Replay): Promise<void> {
  const { warehouse, feed, scope, stop, batchSize } = run;
  let last: Rejected | undefined;
  while (!stop.aborted) {
    const batch = await withWarehouseRetries(() =>
      rejectedAfter(warehouse, feed.name, scope, last, batchSize),
    );
    if (batch.length === 0) return;
    last = batch.at(-1);
    await replayBatch(run, batch);
    run.onBatch?.(run.counts);
  }
}

async function replayBatch(run: Replay, batch: readonly Rejected[]): Promise<void> {
  const { counts, totals, dryRun } = run;
  const readable: Readable[] = [];
  const renewed: Rejected[] = [];
  for (const record of batch) {
    const { row, rejected } = standsForLarger(record.record)
      ? { rejected: record.reason }
      : run.reader.read(record.record);
    if (row) readable.push({ ...record, row });
    else {
      counts.stillRejected[rejected] = (counts.stillRejected[rejected] ?? 0) + 1;
      if (rejected !== record.reason) renewed.push({ ...record, reason: rejected });
    }
  }
  const done = dryRun ? await foresee(run, readable) : await write(run, readable, renewed);
  counts.records += batch.length;
  counts.rows += done.taken - done.superseded;
  counts.superseded += done.superseded;
  totals.records += done.taken;
  totals.rows_inserted += done.inserted;
  totals.rows_changed += done.changed;
}

async function foresee({ warehouse, feed }: Replay, readable: readonly Readable[]) {
  const done = { ...nothing, taken: readable.length };
  for (const records of bySeries(readable)) {
    done.superseded += (await findSuperseded(warehouse, feed.table, seriesOf(records), records)).size;
  }
  return done;
}

/** Moves records from the rejected ones to the feed's table in one transaction. */
async function write(run: Replay, readable: readonly Readable[], renewed: readonly Rejected[]) {
  const { warehouse, feed, totals, log } = run;
  if (readable.length + renewed.length === 0) return nothing;
  const loadId = await run.loadId();
  const rows = readable.map(({ row }) => row);
  const move = async (trx: WriteTransaction) => {
    const taken = await takeRejected(trx, feed.name, readable);
    const done = { ...nothing, taken: taken.length };
    for (const records of bySeries(taken)) {
      const series = seriesOf(records);
      const superseded = await findSuperseded(trx, feed.table, series, records);
      const current = records.filter((_, index) => !superseded.has(index)).map(({ row }) => row);
      // What a replay brings in is known after the fact, as what a backfill brings in is.
      const upserted = await upsertRows(trx, feed.table, current, {
        ...{ series, loadId, windowId: null, isBackfilled: true },
      });
      done.superseded += superseded.size;
      done.inserted += upserted.inserted;
      done.changed += upserted.changed;
    }
    await renewReasons(trx, feed.name, renewed);
    await beat(trx, loadId, {
      ...totals,
      records: totals.records + done.taken,
      rows_inserted: totals.rows_inserted + done.inserted,
      rows_changed: totals.rows_changed + done.changed,
    });
    return done;
  };
  const commit = async () => {
    await ensurePartitions(warehouse, feed.table, rows, new Set());
    // Repeatable read: a newer version that a load commits after it was looked for ends this attempt, and is not lost.
    return writeTransaction(warehouse, move, 'repeatable read');
  };
  return withWriteRetries(commit, log);
}

/** Records in groups of one series, each in the order given; the groups in the same order everywhere. */
function bySeries(records: readonly Readable[]): [Readable, ...Readable[]][] {
  const groups = new Map<string, [Readable, ...Readable[]]>();
  for (const record of records) {
    const key = JSON.stringify(Object.values(seriesOf([record])));
    const group = groups.get(key);
    if (group) group.push(record);
    else groups.set(key, [record]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

function seriesOf([{ country, topic, ticker, matchType, variant }]: readonly [
  Readable,
  ...Readable[],
]): Series {
  return { country, topic, ticker, matchType, variant };
}
