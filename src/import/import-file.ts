import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDB } from '../duckdb.ts';
import type { RecordReader, Series } from '../feeds/feed.ts';
import type { ListedValues, OtherSeries } from '../feeds/reading/other-series.ts';
import { microsecondsADay } from '../feeds/reading/read-time.ts';
import { endOf } from '../load/ends.ts';
import { goneBack } from '../load/evidence.ts';
import { readPage } from '../load/read-page.ts';
import type { Log } from '../log.ts';
import { oneAhead } from '../one-ahead.ts';
import { commitRecords, type Place, type ReadRecords } from '../warehouse/commit.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { ClaimLost } from '../warehouse/errors.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import {
  advanceFile,
  claimFile,
  type FilePosition,
  type FileToImport,
  fileAfter,
  finishFile,
  leaveFile,
  type RecordsByDay,
} from '../warehouse/tables/imported-files.ts';
import { addPage, isListed, type LoadTotals } from '../warehouse/tables/loads.ts';
import type { KnownPartitions } from '../warehouse/tables/rows.ts';
import { bySeries } from '../warehouse/tables/series.ts';
import type { Batch } from './batch.ts';
import { type DataFile, describeRefusal, FileRefused } from './data-file.ts';
import { type Placement, seriesReader } from './place-file.ts';
import { readBatches } from './read-records.ts';

/** What an import loads files with. */
export interface ImportSetting {
  readonly warehouse: PatientWarehouse;
  readonly process: KeptProcess;
  readonly listed: ListedValues;
  /** When everything in the files was known, if the user says so. */
  readonly knownAt: string | undefined;
  /** The day (UTC) on which the files came, by the earlier clock; with `knownAt`, its day. */
  readonly hereOn: Day;
  readonly log: Log;
  /** Fires when no further batch may begin; batches in hand are still committed. */
  readonly stop: AbortSignal;
}

/** The load of a feed's files. */
export interface FileLoad extends ImportSetting {
  readonly loadId: number;
  /** As in `RecordReader`, of all files. */
  readonly rejectedValues: Map<string, number>;
  readonly duckdb: DuckDB | undefined;
  readonly otherSeries: OtherSeries;
  readonly partitions: KnownPartitions;
  readonly totals: LoadTotals;
}

export interface ImportedFile {
  readonly fileId: number;
  /** `stopped`: the file stays at its checkpoint. */
  readonly outcome: 'loaded' | 'loaded before' | 'stopped';
  /** Its records so far, earlier imports included. */
  readonly read: Pick<FilePosition, 'records' | 'rejected' | 'recordsByDay'>;
  /** Columns of which none of the records that were read now has a field. */
  readonly absent: readonly string[];
}

/** A file, the series and columns that its names say, and when it was made. */
export interface FileToRead {
  readonly file: DataFile;
  readonly placement: Placement;
  readonly madeAt: Date;
}

/** How often a file may be lost to others, or be found behind its position, before it is given up. */
const mostLosses = 5;

/**
 * Loads a file from its checkpoint to its end, once no other living process reads it. Each batch and its checkpoint are one
 * transaction, so a kill at any moment costs at most the batch in hand. Reads the next batch while one is committed. If the
 * file was taken over, because this process was suspended, or has lost its last batches, as in a failover, reads on from where
 * it is.
 * @throws FileRefused with the line; NotInWarehouse; errors of the warehouse. Committed batches stay
 */
export async function importFile(
  load: FileLoad,
  { file, placement, madeAt }: FileToRead,
  content: string,
  onBytes: (bytes: number) => void,
  onCommit: () => void,
): Promise<ImportedFile> {
  const about = {
    series: placement.series,
    content,
    name: file.name,
    archive: file.archive?.subject ?? '',
    madeAt,
  };
  for (let losses = 1; ; losses++) {
    const claimed = await claimOnceFree(load, about);
    if (claimed.isFinished)
      return { fileId: claimed.fileId, outcome: 'loaded before', read: claimed, absent: [] };
    try {
      return await readOn(load, { file, placement, madeAt }, claimed, onBytes, onCommit);
    } catch (error) {
      if (!(error instanceof ClaimLost) || losses === mostLosses) throw error;
      load.log.warn({ file: file.name }, 'the file was moved; reading on from its new place');
    }
  }
}

/** Milliseconds between two looks for a file that another import reads. */
const pollInterval = 500;

/** @throws NotInWarehouse if the warehouse does not list the load: what it would write would be nobody's */
async function claimOnceFree({ warehouse, process, loadId, log, stop }: FileLoad, file: FileToImport) {
  for (let isSaid = false; ; isSaid = true) {
    const claimed = await claimFile(warehouse, file, loadId, process);
    if (claimed) return claimed;
    if (!(await isListed(warehouse, { loadId, processId: process.processId }))) throw goneBack('this load');
    if (!isSaid)
      log.info(
        { file: file.name },
        `another import is reading this file; waiting until it ends, or until its lease of ${process.leaseSeconds} s runs out`,
      );
    await sleep(pollInterval, undefined, { signal: stop });
  }
}

