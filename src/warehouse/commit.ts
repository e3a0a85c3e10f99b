import { type RawBuilder, sql } from 'kysely';
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
import { type WriteTransaction, writeTransaction } from './write-transaction.ts';

/** What a commit has written, as the counters of windows and loads name it. */
export interface PageCounts {
  readonly records: number;
  readonly rows_inserted: number;
  readonly rows_changed: number;
  /** Rows that the service no longer returns. */
  readonly rows_retracted: number;
  readonly records_rejected: number;
  /** Records of days that were not requested. */
  readonly records_outside: number;
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
  /** When they were told, if not when their place was; see `Provenance`. */
  readonly told?: Pick<Provenance, 'askedAt' | 'hereOn'>;
}

/**
 * Where rows come from: a window, a file, the live feed, a repair. Its position moves in the transaction of the rows, so it also
 * tells whether they were committed.
 */
export interface Place {
  readonly from: Omit<Provenance, 'series'>;
  /** True if the table probably has none of the rows. */
  readonly areLikelyNew: boolean;
  /**
   * Reads the records again, for a place whose records are in the warehouse. The transaction is at repeatable read: if a load
   * changes a row that it has read, it fails and is repeated, instead of replacing what is newer.
   */
  readAgain?(trx: WriteTransaction): Promise<readonly ReadRecords[]>;
  /**
   * Moves past the rows, in their transaction.
   * @returns the counts, with what it has retracted
   * @throws ClaimLost if somebody else has the place, or it is not where it was; then nothing is written
   */
  advance(trx: WriteTransaction, counts: PageCounts): Promise<PageCounts>;
  readonly position: Position;
}

/** What a commit moves. */
export interface Position {
  /** A table, and the condition of the key of the row that the commit locks. */
  readonly row: RawBuilder<unknown>;
  /** The condition that the commit has moved it. */
  readonly isPast: RawBuilder<boolean>;
}

/**
 * Commits records in one transaction: rows, the revisions of changed ones, rejected records, and the position of their place. Its
 * reply may be lost after the server has executed it, so a repetition first asks the position. Not the number of the transaction
 * (`pg_xact_status`): a server that has crashed gives the numbers of lost transactions to others.
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
  let written: PageCounts | undefined;
  let tries = 0;
  const write = async (trx: WriteTransaction) => {
    if (written && (await isMoved(trx, place.position))) return written;
    const records = place.readAgain ? await place.readAgain(trx) : read;
    const counts = await writeRecords(trx, table, records, place, ++tries === 1);
    written = await place.advance(trx, counts);
    return written;
  };
  return writeTransaction(warehouse, write, place.readAgain ? 'repeatable read' : 'read committed');
}

/** Returns true if a position is past a commit. Locks its row first, so that it waits for an attempt that is still being committed. */
export async function isMoved(trx: WriteTransaction, { row, isPast }: Position): Promise<boolean> {
  await sql`select from ${row} for update`.execute(trx);
  const { rows } = await sql<{ is_past: boolean }>`select ${isPast} as is_past`.execute(trx);
  return rows[0]!.is_past;
}

async function writeRecords(
  trx: WriteTransaction,
  table: FeedTable,
  read: readonly ReadRecords[],
  place: Place,
  isFirst: boolean,
): Promise<PageCounts> {
  const counts = { ...noCounts };
  for (const { series, records, rows, rejected, rejectedCount, outside, told } of read) {
    if (!isFirst) await ensurePartitionsAgain(trx, table, rows.times);
    const from = { ...place.from, ...told, series };
    // If rows that should be new meet others after all, the second attempt upserts.
    const { inserted, changed } = await upsertRows(trx, table, rows, from, place.areLikelyNew && isFirst);
    await keepRejected(trx, rejected, from);
    counts.records += records;
    counts.rows_inserted += inserted;
    counts.rows_changed += changed;
    counts.records_rejected += rejectedCount;
    counts.records_outside += outside.length;
  }
  return counts;
}

export const noCounts: PageCounts = {
  records: 0,
  rows_inserted: 0,
  rows_changed: 0,
  rows_retracted: 0,
  records_rejected: 0,
  records_outside: 0,
};
