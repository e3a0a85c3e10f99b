import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { GmsiError } from '../../errors.ts';
import type { Feed, FeedTable, Series } from '../../feeds/feed.ts';
import { isStampedAtEnd } from '../../feeds/hourly-index.ts';
import type { SortedRows } from '../arrays.ts';
import type { Database } from '../database.ts';
import type { WriteTransaction } from '../write-transaction.ts';
import { changedNow } from './rows.ts';
import { idOfSeries, isRowOfSeries } from './series.ts';

/** Stores the rows of a page of a compared window, until the window's drain ends. */
export async function noteSightings(
  trx: Transaction<Database>,
  rows: SortedRows,
  at: { readonly windowId: number; readonly loadId: number; readonly page: number },
): Promise<void> {
  if (rows.length === 0) return;
  const [times, ids] = rows.key;
  await sql`
    insert into gmsi.drain_sightings (window_id, page, row_times, row_ids)
    -- Not for a window that another load has taken over, and may have drained.
    select window_id, ${at.page}::int, ${times}::timestamptz[], ${ids}::uuid[]
    from gmsi.queue where window_id = ${at.windowId} and load_id = ${at.loadId}
    on conflict do nothing
  `.execute(trx);
}

/**
 * Stores which rows only the live feed has returned; removes entries too old for the live feed. Call it before the rows are
 * written: once they are, nothing tells them from rows of the historical feed.
 * @param secondsAgo how long ago the answer was requested
 * @returns the number of its reading, and when it was requested, by the database's clock
 */
export async function noteLiveSightings(
  db: Kysely<Database>,
  feed: Feed,
  series: Series,
  rows: SortedRows,
  { now, secondsAgo }: { readonly now: Date; readonly secondsAgo: number },
): Promise<{ readonly readingId: number; readonly askedAt: string }> {
  const [times, ids] = rows.key;
  const noted = await sql<{ readingId: number; askedAt: string }>`
    with forgotten as (
      delete from gmsi.live_sightings l
      where l.series_id = ${idOfSeries(series)} and l.row_time < ${reachedFrom(feed, now)}
    ), noted as (
      insert into gmsi.live_sightings (series_id, row_time, row_id)
      select ${idOfSeries(series)}, sent.*
      from (select unnest(${times}::timestamptz[]) as row_time, unnest(${ids}::uuid[]) as row_id) as sent
      where ${idOfSeries(series)} is not null and not exists (
        select from ${sql.table(`gmsi.${feed.table.name}`)} as kept
        where ${isRowOfSeries('kept', feed.table, series)} and ${isSame(feed.table, 'sent')} and kept.retracted_at is null)
      on conflict do nothing
    )
    select nextval('gmsi.reading_ids') as "readingId", (clock_timestamp() - make_interval(secs => ${secondsAgo}))::text as "askedAt"
  `.execute(db);
  return noted.rows[0]!;
}

/** A drain ended without too many rows of its days. Probably the service failed, rather than withdrew them all. */
export class TooManyRetractions extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'withdrawn';

  constructor(what: string) {
    super(`${what}.`, { hint: 'If they are really gone, run it again with --accept-retractions.' });
  }
}

/** The most that `gmsi.losses` of a feed may become; the check retraction-bursts uses the same number. */
const mostLosses = 10;

