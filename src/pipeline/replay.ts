import type { Feed, FieldAliases, RecordReader } from '../feeds/feed.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { finishLoad, type LoadTotals, startLoad } from '../warehouse/queries/loads.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { refillRows } from './refill-rows.ts';
import { replayRejected } from './replay-rejected.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

export interface ReplayContext {
  readonly warehouse: Warehouse;
  readonly feed: Feed;
  /** A job's own wire names, tried before the feed's. */
  readonly fields: FieldAliases;
  /** The job's series; `undefined` for all of the feed. */
  readonly scope: WindowScope | undefined;
  /** Name of the job, empty without one. */
  readonly job: string;
  /** Counts what would change, and changes nothing. */
  readonly dryRun: boolean;
  /** Host, process and version, for `loads`. */
  readonly runBy: string;
  /** Fires when the replay is to stop in order: the batch in hand is committed. */
  readonly stop: AbortSignal;
  /** Records, or rows, of one transaction. */
  readonly batchSize?: number;
  readonly log?: Log;
  /** Called after each batch. */
  readonly onBatch?: (counts: ReplayCounts) => void;
}

/** What a replay has done so far; in a dry run, what it would do. */
export interface ReplayCounts {
  /** Rejected records that were read again. */
  records: number;
  /** Those of them that are rows now. */
  rows: number;
  /** Those that can be read, but came before the version that their row has by now; they are let go. */
  superseded: number;
  /** Those that still cannot be read, by reason. */
  readonly stillRejected: Record<string, number>;
  /** Rows that were read again from `extra` and replaced. */
  rowsFilled: number;
  /** How many of them got a value in a column, by column. */
  readonly columnsFilled: Record<string, number>;
  /** Rows left alone, because they would be known by something else; see `refillRow`. */
  rowsOfAnotherIdentity: number;
}

export interface ReplayResult extends ReplayCounts {
  readonly feed: string;
  readonly outcome: LoadOutcome;
}

/** A replay under way. */
export interface Replay extends ReplayContext {
  readonly reader: RecordReader;
  readonly batchSize: number;
  readonly counts: ReplayCounts;
  /** Counted up as batches are committed. */
  readonly totals: LoadTotals;
  /** The number of its load, which begins with the first change. */
  readonly loadId: () => Promise<number>;
}

const nothingDone: LoadTotals = {
  ...{ requests: 0, windows_drained: 0, windows_failed: 0, pages: 0 },
  ...{ records: 0, rows_inserted: 0, rows_changed: 0, rows_retracted: 0, records_rejected: 0 },
};

/**
 * Reads again, with the reader as it is now, what an earlier one could not: a feed's rejected records become rows, and
 * the empty columns of its rows are filled from `extra`. Asks the service nothing. Each batch is one transaction, so
 * that a kill at any instant loses nothing, and a rerun goes on with what is left.
 */
export async function replay(context: ReplayContext): Promise<ReplayResult> {
  const { warehouse, feed, job, stop } = context;
  const about = { command: 'replay', job, feed: feed.name, run_by: context.runBy };
  let load: Promise<number> | undefined;
  const run: Replay = {
    batchSize: 1000,
    ...context,
    reader: feed.reader(context.fields),
    totals: { ...nothingDone },
    counts: {
      ...{ records: 0, rows: 0, superseded: 0, stillRejected: {} },
      ...{ rowsFilled: 0, columnsFilled: {}, rowsOfAnotherIdentity: 0 },
    },
    loadId: () => {
      load ??= withWarehouseRetries(() => startLoad(warehouse, about));
      return load;
    },
  };

  const finish = async (outcome: LoadOutcome, error: string | null) => {
    if (load) await finishLoad(warehouse, await load, outcome, run.totals, error);
  };
  try {
    await replayRejected(run);
    await refillRows(run);
  } catch (error) {
    // What could not be written down shows as a load that was killed; why is in the error.
    await finish('failed', (error as Error).message).catch(() => {});
    throw error;
  }
  const outcome = stop.aborted ? 'interrupted' : 'done';
  await withWarehouseRetries(() => finish(outcome, null));
  return { feed: feed.name, outcome, ...run.counts };
}
