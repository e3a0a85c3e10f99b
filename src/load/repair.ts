import type { Feed, FieldAliases, RecordReader, Row } from '../feeds/feed.ts';
import { type OtherSeries, otherSeries } from '../feeds/reading/other-series.ts';
import { microsecondsOf } from '../feeds/reading/read-time.ts';
import { sortedRows } from '../warehouse/arrays.ts';
import { writeOnce } from '../warehouse/commit.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import {
  advanceLoad,
  finishLoad,
  hasCommitted,
  type LoadTotals,
  noTotals,
  startLoad,
} from '../warehouse/tables/loads.ts';
import { knownValues, readLookups } from '../warehouse/tables/lookups.ts';
import { rowsToRefill, type StoredRow, writeRefilled } from '../warehouse/tables/refill-rows.ts';
import {
  findSuperseded,
  type Rejected,
  rejectedAfter,
  renewReasons,
  takeRejected,
} from '../warehouse/tables/rejected-records.ts';
import { ensurePartitions, upsertRows } from '../warehouse/tables/rows.ts';
import { keyOfSeries, loadedBeforeOf, type WindowScope } from '../warehouse/tables/series.ts';
import type { WriteTransaction } from '../warehouse/write-transaction.ts';
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

/** A repair under way. */
export interface Repair extends RepairContext {
  readonly reader: RecordReader;
  readonly otherSeries: OtherSeries;
  readonly batchSize: number;
  readonly counts: RepairCounts;
  /** Counted up as batches are committed. */
  readonly totals: LoadTotals;
  /** Returns the id of its load, which begins with the first change. */
  readonly loadId: () => Promise<number>;
}

/**
 * Reads again, with the current reader, what an earlier one could not: turns a feed's rejected records into rows, and fills
 * empty columns of its rows from `extra`. Sends no request. Each batch is one transaction, so a kill at any moment loses
 * nothing, and a rerun continues with the rest.
 * @throws NotInWarehouse if the warehouse does not list the load with all its batches
 */