/**
 * Marks rows as retracted that existed when a window's drain began and that no page of the drain had. Call it with the last page.
 * Does not retract
 * - rows that the live feed returned meanwhile, and rows that only the live feed has returned while it still reaches them
 * - rows at the edge of the days, if a probe found that the service's days begin at another hour
 * - hours stamped at their end if that is the beginning of the days, because the service may count them to the day before
 * - rows of days that a reading has had which was asked after this drain
 * @returns how many; 0 if records were rejected, since each may be one of the rows that no page had; and how many rows the days had
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
    /** Rows of the last page, and how many of them were new; those of earlier pages are counted with the window. */
    readonly sent: number;
    readonly inserted: number;
  },
): Promise<{ readonly gone: number; readonly held: number }> {
  const { table } = feed;
  const [time, id] = timeAndId(table);
  const name = sql.table(`gmsi.${table.name}`);
  const isAfterBegin = isStampedAtEnd(series) ? sql`>` : sql`>=`;
  const isCurrentRow = sql`${isRowOfSeries('kept', table, series)} and kept.retracted_at is null
        and kept.${time} ${isAfterBegin} (select begins from drained) and kept.${time} < (select ends from drained)`;
  const { rows } = await sql<{ gone: number; held: number }>`
    with drained as materialized (
      select w.asked_at, (select coalesce(range_agg(daterange(r.first_day, r.last_day, '[]')), '{}') from gmsi.readings r
                          where r.series_id = w.series_id and r.is_whole and r.last_day >= w.first_day and r.asked_at > w.asked_at) as newer,
             (w.first_day::timestamp at time zone 'UTC')
               + make_interval(mins => greatest(0, (f.value ->> 'most')::int)) as begins,
             ((w.last_day + 1)::timestamp at time zone 'UTC')
               + make_interval(mins => least(0, (f.value ->> 'least')::int)) as ends
      from gmsi.queue w
      left join gmsi.learned_facts f on f.feed = ${feed.name} and f.fact = 'day_begin' and jsonb_typeof(f.value) = 'object'
      where w.window_id = ${at.windowId} and w.load_id = ${at.loadId} and w.state = 'draining' and w.is_compared
        and w.records_rejected + ${at.rejected}::int = 0
    ), met as materialized (
      select unnest(s.row_times) as row_time, unnest(s.row_ids) as row_id from gmsi.drain_sightings s
      where s.window_id = ${at.windowId}
    ), done as (
      delete from gmsi.drain_sightings where window_id = ${at.windowId}
    ), confirmed as (
      delete from gmsi.live_sightings l using met
      where l.series_id = ${idOfSeries(series)} and l.row_time = met.row_time and l.row_id = met.row_id
    ), unmet as (
      select kept.${time}, kept.${id} from ${name} as kept
      -- Conditions with values, not a join, so that PostgreSQL reads only the window's days. "not in" is hashed; before the
      -- first ANALYZE, "not exists" is a nested loop, which takes seconds for some thousands of rows.
      where ${isCurrentRow} and kept.changed_at < (select asked_at from drained)
        and not (kept.${time} at time zone 'UTC')::date <@ (select newer from drained)
        and (kept.${time}, kept.${id}) not in (select met.row_time, met.row_id from met)
        and not exists (select from gmsi.live_sightings l where l.series_id = ${idOfSeries(series)}
          and ${isSame(table, 'l')} and l.row_time >= ${reachedFrom(feed, at.now)})
      -- Locks rows in the same order as pages do.
      order by kept.${time}, kept.${id} for update of kept
    ), retracted as (
      update ${name} as kept
      set retracted_at = now(), changed_at = ${sql.raw(changedNow)}, asked_at = (select asked_at from drained),
          load_id = ${at.loadId}::bigint, window_id = ${at.windowId}::bigint
      from unmet
      where ${isRowOfSeries('kept', table, series)} and kept.${time} = unmet.${time} and kept.${id} = unmet.${id}
      returning 1
    ), counted as (
      select count(*) as gone from retracted
    )
    -- What was sent and is not new was there before.
    select gone, gone + greatest(0, records - records_rejected - records_outside + ${at.sent}::int
                                    - rows_inserted - ${at.inserted}::int) as held
    from counted, gmsi.queue where window_id = ${at.windowId} and exists (select from drained)
  `.execute(trx);
  return rows[0] ?? { gone: 0, held: 0 };
}

/**
 * Retracts rows that the service now sends with another publication time, at most 24 hours from the first one: the same
 * headline of a series has the same id. Call it in the transaction that has written rows of a live answer, or of a window that
 * is compared, after `noteSightings`. The row with the new time takes over when the headline was first seen and its first time
 * (`moved_from`), so that the headline is counted once. Does not retract
 * - rows that the answer or the window has, too, because then the service sends both
 * - rows of other days than the answer or the window has, unless the row with the new time has just appeared
 * @returns how many
 */
