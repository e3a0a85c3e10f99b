import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { GmsiError } from '../../errors.ts';
import type { Feed, FeedTable, Series } from '../../feeds/feed.ts';
import { isStampedAtEnd } from '../../feeds/hourly-index.ts';
import type { SortedRows } from '../arrays.ts';
import type { Database } from '../database.ts';
import type { WriteTransaction } from '../write-transaction.ts';
import { changedNow } from './rows.ts';
import { isOfSeries, isRowOfSeries, keyOfSeries, seriesColumns, seriesValues } from './series.ts';

/** Stores the rows of a page of a compared window, until the window's drain ends. */
export async function noteSightings(
  trx: Transaction<Database>,
  rows: SortedRows,
  at: { readonly windowId: number; readonly page: number },
): Promise<void> {
  if (rows.length === 0) return;
  const [times, ids] = rows.key;
  await sql`
    insert into gmsi.drain_sightings (window_id, page, row_times, row_ids)
    values (${at.windowId}, ${at.page}, ${times}::timestamptz[], ${ids}::uuid[]) on conflict do nothing
  `.execute(trx);
}

/**
 * Stores which rows only the live feed has returned; removes entries too old for the live feed. Call it before the rows are
 * written: once they are, nothing tells them from rows of the historical feed.
 */
export async function noteLiveSightings(
  db: Kysely<Database>,
  feed: Feed,
  series: Series,
  rows: SortedRows,
  now: Date,
): Promise<void> {
  const [times, ids] = rows.key;
  await sql`
    with forgotten as (
      delete from gmsi.live_sightings l
      where ${isOfSeries('l', series)} and l.row_time < ${reachedFrom(feed, now)}
    )
    insert into gmsi.live_sightings (${seriesColumns}, row_time, row_id)
    select ${seriesValues(series)}, sent.*
    from (select unnest(${times}::timestamptz[]) as row_time, unnest(${ids}::uuid[]) as row_id) as sent
    where not exists (
      select from ${sql.table(`gmsi.${feed.table.name}`)} as kept
      where ${isRowOfSeries('kept', feed.table, series)} and ${isSame(feed.table, 'sent')} and kept.retracted_at is null)
    on conflict do nothing
  `.execute(db);
}

/** Returns true if a load has written any of these rows from the live feed. */
export async function hasLiveRows(
  db: Kysely<Database>,
  table: FeedTable,
  series: Series,
  { rows, loadId }: { readonly rows: SortedRows; readonly loadId: number },
): Promise<boolean> {
  const [times, ids] = rows.key;
  const found = await sql`
    select from (select unnest(${times}::timestamptz[]) as row_time, unnest(${ids}::uuid[]) as row_id) as sent
    join ${sql.table(`gmsi.${table.name}`)} as kept on ${isRowOfSeries('kept', table, series)} and ${isSame(table, 'sent')}
    where kept.load_id = ${loadId}::bigint and kept.window_id is null limit 1
  `.execute(db);
  return found.rows.length > 0;
}

/** A drain ended without most rows of its days. Probably the service failed, rather than withdrew them all. */
export class TooManyRetractions extends GmsiError {
  override readonly kind = 'skippable';

  constructor(what: string) {
    // The message says what to do, because a window's last_error has nothing else.
    super(`${what}. If they are really gone, run it again with --accept-retractions.`);
  }
}

/** Up to this many rows may be retracted even if they are most of a window; the check retraction-bursts uses the same number. */
const fewRetractions = 10;

/**
 * Marks rows as retracted that existed when a window's drain began and that no page of the drain had. Call it with the last page.
 * Does not retract
 * - rows that the live feed returned meanwhile, and rows that only the live feed has returned while it still reaches them
 * - rows at the edge of the days, if a probe found that the service's days begin at another hour
 * - hours stamped at their end if that is the beginning of the days, because the service may count them to the day before
 * @param at.acceptAll false to refuse to retract more than half of the rows that the days had when the drain began
 * @returns how many; 0 if records were rejected, since each may be one of the rows that no page had
 * @throws TooManyRetractions; the caller must roll back
 */
