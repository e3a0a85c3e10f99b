import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';
import { askIn, rowLock, takeLock, type Waiting } from '../turns.ts';
import {
  askedSeries,
  inScope,
  isOpen,
  sameSeries,
  seriesArrays,
  seriesColumns,
  seriesOf,
  type WindowScope,
} from './series.ts';

export interface PlannedWindow extends Series {
  readonly first_day: Day;
  readonly last_day: Day;
}

/** Days that are neither covered nor in a window that is open or refused. */
export interface Gap extends Series {
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

/** The days of a backfill, or of a sync, which begins with `syncSince` and has no unsettled day covered. */
export type WantedDays = { readonly ignoreCoverage: boolean } | { readonly firstUnsettled: Day };

/** The unsettled days of a load, which are never covered. */
export interface UnsettledDays {
  readonly firstUnsettled: Day;
  /** They are no gap if this load, or another one since it began, has drained them. */
  readonly drainedBy: number;
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
          case when ${wanted.ignoreCoverage}::boolean then '{}' else coalesce(c.days, '{}') end as covered
        from ${askedSeries(scope)} left join gmsi.coverage c on ${sameSeries('c', 'asked')}`;
  const { rows } = await sql<Gap>`
    with standing as (${standingWindows(scope)}), wanted as (${series}), drained as (${drainedWindows(scope, unsettled)})
    select ${seriesOf('wanted')}, lower(gap)::text as from, (upper(gap) - 1)::text as to
    from wanted
    left join standing on ${sameSeries('standing', 'wanted')}
    left join drained on ${sameSeries('drained', 'wanted')}
    cross join lateral unnest(
      datemultirange(daterange(since, ${scope.to}::date, '[]')) - coalesce(standing.days, '{}') - coalesce(drained.days, '{}') - covered
    ) as gap
    where since <= ${scope.to}::date
    order by ${seriesOf('wanted')}, gap
  `.execute(db);
  return rows;
}

/**
 * Returns the first day that a sync may drain, by series: the first uncovered day since earlier syncs began, even if later
 * days are covered, or the end of the coverage; at the latest `firstUnsettled`. And the days that are covered before that.
 */
export function syncSince(scope: WindowScope, firstUnsettled: Day): RawBuilder<unknown> {
  const latest = sql`${firstUnsettled}::date`;
  return sql`
      select asked.*, coalesce(c.days, '{}') * datemultirange(daterange(null, ${latest})) as covered, greatest(${scope.from}::date, least(coalesce(upper(c.days), ${latest}), ${latest},
        case when asked_for.settle_from < ${latest} then
          lower(datemultirange(daterange(asked_for.settle_from, ${latest})) - coalesce(c.days, '{}')) end)) as since
      from ${askedSeries(scope)} left join gmsi.coverage c on ${sameSeries('c', 'asked')}
      left join gmsi.cadence asked_for on ${sameSeries('asked_for', 'asked')}`;
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

/** Returns the days of a job's open and refused windows, per series, without those that planning joins. */
function standingWindows(scope: WindowScope): RawBuilder<unknown> {
  return sql`
      select ${seriesOf('w')}, range_agg(w.days) as days
      from gmsi.windows w
      where ${inScope(scope)} and w.state in ('pending', 'draining', 'failed', 'refused') and not ${isJoined(scope)}
      group by ${seriesOf('w')}`;
}

/** Returns the unsettled days that a load, or another one since it began, has drained, per series. */
function drainedWindows(scope: WindowScope, unsettled: UnsettledDays | undefined): RawBuilder<unknown> {
  const { firstUnsettled = null, drainedBy = null } = unsettled ?? {};
  return sql`
      select ${seriesOf('w')}, range_agg(w.days * daterange(${firstUnsettled}::date, null)) as days
      from gmsi.windows w join gmsi.loads l on l.load_id = ${drainedBy}::bigint
      where ${inScope(scope)} and w.state = 'drained' and (w.load_id = l.load_id or w.finished_at >= l.started_at)
      group by ${seriesOf('w')}`;
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
  await sql`
    with free as materialized (
      -- Locked, so that no load claims one of these windows meanwhile.
      select w.* from gmsi.windows w where ${inScope(scope)} and ${isJoined(scope)} for update
    ), placed as (
      select w.window_id, row_number() over (partition by ${seriesOf('w')} order by w.first_day, w.window_id) as place
      from free w
    ), later as (
      delete from gmsi.windows w using placed where placed.window_id = w.window_id and place > 1
    )
    update gmsi.windows w set last_day = greatest(w.last_day, ${today}::date), next_token = null
    from placed where placed.window_id = w.window_id and place = 1
  `.execute(db);
}

/**
 * Removes windows that are longer than now allowed, so that they are planned again; also refused ones, because the service
 * may have refused the long request; never a window with a cursor, whose pages would be requested again. If answers run to
 * now, no window is too long.
 */
export async function dropLongWindows(
  db: Kysely<Database>,
  scope: WindowScope,
  maxDays: number,
): Promise<void> {
  if (scope.isOpenEnded) return;
  await sql`
    delete from gmsi.windows w
    where ${inScope(scope)} and w.state in ('pending', 'failed', 'refused') and w.next_token is null
      and w.last_day - w.first_day + 1 > ${maxDays}::int
  `.execute(db);
}

/** Plans windows. A drained or open window of exactly these days is used again. */
export async function insertWindows(db: Kysely<Database>, windows: readonly PlannedWindow[]): Promise<void> {
  const days = (name: 'first_day' | 'last_day') => sql`${windows.map((window) => window[name])}::date[]`;
  const isSame = sql`(${sameSeries('w', 'planned')} and (w.first_day, w.last_day) = (planned.first_day, planned.last_day))`;
  await sql`
    with planned as (
      select * from unnest(${seriesArrays(windows)}, ${days('first_day')}, ${days('last_day')})
        as planned (${seriesColumns}, first_day, last_day)
    ), again as (
      update gmsi.windows w set state = 'pending', planned_at = now(), finished_at = null
      from planned
      where w.state = 'drained' and ${isSame}
    )
    insert into gmsi.windows (${seriesColumns}, first_day, last_day)
    select planned.* from planned
    -- Looks up each window by the index. Otherwise, while the statistics show no open window, PostgreSQL would compare each
    -- planned window with all windows of the batches before.
    left join lateral (
      select true as stands from gmsi.windows w
      where (${isOpen} or w.state = 'drained') and ${isSame}
      limit 1
    ) as same on true
    where same.stands is null
  `.execute(db);
}

/**
 * Returns the windows of a grid that were drained longest ago: each as long ago as the day of it that was. Without windows
 * that have days that are not covered, were only imported, or are in a window that is open or refused.
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
    select asked.*, lower(g.days)::text as first_day, (upper(g.days) - 1)::text as last_day
    from ${askedSeries(scope)}
    join gmsi.coverage c on ${sameSeries('c', 'asked')}
    left join standing on ${sameSeries('standing', 'asked')}
    cross join lateral (
      -- The newest moment since which all days of each were drained.
      select since.days, max(since.finished_at) as drained_at
      from (
        select grid.days, w.finished_at,
               range_agg(w.days) over (partition by grid.days order by w.finished_at desc, w.window_id) as drained
        from gmsi.windows w join grid on w.days && grid.days
        where ${sameSeries('w', 'asked')} and w.state = 'drained'
      ) as since
      where since.drained @> since.days
      group by since.days
    ) as g
    where c.days @> g.days and not g.days && coalesce(standing.days, '{}')
    order by g.drained_at, g.days, ${seriesOf('asked')}
    limit ${atMost}::int
  `.execute(db);
  return rows;
}

/** Removes the refused windows of a job, so that their days are planned again. */
export async function forgetRefused(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`delete from gmsi.windows w where ${inScope(scope)} and w.state = 'refused'`.execute(db);
}
