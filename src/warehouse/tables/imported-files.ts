import { type Kysely, sql, type Transaction } from 'kysely';
import type { FeedTable, Series } from '../../feeds/feed.ts';
import type { PageCounts, Position } from '../commit.ts';
import type { Database, Day } from '../database.ts';
import { ClaimLost } from '../errors.ts';
import { mayTake, type Owner } from './processes.ts';
import { type AskedDays, leaveQueue, recordReading, sameColumns } from './readings.ts';
import { idOfSeries, isRowOfSeries, nameOfSeries, seriesColumns, seriesValues } from './series.ts';

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
  const row = sql`gmsi.imported_files where file_id = ${fileId}`;
  const isPast = sql<boolean>`exists (select from ${row} and process_id = ${processId} and records = ${records}::bigint)`;
  return { row, isPast };
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

/** The days that a file covers, and when it was made, or was known as the user says. */
export interface CoveringFile extends AskedDays {
  readonly fileId: number;
  readonly days: Days;
  readonly knownAt?: string | undefined;
}

/**
 * Records what files say of their days, unless none of them has a record. Removes planned windows of these days that have not begun,
 * because nothing is left to request; half-drained ones stay.
 * @returns how many days the files cover
 */
export async function coverByFiles(
  db: Kysely<Database>,
  series: Series,
  files: readonly CoveringFile[],
): Promise<number> {
  const each = (of: (file: CoveringFile) => unknown) => sql`${files.map(of)}`;
  await sql`
    insert into gmsi.series (${seriesColumns}) values (${seriesValues(series)}) on conflict do nothing`.execute(
    db,
  );
  const stated = sql`stated as materialized (
      select f.file_id, f.load_id, f.records, f.rows_inserted, f.rows_changed, f.records_rejected,
             coalesce(known_at, f.made_at) as asked_at, coalesce(known_at, clock_timestamp()) as completed_at, ${idOfSeries(series)} as series_id,
             first_day, last_day, asked_on, settled_before, bool_or(f.records_by_day <> '{}') over () as have_records
      from unnest(${each(({ fileId }) => fileId)}::bigint[], ${each(({ days }) => days.from)}::date[], ${each(({ days }) => days.to)}::date[],
                  ${each(({ askedOn }) => askedOn)}::date[], ${each(({ settledBefore }) => settledBefore)}::date[],
                  ${each(({ knownAt }) => knownAt ?? null)}::timestamptz[])
        as file (file_id, first_day, last_day, asked_on, settled_before, known_at)
      join gmsi.imported_files f using (file_id)
      where f.finished_at is not null
    ), covering as (
      -- Not what an import of the same file has said before.
      select * from stated s
      where have_records and not exists (
        select from gmsi.readings r
        where r.series_id = s.series_id and r.load_id = s.load_id and r.source = 'f'
          and (r.first_day, r.last_day, r.asked_at) = (s.first_day, s.last_day, s.asked_at))
    )`;
  const reading = {
    ...sameColumns(
      'asked_at',
      'completed_at',
      'load_id',
      'series_id',
      'first_day',
      'last_day',
      'asked_on',
      'settled_before',
    ),
    ...sameColumns('records', 'rows_inserted', 'rows_changed', 'records_rejected'),
    // A file may cover several ranges of days, also by a later import.
    reading_id: sql`case when row_number() over (partition by file_id order by first_day) = 1
      and not exists (select from gmsi.readings r where r.reading_id = file_id) then file_id else nextval('gmsi.reading_ids') end`,
    source: sql`'f'::"char"`,
    is_whole: sql`true`,
  };
  await recordReading(stated, reading, sql`covering`).execute(db);
  const { rows } = await sql<{ days: number }>`
    with ${stated}
    select coalesce(sum(upper(range) - lower(range)), 0) as days
    from (select range_agg(daterange(first_day, least(last_day, settled_before - 1), '[]')) as days from stated where have_records) as covered,
         unnest(covered.days) as range`.execute(db);
  await leaveQueue(sql`series_id = ${idOfSeries(series)} and state in ('pending', 'failed', 'refused') and next_token is null
    and days <@ (select c.covered from gmsi.series_days c where c.series_id = ${idOfSeries(series)})`).execute(
    db,
  );
  return rows[0]!.days;
}

/** A day of which the warehouse has more rows than files have records. */
export interface DayWithMoreRows {
  /** Its series, as a text for a person. */
  readonly series: string;
  readonly day: Day;
  readonly rows: number;
  readonly records: number;
}

/**
 * Counts the days of files on which their series has more current rows than all of these files together have records, as after
 * a file that an older one contradicts: a file never retracts. Returns the first of them as an example.
 */
export async function daysWithMoreRows(
  db: Kysely<Database>,
  table: FeedTable,
  series: Series,
  files: readonly { readonly fileId: number; readonly days: Days }[],
): Promise<{ days: number; example: DayWithMoreRows | undefined }> {
  const time = sql.ref(`kept.${table.key[0]}`);
  const { rows } = await sql<DayWithMoreRows & { readonly days: number }>`
    with covered as materialized (
      select range_agg(days::daterange) as days
      from unnest(${files.map(({ days }) => `[${days.from},${days.to}]`)}::text[]) as days
    ), held as (
      select (${time} at time zone 'UTC')::date as day, count(*) as rows
      from ${sql.table(`gmsi.${table.name}`)} as kept, covered
      where ${isRowOfSeries('kept', table, series)} and kept.retracted_at is null
        and ${time} >= lower(days)::timestamp at time zone 'UTC' and ${time} < upper(days)::timestamp at time zone 'UTC'
      group by 1
    ), met as (
      select met.day::date as day, sum(met.records::bigint)::bigint as records
      from gmsi.imported_files f cross join jsonb_each_text(f.records_by_day) as met (day, records)
      where f.file_id = any(${files.map(({ fileId }) => fileId)}::bigint[])
      group by 1
    )
    select ${nameOfSeries('named')} as series, held.day::text, rows, coalesce(records, 0) as records, count(*) over () as days
    from held cross join covered cross join (select ${seriesValues(series)}) as named (${seriesColumns})
    left join met using (day)
    where covered.days @> held.day and rows > coalesce(records, 0)
    order by held.day limit 1
  `.execute(db);
  const [first] = rows;
  if (!first) return { days: 0, example: undefined };
  const { days, ...example } = first;
  return { days, example };
}

/** Returns when the newest imported version of an archive was made; `null` if none was imported. */
export async function newestVersion(db: Kysely<Database>, archive: string): Promise<Date | null> {
  const { rows } = await sql<{ madeAt: Date | null }>`
    select max(made_at) as "madeAt" from gmsi.imported_files where archive = ${archive} and archive <> ''
  `.execute(db);
  return rows[0]!.madeAt;
}