export async function repair(context: RepairContext): Promise<RepairResult> {
  const { feed, job, stop, warehouse, process } = context;
  const about = {
    command: 'repair',
    job,
    feed: feed.name,
    run_by: process.runBy,
    process_id: process.processId,
  };
  let load: Promise<number> | undefined;
  const run: Repair = {
    batchSize: 1000,
    ...context,
    warehouse,
    reader: feed.reader(context.fields),
    otherSeries: otherSeries(feed, knownValues(await readLookups(warehouse)), context.fields),
    totals: { ...noTotals },
    counts: {
      records: 0,
      rows: 0,
      superseded: 0,
      stillRejected: {},
      rowsFilled: 0,
      columnsFilled: {},
      rowsOfAnotherIdentity: 0,
    },
    loadId: () => {
      load ??= startLoad(warehouse, about);
      return load;
    },
  };

  const finish = async (outcome: LoadOutcome, error: string | null) => {
    const own = load && { loadId: await load, processId: process.processId };
    if (!own) return;
    if (outcome !== 'failed' && !(await hasCommitted(warehouse, own, run.totals.pages)))
      throw goneBack('this repair');
    await finishLoad(warehouse, own, outcome, run.totals, error);
  };
  try {
    await repairRejected(run);
    await refillRows(run);
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

/** A rejected record that can be read now; values of it perhaps not (`rejected`). */
type Readable = Rejected & { readonly row: Row; readonly rejected: string | undefined };

const nothing = { rows: 0, superseded: 0, inserted: 0, changed: 0, left: [] as readonly Readable[] };
type Done = typeof nothing;

/** Reads rejected records again, the oldest first, so that a headline ends with its newest version. */
async function repairRejected(run: Repair): Promise<void> {
  const { warehouse, feed, scope, stop, batchSize } = run;
  let last: Rejected | undefined;
  while (!stop.aborted) {
    const batch = await rejectedAfter(warehouse, feed.name, scope, last, batchSize);
    if (batch.length === 0) return;
    last = batch.at(-1);
    await repairBatch(run, batch);
    run.onBatch?.(run.counts);
  }
}

async function repairBatch(run: Repair, batch: readonly Rejected[]): Promise<void> {
  const { counts, dryRun } = run;
  const readable: Readable[] = [];
  const renewed: Rejected[] = [];
  const stillRejected: string[] = [];
  for (const record of batch) {
    const other = run.otherSeries(record.record, record);
    const { row, rejected } = other === undefined ? run.reader.read(record.record) : { rejected: other };
    if (row) readable.push({ ...record, row, rejected });
    else {
      stillRejected.push(rejected);
      if (rejected !== record.reason) renewed.push({ ...record, reason: rejected });
    }
  }
  const isKnown = ({ is_row, rejected, reason }: Readable) => is_row && rejected === reason;
  const mayChange = renewed.length > 0 || !readable.every(isKnown);
  const foreseen = dryRun || !mayChange ? await foresee(run, readable) : undefined;
  const isSame = foreseen !== undefined && (dryRun || foreseen.superseded === 0);
  const done = isSame ? foreseen : await write(run, readable, renewed);
  for (const reason of [...stillRejected, ...done.left.map(({ rejected }) => rejected!)])
    counts.stillRejected[reason] = (counts.stillRejected[reason] ?? 0) + 1;
  counts.records += batch.length;
  counts.rows += done.rows;
  counts.superseded += done.superseded;
}

async function foresee({ warehouse, feed }: Repair, readable: readonly Readable[]) {
  const done = { ...nothing };
  for (const records of bySeries(readable)) {
    const superseded = await findSuperseded(warehouse, feed.table, records[0], records);
    const current = records.filter((_, index) => !superseded.has(index));
    done.rows += current.filter(({ is_row }) => !is_row).length;
    done.superseded += superseded.size;
    done.left = [...done.left, ...current.filter(({ rejected }) => rejected !== undefined)];
  }
  return done;
}

/**
 * Moves records from the rejected ones to the feed's table in one transaction. Leaves those of which values still cannot be read.
 * A record that is a row already is not written: the row has its values in `extra`, from which `refillRows` fills the columns.
 */
async function write(run: Repair, readable: readonly Readable[], renewed: readonly Rejected[]) {
  const { warehouse, feed } = run;
  if (readable.length + renewed.length === 0) return nothing;
  const [time] = feed.table.key;
  const times = readable.map(({ row }) => microsecondsOf(row[time] as string));
  await ensurePartitions(warehouse, feed.table, times, new Set());
  const move = async (trx: WriteTransaction, loadId: number) => {
    const done = { ...nothing };
    for (const records of bySeries(readable)) {
      const series = records[0];
      const indices = await findSuperseded(trx, feed.table, series, records);
      const superseded = new Set(records.filter((_, index) => indices.has(index)));
      const isLeft = (record: Readable) => record.rejected !== undefined && !superseded.has(record);
      const left = records.filter(isLeft);
      const others = records.filter((record) => !isLeft(record));
      const taken = new Set(await takeRejected(trx, others));
      const isNew = (record: Readable) => !record.is_row && (isLeft(record) || taken.has(record));
      const current = records.filter((record) => !superseded.has(record) && isNew(record));
      const found = current.map(({ row }) => row);
      const rows = sortedRows(feed.table, found);
      const witnessed = await loadedBeforeOf(trx, series, rows.times);
      const from = { series, loadId, windowId: null, witnessed };
      const upserted = await upsertRows(trx, feed.table, rows, from);
      done.rows += current.length;
      done.superseded += [...superseded].filter((record) => taken.has(record)).length;
      done.inserted += upserted.inserted;
      done.changed += upserted.changed;
      done.left = [...done.left, ...left];
    }
    const changed = done.left.filter(({ rejected, reason, is_row }) => rejected !== reason || !is_row);
    await renewReasons(trx, [
      ...renewed,
      ...changed.map((record) => ({ ...record, reason: record.rejected!, is_row: true })),
    ]);
    return done;
  };
  return commitBatch(run, move);
}

/**
 * Commits a batch with the totals of the load, by which a repetition knows that it was committed.
 * Repeatable read: if a load commits a newer version after `findSuperseded`, this attempt fails instead of replacing it.
 */
async function commitBatch(
  { warehouse, totals, process, loadId: beginLoad }: Repair,
  write: (trx: WriteTransaction, loadId: number) => Promise<Done>,
): Promise<Done> {
  const loadId = await beginLoad();
  const own = { loadId, processId: process.processId };
  const pages = totals.pages + 1;
  const isPast = (trx: WriteTransaction) => hasCommitted(trx, own, pages);
  const after = ({ rows, superseded, inserted, changed }: Done) => ({
    ...totals,
    pages,
    records: totals.records + rows + superseded,
    rows_inserted: totals.rows_inserted + inserted,
    rows_changed: totals.rows_changed + changed,
  });
  const done = await writeOnce(
    warehouse,
    { isPast },
    async (trx) => {
      const done = await write(trx, loadId);
      await advanceLoad(trx, own, after(done));
      return done;
    },
    'repeatable read',
  );
  Object.assign(totals, after(done));
  return done;
}

/** Groups records by series. The groups have a fixed order, so that two repairs do not deadlock. */
function bySeries(records: readonly Readable[]): [Readable, ...Readable[]][] {
  const groups = new Map<string, [Readable, ...Readable[]]>();
  for (const record of records) {
    const key = keyOfSeries(record);
    const group = groups.get(key);
    if (group) group.push(record);
    else groups.set(key, [record]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** Fills empty columns of a feed's rows from `extra`. */
async function refillRows(run: Repair): Promise<void> {
  const { warehouse, feed, scope, reader, stop, batchSize } = run;
  const selection = { fields: reader.knownFields, scope };
  let last: StoredRow | undefined;
  while (!stop.aborted) {
    const batch = await rowsToRefill(warehouse, feed.table, selection, last, batchSize);
    if (batch.length === 0) return;
    last = batch.at(-1);
    await refillBatch(run, batch);
    run.onBatch?.(run.counts);
  }
}

async function refillBatch(run: Repair, batch: readonly StoredRow[]): Promise<void> {
  const { counts, feed, reader, dryRun } = run;
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
  const write = async (trx: WriteTransaction, loadId: number) => ({
    ...nothing,
    changed: await writeRefilled(trx, feed.table, refilled, loadId),
  });
  counts.rowsFilled += dryRun ? refilled.length : (await commitBatch(run, write)).changed;
}
