import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';
import { askIn, rowLock, takeLock, type Waiting } from '../turns.ts';
import { leaveQueue } from './readings.ts';
import {
  askedSeries,
  inScope,
  isOpen,
  queued,
  sameSeries,
  seriesArrays,
  seriesColumns,
  seriesOf,
  type WindowScope,
} from './series.ts';

interface Planned extends Series {
  /** True if a sync is to load these days. */
  readonly of_sync: boolean;
}

export interface PlannedWindow extends Planned {
  readonly first_day: Day;
  readonly last_day: Day;
}

/** Days that are neither covered nor in a window that is open or refused. */
export interface Gap extends Planned {
  readonly from: Day;
  readonly to: Day;
}

/**
 * Runs a transaction that plans a feed, while no other one does: two runs would plan the same days. Every statement gets its own
 * plan: generic plans made batches of windows a hundred times slower from the sixth on.
 */
export async function planAlone<T>(
  warehouse: Kysely<Database>,
  feed: string,
  waiting: Waiting,
  plan: (trx: Transaction<Database>) => Promise<T>,
): Promise<T> {
  const turn = `planning ${feed}`;
  // On its own: in the transaction, another one that needs the row for the first time would wait for its end in the server.
  await sql`insert into gmsi.turns (turn) values (${turn}) on conflict do nothing`.execute(warehouse);
  return warehouse.transaction().execute(async (trx) => {
    await takeLock(askIn(trx), rowLock('gmsi.turns', 'turn', turn), waiting);
    await sql`set local plan_cache_mode = force_custom_plan`.execute(trx);
    return plan(trx);
  });
}

/** The days of a backfill, or of a sync, which begins with `gmsi.sync_from` and has no unsettled day covered. */
export type WantedDays = { readonly ignoreCoverage: boolean } | { readonly firstUnsettled: Day };

/** The unsettled days of a load, which are never covered. */
export interface UnsettledDays {
  readonly firstUnsettled: Day;
  /** They are no gap if they were read whole since this load began. */
  readonly readBy: number;
}

/** Returns the wanted days minus covered days minus days of windows, per series, in the order of time. */
export async function findGaps(
  db: Kysely<Database>,
  scope: WindowScope,
  wanted: WantedDays,
  unsettled?: UnsettledDays,
): Promise<Gap[]> {
  const series =
    'firstUnsettled' in wanted
      ? syncSince(scope, wanted.firstUnsettled)
      : sql`select asked.*, ${scope.from}::date as since,
          case when ${wanted.ignoreCoverage}::boolean then '{}' else coalesce(c.covered, '{}') end as covered
        from ${askedSeries(scope)} left join gmsi.series_days c using (series_id)`;
  const { rows } = await sql<Gap>`
    with standing as materialized (${standingWindows(scope)}), wanted as (${series})
    select ${seriesOf('wanted')}, lower(gap)::text as from, (upper(gap) - 1)::text as to, ${'firstUnsettled' in wanted}::boolean as of_sync
    from wanted
    left join standing using (series_id)
    left join lateral (${unsettled ? readSince(unsettled) : sql`select null::datemultirange as days`}) as reread on true
    cross join lateral unnest(
      datemultirange(daterange(since, ${scope.to}::date, '[]')) - coalesce(standing.days, '{}') - coalesce(reread.days, '{}') - covered
    ) as gap
    where since <= ${scope.to}::date
    order by ${seriesOf('wanted')}, gap
  `.execute(db);
  return rows;
}

/**
 * Returns the first day that a sync may drain, by series, and the days that are covered before the unsettled ones. What an earlier
 * sync has planned, and no load has drained yet, is a sync's to drain, however old it is.
 */
function syncSince(scope: WindowScope, firstUnsettled: Day): RawBuilder<unknown> {
  const latest = sql`${firstUnsettled}::date`;
  return sql`
      select asked.*, c.watch_here, coalesce(c.covered, '{}') * datemultirange(daterange(null, ${latest})) as covered,
             greatest(${scope.from}::date, least(planned.first_day,
                      gmsi.sync_from(c.watch_from, coalesce(c.covered, '{}'), ${latest}))) as since
      from ${askedSeries(scope)} left join gmsi.series_days c using (series_id)
      left join (
        select w.series_id, min(w.first_day) as first_day from gmsi.queue w where w.of_sync group by 1
      ) as planned using (series_id)`;
}

