import type { Kysely } from 'kysely';
import type { Feed, FieldAliases, RecordReader, Row, Series } from '../feeds/feed.ts';
import { type OtherSeries, otherSeries } from '../feeds/reading/other-series.ts';
import { sortedRows } from '../warehouse/arrays.ts';
import { commitRecords, type ReadRecords } from '../warehouse/commit.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { Database, LoadOutcome } from '../warehouse/database.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import {
  addPage,
  advanceLoad,
  finishLoad,
  isListed,
  type LoadTotals,
  loadAfter,
  noTotals,
  type OwnLoad,
  startLoad,
} from '../warehouse/tables/loads.ts';
import { knownValues, readLookups } from '../warehouse/tables/lookups.ts';
import { rowsToRefill } from '../warehouse/tables/refill-rows.ts';
import {
  findSuperseded,
  forgetRejected,
  type Rejected,
  rejectedAfter,
} from '../warehouse/tables/rejected-records.ts';
import { bySeries, type WindowScope } from '../warehouse/tables/series.ts';
import { goneBack } from './evidence.ts';

export interface RepairContext {
  readonly warehouse: PatientWarehouse;
  readonly feed: Feed;
  /** A job's own field names, tried before the feed's. */
  readonly fields: FieldAliases;
  /** The job's series; `undefined` for all of the feed. */
  readonly scope: WindowScope | undefined;
  /** Name of the job; empty if there is none. */
  readonly job: string;
  /** Counts what would change, and changes nothing. */
  readonly dryRun: boolean;
  readonly process: Pick<KeptProcess, 'processId' | 'runBy'>;
  /** Stops the repair; the current batch is still committed. */
  readonly stop: AbortSignal;
  /** Records, or rows, per transaction. */
  readonly batchSize?: number;
  /** Called after each batch. */
  readonly onBatch?: (counts: RepairCounts) => void;
}

/** What a repair has done so far, or would do in a dry run. */
export interface RepairCounts {
  /** Rejected records that were read again. */
  records: number;
  /** Those that became rows. */
  rows: number;
  /** Those that can be read now, but are older than the current version of their row; they are dropped. */
  superseded: number;
  /** Those that still cannot be read, by reason. */
  readonly stillRejected: Record<string, number>;
  /** Rows that were read again from `extra` and replaced. */
  rowsFilled: number;
  /** How many of them got a value, by column. */
  readonly columnsFilled: Record<string, number>;
  /** Rows not refilled because their identity would change; see `refillRow`. */
  rowsOfAnotherIdentity: number;
}

export interface RepairResult extends RepairCounts {
  readonly feed: string;
  readonly outcome: LoadOutcome;
}

/** A repair under way; its totals are counted up as batches are committed. */
interface Repair extends Required<Omit<RepairContext, 'onBatch'>>, Pick<RepairContext, 'onBatch'> {
  readonly reader: RecordReader;
  readonly otherSeries: OtherSeries;
  readonly counts: RepairCounts;
  readonly totals: LoadTotals;
  /** Returns its load, which begins with the first change. */
  readonly load: () => Promise<OwnLoad>;
}

/** Records, or rows, that were read again. */
interface Batch<Item> {
  /** The last of them; the next batch begins after it. */
  readonly last: Item | undefined;
  /** What of them changes. */
  readonly read: readonly ReadRecords[];
  /** Rejected records that are rows now, or older than theirs. */
  readonly taken: readonly Rejected[];
  readonly counts: RepairCounts;
}

/** Reads the batch after an item. */
type Source<Item> = (db: Kysely<Database>, last: Item | undefined) => Promise<Batch<Item>>;

const noneRepaired = (): RepairCounts => ({
  records: 0,
  rows: 0,
  superseded: 0,
  stillRejected: {},
  rowsFilled: 0,
  columnsFilled: {},
  rowsOfAnotherIdentity: 0,
});

