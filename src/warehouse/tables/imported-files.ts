import { type Kysely, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { PageCounts, Position } from '../commit.ts';
import type { Database, Day } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { mayTake, type Owner } from './processes.ts';
import { isOfSeries, seriesColumns, seriesValues } from './series.ts';

/** A file to import, as the warehouse stores it. */
export interface FileToImport {
  /** Parts that are read from each record are empty. */
  readonly series: Series;
  /** Identifies its content and the columns from its folder names. */
  readonly content: string;
  readonly name: string;
  /** Name of its ZIP file without the UUID; empty if it has none. */
  readonly archive: string;
  readonly madeAt: Date;
}

/** The position of a claimed file: a batch is committed only if it follows exactly this position. */
export interface FilePosition {
  readonly fileId: number;
  /** The process that reads it. */
  readonly processId: string;
  /** Records that are loaded or rejected. */
  readonly records: number;
  /** Those of them that were rejected. */
  readonly rejected: number;
  /** The others, by day (UTC). */
  readonly recordsByDay: RecordsByDay;
}

export type RecordsByDay = Readonly<Record<Day, number>>;

/**
 * Claims a file for a load of a process, at its checkpoint.
 * @returns `undefined` if another living process reads the file, or if the warehouse does not list the load or the process, as
 * after a restore
 */
export async function claimFile(
  db: Kysely<Database>,
  { series, content, name, archive, madeAt }: FileToImport,
  loadId: number,
  owner: Owner,
): Promise<(FilePosition & { readonly isFinished: boolean }) | undefined> {
  const { processId } = owner;
  const { rows } = await sql<Omit<FilePosition, 'processId'> & { readonly isFinished: boolean }>`
    insert into gmsi.imported_files as kept (${seriesColumns}, content, name, archive, made_at, load_id, process_id)
    select ${seriesValues(series)}, ${content}, ${name}, ${archive}, ${madeAt}::timestamptz, load_id, process_id
    from gmsi.loads join gmsi.processes using (process_id) where load_id = ${loadId}::bigint and process_id = ${processId}
    on conflict (${seriesColumns}, content) do update
      set name = excluded.name, error = null,
          load_id = case when kept.finished_at is null then excluded.load_id else kept.load_id end,
          process_id = case when kept.finished_at is null then excluded.process_id else kept.process_id end
      where kept.finished_at is not null or ${mayTake('kept.process_id', owner)}
    returning file_id as "fileId", records, records_rejected as rejected, records_by_day as "recordsByDay",
              finished_at is not null as "isFinished"
  `.execute(db);
  return rows[0] && { ...rows[0], processId };
}

/**
 * Moves a file's checkpoint past a batch.
 * @param after the file's position after the batch
 * @throws ClaimLost if the file is no longer this process's, or not at this position
 */
export async function advanceFile(
  trx: Transaction<Database>,
  { fileId, processId, records }: FilePosition,
  after: FilePosition,
  batch: PageCounts,
): Promise<void> {
  const { numAffectedRows } = await sql`
    update gmsi.imported_files
    set records = ${after.records}::bigint, records_rejected = ${after.rejected}::bigint,
        records_by_day = ${JSON.stringify(after.recordsByDay)}::jsonb,
        rows_inserted = rows_inserted + ${batch.rows_inserted}::bigint,
        rows_changed = rows_changed + ${batch.rows_changed}::bigint
    where file_id = ${fileId} and process_id = ${processId} and records = ${records}::bigint and finished_at is null
  `.execute(trx);
  if (numAffectedRows === 0n) throw new ClaimLost('Another import reads this file now.');
}

/** Returns the position of a file once this process has committed the batch that ends there. */
export function fileAfter({ fileId, processId, records }: FilePosition): Position {
  return {
    row: sql`gmsi.imported_files where file_id = ${fileId}`,
    isPast: sql`process_id = ${processId} and records = ${records}::bigint`,
  };
}

/**
 * Marks a file as loaded, because it has no record after this position.
 * @throws ClaimLost if the file is no longer this process's, or not at this position
 */
export async function finishFile(db: Kysely<Database>, at: FilePosition): Promise<void> {
  const { numAffectedRows } = await sql`
    update gmsi.imported_files set finished_at = coalesce(finished_at, clock_timestamp())
    where file_id = ${at.fileId} and process_id = ${at.processId} and records = ${at.records}::bigint
  `.execute(db);
  if (numAffectedRows === 0n) throw new ClaimLost('Another import reads this file now.');
}

/** Stores why a file was not read to its end. */
export async function leaveFile(
  db: Kysely<Database>,
  { fileId, processId }: FilePosition,
  error: string,
): Promise<void> {
  await sql`
    update gmsi.imported_files set error = ${error}
    where file_id = ${fileId} and process_id = ${processId} and finished_at is null
  `.execute(db);
}

type Days = { readonly from: Day; readonly to: Day };

/** Returns true if the warehouse shows all of these files as loaded. */
export async function areFinished(db: Kysely<Database>, fileIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ are: boolean }>`
    select count(f.finished_at) = count(*) as are
    from unnest(${fileIds}::bigint[]) as id left join gmsi.imported_files f on f.file_id = id
  `.execute(db);
  return rows[0]!.are;
}

/**
 * Counts the days of loaded files as covered, unless none of the files has a record. Removes planned windows of these days that
 * have not begun, because nothing is left to request; half-drained ones stay.
 * @returns how many days the files cover
 */
export async function coverByFiles(
  db: Kysely<Database>,
  series: Series,
  files: readonly { readonly fileId: number; readonly days: Days }[],
): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    with stated as materialized (
      select f.file_id, range_agg(file.days::daterange) as days, bool_or(f.records_by_day <> '{}') as has_records
      from unnest(${files.map(({ fileId }) => fileId)}::bigint[], ${files.map(({ days }) => `[${days.from},${days.to}]`)}::text[])
        as file (file_id, days)
      join gmsi.imported_files f using (file_id)
      where f.finished_at is not null
      group by f.file_id
    ), told as (
      update gmsi.imported_files f set covers = coalesce(f.covers, '{}') + stated.days
      from stated where f.file_id = stated.file_id
    ), covered as (
      select range_agg(days) as days from stated having bool_or(has_records)
    ), kept as (
      insert into gmsi.coverage as kept (${seriesColumns}, days)
      select ${seriesValues(series)}, days from covered
      on conflict (${seriesColumns}) do update set days = kept.days + excluded.days, updated_at = now()
    )
    select coalesce(sum(upper(range) - lower(range)), 0) as days from covered, unnest(covered.days) as range
  `.execute(db);
  await sql`
    delete from gmsi.windows w
    where ${isOfSeries('w', series)} and w.state in ('pending', 'failed', 'refused') and w.next_token is null
      and w.days <@ (select c.days from gmsi.coverage c where ${isOfSeries('c', series)})
  `.execute(db);
  return rows[0]!.days;
}

/** Returns the loads of a feed that were imports. */
export async function importsOf(db: Kysely<Database>, feed: string): Promise<number[]> {
  const { rows } = await sql<{ load_id: number }>`
    select load_id from gmsi.loads where command = 'import' and feed = ${feed}`.execute(db);
  return rows.map(({ load_id }) => load_id);
}

/** Returns when the newest imported version of an archive was made; `null` if none was imported. */
export async function newestVersion(db: Kysely<Database>, archive: string): Promise<Date | null> {
  const { rows } = await sql<{ madeAt: Date | null }>`
    select max(made_at) as "madeAt" from gmsi.imported_files where archive = ${archive} and archive <> ''
  `.execute(db);
  return rows[0]!.madeAt;
}