/** Returns the earliest day that a sync of these series may drain; `null` if their period ends before it. */
export async function findSyncBegin(
  db: Kysely<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<Day | null> {
  const { rows } = await sql<{ since: Day | null }>`
    select min(since) as since from (${syncSince(scope, firstUnsettled)}) as wanted where since <= ${scope.to}::date
  `.execute(db);
  return rows[0]!.since;
}

/** Returns the days of a job's windows in the queue, per series, without those that planning joins. */
function standingWindows(scope: WindowScope): RawBuilder<unknown> {
  return sql`
      select w.series_id, range_agg(w.days) as days
      from ${queued}
      where ${inScope(scope)} and not ${isJoined(scope)}
      group by w.series_id`;
}

/** Returns the unsettled days of the series of a row `wanted` that were read whole since a load began, or by it. */
function readSince({ firstUnsettled, readBy }: UnsettledDays): RawBuilder<unknown> {
  return sql`
      select range_agg(daterange(greatest(r.first_day, ${firstUnsettled}::date), r.last_day, '[]')) as days
      from gmsi.readings r join gmsi.loads l on l.load_id = ${readBy}::bigint
      where r.series_id = wanted.series_id and r.is_whole and r.last_day >= ${firstUnsettled}::date
        and (r.load_id = l.load_id or r.completed_at >= l.started_at)`;
}

/** When the series of a job were last polled: read to the day of the reading. And when a reading of recent days last had news. */
export interface SeriesHabit extends Series {
  /** `null` before the first poll. */
  readonly polled_at: Date | null;
  /** If none had news, the beginning of the watch. */
  readonly news_at: Date | null;
}

/** Returns the habits of all series of a job whose period is not over. */
export async function readHabits(
  db: Kysely<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<SeriesHabit[]> {
  const { rows } = await sql<SeriesHabit>`
    select ${seriesOf('wanted')}, poll.asked_at as polled_at, coalesce(news.asked_at, watch_here) as news_at
    from (${syncSince(scope, firstUnsettled)}) as wanted
    -- From the end of the index: history takes no time.
    left join lateral (
      select r.asked_at from gmsi.readings r
      where r.series_id = wanted.series_id and r.is_whole and r.source = 'w' and r.last_day >= r.asked_on
      order by r.last_day desc, r.asked_at desc limit 1
    ) as poll on true
    left join lateral (
      select r.asked_at from gmsi.readings r
      where r.series_id = wanted.series_id and r.last_day >= r.settled_before and r.rows_inserted + r.rows_changed > 0
      order by r.asked_at desc limit 1
    ) as news on true
    where since <= ${scope.to}::date
  `.execute(db);
  return rows;
}

/**
 * Returns the condition that planning joins a window `w` with others of its series, because answers run to now: nobody drains
 * it, and its first page is still to be requested, or was requested up to an `end_date` that the service ignores.
 */
export function isJoined({ isOpenEnded = false }: WindowScope): RawBuilder<boolean> {
  if (!isOpenEnded) return sql`false`;
  return sql`(w.state in ('pending', 'failed') and w.refused_with is null
    and (w.next_token is null or w.request_end is not null))`;
}

/**
 * If answers run to now, joins the open windows of each series into one, from its earliest to today, because the answer to
 * each window includes the answers to later ones. Such windows were planned on an earlier day, by another job, or for another
 * reading of `end_date`.
 */
export async function joinOpenWindows(db: Kysely<Database>, scope: WindowScope, today: Day): Promise<void> {
  if (!scope.isOpenEnded) return;
  const { rows } = await sql<{ joined: number[] }>`
    with free as materialized (
      -- Locked, so that no load claims one of these windows meanwhile.
      select w.* from ${queued} where ${inScope(scope)} and ${isJoined(scope)} for update of w
    ), joined as (
      select array_agg(window_id order by first_day, window_id) as ids, bool_or(of_sync) as of_sync from free group by series_id
    )
    update gmsi.queue w set last_day = greatest(w.last_day, ${today}::date), next_token = null, of_sync = joined.of_sync
    from joined where w.window_id = ids[1]
    returning ids[2:] as joined
  `.execute(db);
  const later = rows.flatMap(({ joined }) => joined);
  if (later.length > 0) await leaveQueue(sql`window_id = any(${later}::bigint[])`).execute(db);
}

/**
 * Removes windows that are longer than now allowed, so that they can be cut; also refused ones, because the service
 * may have refused the long request; never a window with a cursor, whose pages would be requested again. If answers run to
 * now, no window is too long.
 * @returns their days, which are to be planned again
 */
export async function takeLongWindows(
  db: Kysely<Database>,
  scope: WindowScope,
  maxDays: number,
): Promise<Gap[]> {
  if (scope.isOpenEnded) return [];
  const { rows } = await sql<Gap & { id: number }>`
    select w.window_id as id, ${seriesOf('s')}, w.first_day::text as from, w.last_day::text as to, w.of_sync
    from ${queued}
    where ${inScope(scope)} and w.state in ('pending', 'failed', 'refused') and w.next_token is null
      and w.last_day - w.first_day + 1 > ${maxDays}::int
    order by ${seriesOf('s')}, w.first_day for update of w`.execute(db);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await leaveQueue(sql`window_id = any(${ids}::bigint[])`).execute(db);
  return rows;
}

/** Plans windows, unless one of exactly these days is open. */
export async function insertWindows(db: Kysely<Database>, windows: readonly PlannedWindow[]): Promise<void> {
  const days = (name: 'first_day' | 'last_day') => sql`${windows.map((window) => window[name])}::date[]`;
  await sql`
    insert into gmsi.queue (series_id, first_day, last_day, of_sync)
    select s.series_id, planned.first_day, planned.last_day, planned.of_sync
    from unnest(${seriesArrays(windows)}, ${days('first_day')}, ${days('last_day')}, ${windows.map(({ of_sync }) => of_sync)}::boolean[])
      as planned (${seriesColumns}, first_day, last_day, of_sync)
    join gmsi.series s on ${sameSeries('s', 'planned')}
    -- Looks up each window by the index. Otherwise, while the statistics show no open window, PostgreSQL would compare each
    -- planned window with all windows of the batches before.
    left join lateral (
      select true as stands from gmsi.queue w
      where ${isOpen} and w.series_id = s.series_id and (w.first_day, w.last_day) = (planned.first_day, planned.last_day)
      limit 1
    ) as same on true
    where same.stands is null
  `.execute(db);
}

/**
 * Returns the windows of a grid that were drained longest ago: each as long ago as the day of it that was. Without windows
 * that have days that are not covered, were only imported, or are in a window of the queue.
 */
export async function findOldest(
  db: Kysely<Database>,
  scope: WindowScope,
  grid: readonly { readonly from: Day; readonly to: Day }[],
  atMost: number,
): Promise<PlannedWindow[]> {
  const { rows } = await sql<PlannedWindow>`
    with standing as (${standingWindows(scope)}), grid as materialized (
      select daterange(first_day, last_day, '[]') as days
      from unnest(${grid.map(({ from }) => from)}::date[], ${grid.map(({ to }) => to)}::date[]) as g (first_day, last_day)
    )
    select ${seriesOf('asked')}, lower(g.days)::text as first_day, (upper(g.days) - 1)::text as last_day, false as of_sync
    from ${askedSeries(scope)}
    join gmsi.series_days c using (series_id)
    left join standing using (series_id)
    cross join lateral (
      -- The newest moment since which all days of each were drained.
      select since.days, max(since.completed_at) as drained_at
      from (
        select grid.days, r.completed_at,
               range_agg(daterange(r.first_day, r.last_day, '[]'))
                 over (partition by grid.days order by r.completed_at desc, r.reading_id) as drained
        from gmsi.readings r join grid on daterange(r.first_day, r.last_day, '[]') && grid.days
        where r.series_id = asked.series_id and r.is_whole and r.source = 'w'
      ) as since
      where since.drained @> since.days
      group by since.days
    ) as g
    where c.covered @> g.days and not g.days && coalesce(standing.days, '{}')
    order by g.drained_at, g.days, ${seriesOf('asked')}
    limit ${atMost}::int
  `.execute(db);
  return rows;
}

/** Removes the refused windows of a job, so that their days are planned again. */
export async function forgetRefused(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await leaveQueue(sql`window_id in (
    select w.window_id from ${queued} where ${inScope(scope)} and w.state = 'refused')`).execute(db);
}