export async function retractMoved(
  trx: WriteTransaction,
  { table }: Feed,
  series: Series,
  rows: SortedRows,
  {
    loadId,
    windowId,
    askedAt,
  }: { readonly loadId: number; readonly windowId: number | null; readonly askedAt: string },
): Promise<number> {
  if (table.name !== 'headlines') return 0;
  const [times, ids] = rows.key;
  const isLive = windowId === null;
  const days = isLive
    ? sql`select min(row_time) as begins, max(row_time) + interval '1 microsecond' as ends from sent`
    : sql`select w.first_day::timestamp at time zone 'UTC' as begins, (w.last_day + 1)::timestamp at time zone 'UTC' as ends
          from gmsi.queue w where w.window_id = ${windowId}`;
  const met = isLive
    ? sql`select row_time, row_id from sent`
    : sql`select unnest(s.row_times), unnest(s.row_ids) from gmsi.drain_sightings s where s.window_id = ${windowId}`;
  const aDay = 86_400_000;
  // Values, so that PostgreSQL opens only the months of the rows. Dates are cut to milliseconds.
  const from = new Date(rows.times.at(0)! / 1000 - aDay - 1);
  const to = new Date(rows.times.at(-1)! / 1000 + aDay + 1);
  const isNear = sql`kept.published_at between ${from}::timestamptz and ${to}::timestamptz`;
  const found = await sql<{ retracted: number }>`
    with sent as materialized (
      select unnest(${times}::timestamptz[]) as row_time, unnest(${ids}::uuid[]) as row_id
    ), days as materialized (${days}), near as (
      select kept.published_at, kept.headline_id, kept.first_seen_at, kept.is_backfilled, kept.changed_at, kept.retracted_at, kept.asked_at,
             coalesce(kept.moved_from, kept.published_at) as first_time,
             kept.changed_at >= now() and kept.load_id = ${loadId}::bigint as is_written
      from gmsi.headlines as kept
      where ${isRowOfSeries('kept', table, series)}
        and ${isNear}
    ), same as (
      -- A window function, because a join of these rows with themselves may become a nested loop.
      select near.*, max(published_at) filter (where is_written) over of_id as new_time,
             bool_or(first_seen_at = changed_at) filter (where is_written) over of_id as is_new,
             bool_and(is_backfilled) filter (where is_written) over of_id as is_backfilled_now
      from near window of_id as (partition by headline_id)
    ), moved as materialized (
      select same.* from same
      -- A row that was retracted before only hands on when it was first seen.
      where not is_written and changed_at < now() and asked_at <= ${askedAt}::timestamptz and (retracted_at is null or is_new)
        and first_time between new_time - interval '24 hours' and new_time + interval '24 hours'
        and (is_new and not is_backfilled_now
          or published_at >= (select begins from days) and published_at < (select ends from days) and (is_new or exists (
            select from gmsi.headline_revisions before
            where ${isRowOfSeries('before', table, series)} and before.published_at = new_time
              and before.headline_id = same.headline_id and before.known_to >= now() and before.reason = 'returned')))
        and (published_at, headline_id) not in (${met})
    ), changes as (
      select published_at, headline_id, true as is_gone, false as takes_over, first_seen_at, is_backfilled, first_time
      from moved where retracted_at is null
      union all
      (select distinct on (headline_id) new_time, headline_id, false, is_new, first_seen_at, is_backfilled, first_time
       from moved order by headline_id, first_seen_at, first_time)
    ), changed as (
      -- One statement, by which the trigger knows that the headline has moved.
      update gmsi.headlines as kept
      set retracted_at = case when is_gone then now() else kept.retracted_at end,
          changed_at = case when is_gone then ${sql.raw(changedNow)} else kept.changed_at end,
          asked_at = greatest(kept.asked_at, ${askedAt}::timestamptz),
          load_id = ${loadId}::bigint, window_id = ${windowId}::bigint,
          first_seen_at = case when takes_over then changes.first_seen_at else kept.first_seen_at end,
          is_backfilled = case when takes_over then changes.is_backfilled else kept.is_backfilled end,
          moved_from = case when takes_over then nullif(changes.first_time, kept.published_at) else kept.moved_from end
      from changes
      where ${isRowOfSeries('kept', table, series)} and ${isNear}
        and kept.published_at = changes.published_at and kept.headline_id = changes.headline_id
      returning is_gone
    )
    select count(*) filter (where is_gone) as retracted from changed
  `.execute(trx);
  return found.rows[0]!.retracted;
}

/**
 * The brake: an outage may look like rows that were withdrawn, in quiet series, over several loads and jobs, while others answer.
 * So it counts all readings of a feed (`gmsi.losses`), and a drain that would make that too much fails. Drains that lose more than
 * is usual wait here for each other.
 * @throws TooManyRetractions; the caller must roll back
 */
export async function refuseLosses(
  trx: WriteTransaction,
  feed: string,
  { gone, held }: { readonly gone: number; readonly held: number },
): Promise<void> {
  if (gone === 0) return;
  const { rows } = await sql<{ losses: number }>`
    select gmsi.losses_with(${feed}, ${held}::bigint, ${gone}::bigint) as losses`.execute(trx);
  if (rows[0]!.losses <= mostLosses) return;
  throw new TooManyRetractions(
    `The service no longer returns ${gone} of the ${held} rows loaded for these days. With the other rows that have ` +
      'disappeared from this feed lately, that looks like an outage, so none was retracted',
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
    from gmsi.queue w join ${sql.table(`gmsi.${table.name}`)} as kept on ${isInDaysOfWindow(table, series)}
    where w.window_id = ${window_id}`;
  const { rows } = await sql<MetRow>`
    select (extract(epoch from met.time) * 1000000)::bigint as time, met.id::text as id
    from (${is_compared ? noted : held}) as met limit ${atMost}
  `.execute(db);
  return rows;
}