export async function retractUnseen(
  trx: WriteTransaction,
  feed: Feed,
  series: Series,
  at: {
    readonly windowId: number;
    readonly loadId: number;
    readonly rejected: number;
    readonly now: Date;
    readonly acceptAll: boolean;
  },
): Promise<number> {
  const { table } = feed;
  const [time, id] = timeAndId(table);
  const name = sql.table(`gmsi.${table.name}`);
  const isAfterBegin = isStampedAtEnd(series) ? sql`>` : sql`>=`;
  const isCurrentRow = sql`${isRowOfSeries('kept', table, series)} and kept.retracted_at is null
        and kept.${time} ${isAfterBegin} (select begins from drained) and kept.${time} < (select ends from drained)`;
  const { rows } = await sql<{ gone: number; held: number; is_refused: boolean; retracted: number }>`
    with drained as materialized (
      select w.drain_started_at,
             (w.first_day::timestamp at time zone 'UTC')
               + make_interval(mins => greatest(0, (f.value ->> 'most')::int)) as begins,
             ((w.last_day + 1)::timestamp at time zone 'UTC')
               + make_interval(mins => least(0, (f.value ->> 'least')::int)) as ends
      from gmsi.windows w
      left join gmsi.learned_facts f on f.feed = w.feed and f.fact = 'day_begin' and jsonb_typeof(f.value) = 'object'
      where w.window_id = ${at.windowId} and w.load_id = ${at.loadId} and w.state = 'draining' and w.is_compared
        and w.records_rejected + ${at.rejected}::int = 0
    ), met as materialized (
      select unnest(s.row_times) as row_time, unnest(s.row_ids) as row_id from gmsi.drain_sightings s
      where s.window_id = ${at.windowId}
    ), done as (
      delete from gmsi.drain_sightings where window_id = ${at.windowId}
    ), confirmed as (
      delete from gmsi.live_sightings l using met
      where ${isOfSeries('l', series)} and l.row_time = met.row_time and l.row_id = met.row_id
    ), unmet as (
      select kept.${time}, kept.${id} from ${name} as kept
      -- Conditions with values, not a join, so that PostgreSQL reads only the window's days. "not in" is hashed; before the
      -- first ANALYZE, "not exists" is a nested loop, which takes seconds for some thousands of rows.
      where ${isCurrentRow} and kept.changed_at < (select drain_started_at from drained)
        and (kept.${time}, kept.${id}) not in (select met.row_time, met.row_id from met)
        and not exists (select from gmsi.live_sightings l where ${isOfSeries('l', series)}
          and ${isSame(table, 'l')} and l.row_time >= ${reachedFrom(feed, at.now)})
      -- Locks rows in the same order as pages do.
      order by kept.${time}, kept.${id} for update of kept
    ), counted as (
      select *, gone > ${fewRetractions}::int and 2 * gone > held and not ${at.acceptAll}::boolean as is_refused
      from (
        -- Does not count rows that this drain inserted: if all ids have changed, these are as many as the rows that are gone.
        select count(*) as gone, case when count(*) > ${fewRetractions}::int then (
          select count(*) from ${name} as kept
          where ${isCurrentRow} and kept.first_seen_at < (select drain_started_at from drained)) end as held
        from unmet
      ) as counts
    ), gone as (
      select unmet.* from unmet cross join counted where not is_refused
    ), retracted as (
      update ${name} as kept
      set retracted_at = now(), changed_at = ${sql.raw(changedNow)}, load_id = ${at.loadId}::bigint, window_id = ${at.windowId}::bigint
      from gone
      where ${isRowOfSeries('kept', table, series)} and kept.${time} = gone.${time} and kept.${id} = gone.${id}
      returning 1
    )
    select gone, held, is_refused, (select count(*) from retracted) as retracted from counted
  `.execute(trx);
  const { gone, held, is_refused, retracted } = rows[0]!;
  if (is_refused)
    throw new TooManyRetractions(
      `The service no longer returns ${gone} of the ${held} rows that were loaded for these days, so none was retracted`,
    );
  return retracted;
}

/**
 * Counts what a drain has retracted and what the service has sent, by series. A quiet window has too few rows to show an outage, an
 * outage may last for several loads, and other series may answer meanwhile. So this counts all windows of a job, and those of a
 * series for as long as the service sends less than it withdraws. Drains of a job that retract at the same time wait for each other
 * here.
 * @param of.sent rows of the last page; those of earlier pages are counted with the window
 * @throws TooManyRetractions; the caller must roll back
 */