async function readOn(
  load: FileLoad,
  { file, placement, madeAt }: FileToRead,
  from: FilePosition,
  onBytes: (bytes: number) => void,
  onCommit: () => void,
): Promise<ImportedFile> {
  const { warehouse, rejectedValues, stop } = load;
  const { feed, columns } = placement;
  const reader = feed.reader();
  let at = from;
  const withOutcome = (outcome: ImportedFile['outcome']): ImportedFile => ({
    fileId: at.fileId,
    outcome,
    read: at,
    absent: at.records > from.records ? reader.absent : [],
  });
  const batches = readGroups(
    load,
    placement,
    reader,
    readBatches(file, { feed, columns, skip: at.records, duckdb: load.duckdb, onBytes, stop }),
  );
  try {
    for await (const read of oneAhead(batches)) {
      if (stop.aborted) return withOutcome('stopped');
      at = await commitBatch(load, placement, madeAt, read, at);
      onCommit();
    }
    await finishFile(warehouse, at);
    return withOutcome('loaded');
  } catch (error) {
    if (stop.aborted && !endOf(error)) return withOutcome('stopped');
    // Stores the reason in the warehouse, too. If that fails, the thrown error still has it.
    if (error instanceof FileRefused) await leaveFile(warehouse, at, describeRefusal(error)).catch(() => {});
    throw error;
  } finally {
    for (const [column, many] of reader.rejectedValues)
      rejectedValues.set(column, (rejectedValues.get(column) ?? 0) + many);
  }
}

/** Yields the rows of each batch by series. */
async function* readGroups(
  { knownAt, listed, otherSeries }: FileLoad,
  placement: Placement,
  reader: RecordReader,
  batches: AsyncIterable<Batch>,
): AsyncGenerator<readonly ReadRecords[], void> {
  const { series, feed, fromRecords } = placement;
  const seriesOf = seriesReader(placement, listed);
  for await (const batch of batches) {
    const { unit, at } = batch;
    const sorted: readonly (readonly [Series, readonly unknown[]])[] =
      fromRecords.length === 0
        ? [[series, batch.records]]
        : bySeries(batch.records, (record, index) => seriesOf(record, { [unit]: at[index] }));
    const read = sorted.map(([series, records]) => ({
      series,
      ...readPage(records, { reader, table: feed.table, series, otherSeries }),
    }));
    if (knownAt !== undefined) refuseLater(read, knownAt);
    yield read;
  }
}

/** @throws FileRefused if a record was published after the moment at which it is said to have been known */
function refuseLater(read: readonly ReadRecords[], knownAt: string): void {
  const last = Math.max(...read.map(({ rows }) => rows.times.at(-1) ?? 0)) / 1000;
  if (last > Date.parse(knownAt))
    throw new FileRefused(
      `has a record of ${new Date(last).toISOString()}, so not all of it was known at ${knownAt}`,
    );
}

/** @returns the file's position after the batch */
async function commitBatch(
  { warehouse, loadId, knownAt, hereOn, partitions, totals }: FileLoad,
  { feed }: Placement,
  madeAt: Date,
  read: readonly ReadRecords[],
  at: FilePosition,
): Promise<FilePosition> {
  const after = {
    ...at,
    records: read.reduce((sum, { records }) => sum + records, at.records),
    rejected: read.reduce((sum, { rejectedCount }) => sum + rejectedCount, at.rejected),
    recordsByDay: withRecords(at.recordsByDay, read),
  };
  const place: Place = {
    from: { loadId, windowId: null, askedAt: knownAt ?? madeAt.toISOString(), hereOn, knownAt },
    areLikelyNew: true,
    async advance(trx, counts) {
      await advanceFile(trx, at, after, counts);
      return counts;
    },
    position: fileAfter(after),
  };
  const counts = await commitRecords(warehouse, feed.table, read, place, partitions);
  addPage(totals, counts);
  return after;
}

/** Counts the rows of a batch on their days, those included that a later row of the batch replaces. */
function withRecords(before: RecordsByDay, read: readonly ReadRecords[]): RecordsByDay {
  const added = new Map<number, number>();
  for (const { rows } of read) {
    for (let part: typeof rows.earlier = rows; part; part = part.earlier) {
      for (const time of part.times) {
        const day = Math.floor(time / microsecondsADay);
        added.set(day, (added.get(day) ?? 0) + 1);
      }
    }
  }
  const byDay = { ...before };
  for (const [at, records] of added) {
    const day = new Date((at * microsecondsADay) / 1000).toISOString().slice(0, 10);
    byDay[day] = (byDay[day] ?? 0) + records;
  }
  return byDay;
}
