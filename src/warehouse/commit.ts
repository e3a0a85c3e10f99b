import type { FeedTable, Series } from '../feeds/feed.ts';
import type { SortedRows } from './arrays.ts';
import type { PatientWarehouse } from './connect.ts';
import { keepRejected, type RejectedRecord } from './tables/rejected-records.ts';
import {
  ensurePartitions,
  ensurePartitionsAgain,
  type KnownPartitions,
  type Provenance,
  upsertRows,
} from './tables/rows.ts';
import { loadedBeforeOf } from './tables/series.ts';
import { type WriteTransaction, writeTransaction } from './write-transaction.ts';

/** What a commit has written. */
export interface PageCounts {
  readonly records: number;
  readonly inserted: number;
  readonly changed: number;
  /** Rows that the service no longer returns. */
  readonly retracted: number;
  readonly rejected: number;
  /** Records of days that were not requested. */
  readonly outside: number;
}

/** The records of one series, as read. */
export interface ReadRecords {
  readonly series: Series;
  /** How many there were, readable or not. */
  readonly records: number;
  readonly rows: SortedRows;
  /** Rejected records, and those of which values were rejected, without duplicates. */
  readonly rejected: readonly RejectedRecord[];
  /** How many records were rejected, so that they are no rows; duplicates included. */
  readonly rejectedCount: number;
  /** Times, in microseconds since 1970, of records that were dropped because they are outside the requested times. */
  readonly outside: readonly number[];
}

/**
 * Where rows come from: a window, a file, the live feed, rejected records. Its position moves in the transaction of the rows,
 * so it also tells whether they were committed.
 */
export interface Place {
  /** Without `witnessed`, the warehouse is asked for it. */
  readonly of: Omit<Provenance, 'series' | 'witnessed'> & Partial<Pick<Provenance, 'witnessed'>>;
  /** True if the table probably has none of the rows. */
  readonly areLikelyNew: boolean;
  /**
   * Moves past the rows, in their transaction.
   * @returns the counts, with what it has retracted
   * @throws ClaimLost if somebody else has the place, or it is not where it was; then nothing is written
   */
  advance(trx: WriteTransaction, counts: PageCounts): Promise<PageCounts>;
  /**
   * Returns true if the database shows that the rows were committed. Locks the position, so that it waits for an attempt that is
   * still being committed.
   */
  isPast(trx: WriteTransaction): Promise<boolean>;
}

/**
 * Commits records in one transaction: rows, the revisions of changed ones, rejected records, and the position of their place.
 * @throws what `advance` throws; WriteGivenUp if the rows break the connection, or take too long, several times;
 * WarehouseUnavailable if the warehouse does not answer for minutes
 */
export async function commitRecords(
  warehouse: PatientWarehouse,
  table: FeedTable,
  read: readonly ReadRecords[],
  place: Place,
  known: KnownPartitions,
): Promise<PageCounts> {
  for (const { rows } of read) await ensurePartitions(warehouse, table, rows.times, known);
  return writeOnce(warehouse, place, async (trx, isFirst) =>
    place.advance(trx, await writeRecords(trx, table, read, place, isFirst)),
  );
}

/**
 * Runs a write transaction that may be repeated. If its connection broke, its commit may have been executed, with only the reply
 * lost. So a repetition first asks the place.
 * @returns what `write` returned when it was committed
 */
export function writeOnce<Written>(
  warehouse: PatientWarehouse,
  { isPast }: Pick<Place, 'isPast'>,
  write: (trx: WriteTransaction, isFirst: boolean) => Promise<Written>,
  isolation?: 'read committed' | 'repeatable read',
): Promise<Written> {
  let tries = 0;
  let last: { readonly written: Written } | undefined;
  return writeTransaction(
    warehouse,
    async (trx) => {
      if (last && (await isPast(trx))) return last.written;
      const written = await write(trx, ++tries === 1);
      last = { written };
      return written;
    },
    isolation,
  );
}

async function writeRecords(
  trx: WriteTransaction,
  table: FeedTable,
  read: readonly ReadRecords[],
  { of, areLikelyNew }: Place,
  isFirst: boolean,
): Promise<PageCounts> {
  const counts = { records: 0, inserted: 0, changed: 0, retracted: 0, rejected: 0, outside: 0 };
  for (const { series, records, rows, rejected, rejectedCount, outside } of read) {
    if (!isFirst) await ensurePartitionsAgain(trx, table, rows.times);
    // If rows that should be new meet others after all, the second attempt upserts.
    const witnessed = of.witnessed ?? (await loadedBeforeOf(trx, series, rows.times));
    const from = { ...of, witnessed, series };
    const upserted = await upsertRows(trx, table, rows, from, areLikelyNew && isFirst);
    await keepRejected(trx, rejected, from);
    counts.records += records;
    counts.inserted += upserted.inserted;
    counts.changed += upserted.changed;
    counts.rejected += rejectedCount;
    counts.outside += outside.length;
  }
  return counts;
}