export async function balanceRetractions(
  trx: WriteTransaction,
  job: string,
  of: {
    readonly series: Series;
    readonly windowId: number;
    readonly retracted: number;
    readonly sent: number;
    readonly acceptAll: boolean;
  },
): Promise<void> {
  const key = sql`${keyOfSeries(of.series)}::text`;
  const retracted = of.acceptAll ? 0 : of.retracted;
  const change = sql`(select ${retracted}::bigint - ${of.sent}::bigint - (w.records - w.records_rejected - w.records_outside)
    from gmsi.windows w where w.window_id = ${of.windowId})`;
  const balance = sql`jsonb_build_object(${key}, nullif(greatest(0, coalesce((known.by_series ->> ${key})::bigint, 0) + ${change}), 0))`;
  if (retracted === 0) {
    await sql`
      update gmsi.unconfirmed as known set by_series = jsonb_strip_nulls(known.by_series || ${balance}), updated_at = now()
      where job = ${job} and known.by_series ? ${key}`.execute(trx);
    return;
  }
  const { rows } = await sql<{ rows: number }>`
    insert into gmsi.unconfirmed as known (job, by_series)
    values (${job}, jsonb_strip_nulls(jsonb_build_object(${key}, nullif(greatest(0, ${change}), 0))))
    on conflict (job) do update set by_series = jsonb_strip_nulls(known.by_series || ${balance}), updated_at = now()
    returning (select coalesce(sum(of_series.rows::bigint), 0)::bigint
               from jsonb_each_text(known.by_series) as of_series (series, rows)) as rows`.execute(trx);
  const unconfirmed = rows[0]!.rows;
  if (unconfirmed > fewRetractions)
    throw new TooManyRetractions(
      `With these days, ${unconfirmed} more rows of this job's series would be retracted than the service has sent of them since, as in an outage, so none of these days was retracted`,
    );
}

/** Returns the condition that the table has rows of a window, called `w` in the query, for its drain to compare with. */
export function hasRowsOf(table: FeedTable, series: Series): RawBuilder<boolean> {
  return sql`exists (
    select from ${sql.table(`gmsi.${table.name}`)} as kept where ${isInDaysOfWindow(table, series)})`;
}

/** Returns the condition that a row, called `kept` in the query, is of a series and lies in the days of the window `w`. */
function isInDaysOfWindow(table: FeedTable, series: Series): RawBuilder<boolean> {
  const [time] = timeAndId(table);
  return sql`(${isRowOfSeries('kept', table, series)}
      and kept.${time} >= (w.first_day::timestamp at time zone 'UTC')
      and kept.${time} < ((w.last_day + 1)::timestamp at time zone 'UTC'))`;
}

/** Returns the columns with a row's time and its id, which together with the series are the key of every feed's table. */
function timeAndId({ key }: FeedTable) {
  return key.map((column) => sql.ref(column)) as [RawBuilder<unknown>, RawBuilder<unknown>];
}

/** Returns the publication time of the oldest rows that the live feed still returns; our best guess. */
function reachedFrom({ live }: Feed, now: Date): RawBuilder<Date> {
  return sql`${new Date(now.getTime() - (live?.hours ?? 0) * 3_600_000)}::timestamptz`;
}

/** Returns the condition that the row `kept` of the query is the one that another row names by `row_time` and `row_id`. */
function isSame(table: FeedTable, alias: string): RawBuilder<boolean> {
  const [time, id] = timeAndId(table);
  return sql`(kept.${time} = ${sql.ref(`${alias}.row_time`)} and kept.${id} = ${sql.ref(`${alias}.row_id`)})`;
}

/** A row by its time, in microseconds since 1970, and its id. */
export interface MetRow {
  readonly time: number;
  readonly id: string;
}

/**
 * Returns the rows that earlier pages of a half-drained window had. A compared window has stored them. The days of any other
 * window were empty when its drain began, so all their rows count. The drain does not count these rows again, so its count is
 * never too high.
 */
export async function metSoFar(
  db: Kysely<Database>,
  { table, series }: { readonly table: FeedTable; readonly series: Series },
  { window_id, is_compared }: { readonly window_id: number; readonly is_compared: boolean },
  atMost: number,
): Promise<MetRow[]> {
  const [time, id] = timeAndId(table);
  const noted = sql`
    select unnest(s.row_times) as time, unnest(s.row_ids) as id from gmsi.drain_sightings s
    where s.window_id = ${window_id}`;
  const held = sql`
    select kept.${time} as time, kept.${id} as id
    from gmsi.windows w join ${sql.table(`gmsi.${table.name}`)} as kept on ${isInDaysOfWindow(table, series)}
    where w.window_id = ${window_id}`;
  const { rows } = await sql<MetRow>`
    select (extract(epoch from met.time) * 1000000)::bigint as time, met.id::text as id
    from (${is_compared ? noted : held}) as met limit ${atMost}
  `.execute(db);
  return rows;
}