/**
 * Reads again, with the current reader, what an earlier one could not: turns a feed's rejected records into rows, and fills
 * empty columns of its rows from `extra`. Sends no request. Each batch is one transaction, so a kill at any moment loses
 * nothing, and a rerun continues with the rest.
 * @throws NotInWarehouse if the warehouse does not list the load with all its batches
 */
export async function repair(context: RepairContext): Promise<RepairResult> {
  const { feed, job, stop, warehouse, process } = context;
  let load: Promise<OwnLoad> | undefined;
  const run: Repair = {
    batchSize: 1000,
    ...context,
    reader: feed.reader(context.fields),
    otherSeries: otherSeries(feed, knownValues(await readLookups(warehouse)), context.fields),
    totals: { ...noTotals },
    counts: noneRepaired(),
    load: () => (load ??= startLoad(warehouse, process, { command: 'repair', job, feed: feed.name })),
  };

  const finish = async (outcome: LoadOutcome, error: string | null) => {
    if (!load) return;
    const own = await load;
    if (outcome !== 'failed' && !(await isListed(warehouse, own, run.totals.pages)))
      throw goneBack('this repair');
    await finishLoad(warehouse, own, outcome, run.totals, error);
  };
  try {
    await inBatches(run, rejectedRecords(run), false);
    await inBatches(run, rowsToFill(run), true);
  } catch (thrown) {
    const error = thrown instanceof ClaimLost ? goneBack('this repair') : thrown;
    // If this fails, too, the load looks like one that was killed; the error below says why.
    await finish('failed', (error as Error).message).catch(() => {});
    throw error;
  }
  const outcome = stop.aborted ? 'interrupted' : 'done';
  await finish(outcome, null);
  return { feed: feed.name, outcome, ...run.counts };
}

/** @param isReadAgain true if the items are rows of the table already */
async function inBatches<Item>(run: Repair, readAfter: Source<Item>, isReadAgain: boolean): Promise<void> {
  const { warehouse, stop, dryRun, counts, onBatch } = run;
  for (let last: Item | undefined; !stop.aborted; ) {
    const found = await readAfter(warehouse, last);
    if (found.last === undefined) return;
    const isToWrite = found.read.length > 0 && !dryRun;
    const done = isToWrite ? await commit(run, (trx) => readAfter(trx, last), found, isReadAgain) : found;
    last = found.last;
    add(counts, done.counts);
    onBatch?.(counts);
  }
}

/**
 * Commits a batch with the totals of the load. Reads it again in the transaction, because a load may have changed it meanwhile.
 */
async function commit<Item>(
  run: Repair,
  read: (trx: Kysely<Database>) => Promise<Batch<Item>>,
  found: Batch<Item>,
  isReadAgain: boolean,
) {
  const { warehouse, feed, totals } = run;
  const own = await run.load();
  let batch = found;
  const written = await commitRecords(
    warehouse,
    feed.table,
    found.read,
    {
      // For rows that are here already. Rejected records say themselves when they were told.
      from: { loadId: own.loadId, windowId: null, askedAt: '-infinity', hereOn: '-infinity', isReadAgain },
      areLikelyNew: false,
      async readAgain(trx) {
        batch = await read(trx);
        return batch.read;
      },
      async advance(trx, counts) {
        await forgetRejected(trx, batch.taken);
        const after = { ...totals };
        addPage(after, counts);
        await advanceLoad(trx, own, after);
        return counts;
      },
      position: loadAfter(own, totals.pages + 1),
    },
    new Set(),
  );
  addPage(totals, written);
  return batch;
}

function add(counts: RepairCounts, { stillRejected, columnsFilled, ...numbers }: RepairCounts): void {
  for (const [name, many] of Object.entries(numbers) as [keyof typeof numbers, number][])
    counts[name] += many;
  for (const [reason, many] of Object.entries(stillRejected)) countIn(counts.stillRejected, reason, many);
  for (const [column, many] of Object.entries(columnsFilled)) countIn(counts.columnsFilled, column, many);
}

function countIn(counts: Record<string, number>, name: string, many = 1): void {
  counts[name] = (counts[name] ?? 0) + many;
}

/**
 * Reads rejected records, the oldest first, so that a headline ends with its newest version. A record that is a row already is
 * not written: the row has its values in `extra`, from which its columns are filled.
 */
function rejectedRecords({ feed, scope, batchSize, reader, otherSeries }: Repair): Source<Rejected> {
  const { table } = feed;
  return async (db, last) => {
    const records = await rejectedAfter(db, feed.name, scope, last, batchSize);
    const all = records.map((record) => {
      const other = otherSeries(record.record, record);
      const { row, rejected } =
        other === undefined ? reader.read(record.record) : { row: undefined, rejected: other };
      return { ...record, row, rejected };
    });
    const superseded = await findSuperseded(db, table, all);
    const isTaken = (record: (typeof all)[number]) => superseded.has(record) || record.rejected === undefined;
    const isNewRow = (record: (typeof all)[number]) =>
      record.row !== undefined && !record.is_row && !superseded.has(record);
    const counts = noneRepaired();
    counts.records = all.length;
    counts.rows = all.filter(isNewRow).length;
    counts.superseded = superseded.size;
    for (const record of all) if (!isTaken(record)) countIn(counts.stillRejected, record.rejected!);
    const changed = all.filter(
      (record) => isTaken(record) || isNewRow(record) || record.rejected !== record.reason,
    );
    // Records of one answer together.
    const answers = new Map<string, typeof changed>();
    for (const record of changed)
      answers.set(record.asked_at, [...(answers.get(record.asked_at) ?? []), record]);
    const groups = [...answers.values()].flatMap((told) => bySeries(told, (record) => record));
    const read = groups.map(([series, records]) => ({
      series,
      told: { askedAt: records[0]!.asked_at, hereOn: records[0]!.asked_at.slice(0, 10) },
      records: records.filter((record) => isNewRow(record) || superseded.has(record)).length,
      rows: sortedRows(
        table,
        records.filter(isNewRow).map(({ row }) => row!),
      ),
      rejected: records
        .filter((record) => !isTaken(record))
        .map(({ record_hash, record, row, rejected }) => ({
          record_hash,
          reason: rejected!,
          is_row: row !== undefined,
          record: JSON.stringify(record),
        })),
      rejectedCount: 0,
      outside: [],
    }));
    return { last: records.at(-1), read, taken: changed.filter(isTaken), counts };
  };
}

/** Reads rows whose empty columns may be filled from `extra`. */
function rowsToFill({ feed, scope, batchSize, reader }: Repair): Source<Row> {
  const { table } = feed;
  const seriesOf = (row: Row): Series => {
    const parts = table.series.map((part) => [part, row[part]]);
    const none = { country: '', topic: '', ticker: '', match_type: '', variant: '' };
    return { ...none, ...Object.fromEntries(parts), feed: feed.name };
  };
  return async (db, last) => {
    const stored = await rowsToRefill(db, table, { fields: reader.knownFields, scope }, last, batchSize);
    const counts = noneRepaired();
    const filled: Row[] = [];
    for (const row of stored) {
      const result = reader.refill(row);
      if (result.outcome === 'another identity') counts.rowsOfAnotherIdentity++;
      if (result.outcome !== 'refilled') continue;
      filled.push(result.row);
      for (const column of result.filled) countIn(counts.columnsFilled, column);
    }
    counts.rowsFilled = filled.length;
    const read = bySeries(filled, seriesOf).map(([series, rows]) => ({
      series,
      records: 0,
      rows: sortedRows(table, rows),
      rejected: [],
      rejectedCount: 0,
      outside: [],
    }));
    return { last: stored.at(-1), read, taken: [], counts };
  };
}
