import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Database } from '../database.ts';
import { inScope, sameSeries, seriesColumns, seriesOf, type WindowScope } from './series.ts';

/*
 * Decides what a refusal means, for one series at a time and only from its windows:
 *
 * - A window that the service refuses is `failed`, and the next load requests it again. If it is refused again with the
 *   same status, it is `refused`.
 * - Two neighbours that are refused with the same status are both `refused`, and older windows of their series are skipped
 *   (`refused` without a request), unless anything older was ever answered.
 * - If the service answers anything older than a refused window, this is undone.
 * - Each load requests a few of them again, so that a refusal is never final.
 */

/** Returns the condition that the service has answered days of the series of window `w`: those within a range of days. */
const isAnswered = (range: RawBuilder<unknown>) => sql<boolean>`(
  exists (select from gmsi.windows a where ${sameSeries('a', 'w')} and (a.state = 'drained' or a.pages > 0) and a.days && ${range})
  or exists (select from gmsi.coverage a where ${sameSeries('a', 'w')} and a.days && ${range}))`;

const older = sql`daterange(null, w.first_day)`;
const younger = sql`daterange(w.last_day + 1, null)`;

/** Locks a series, so that the later of two deciding transactions sees what the earlier one wrote. */
async function lockSeriesOf(trx: Transaction<Database>, windowId: number): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtext('gmsi.refusals'), hashtext((${seriesOf('w')})::text))
    from gmsi.windows w where window_id = ${windowId}
  `.execute(trx);
}

/** How a refused window was left. */
export interface RefusedWindow {
  readonly state: 'failed' | 'refused';
  /** Older windows of its series that are skipped because of it. */
  readonly skipped: number;
  /** Windows, including this one, that are failed or refused now and that this load has not counted yet. */
  readonly counted: number;
  /** True if younger days of its series were answered, so the series probably begins later. */
  readonly is_older_than_answered: boolean;
}

/**
 * Leaves a claimed window that the service has refused.
 * @returns `undefined`, having changed nothing, if another load has the window
 */
export async function leaveRefused(
  trx: Transaction<Database>,
  at: { windowId: number; loadId: number },
  refusal: { status: number; error: string },
): Promise<RefusedWindow | undefined> {
  await lockSeriesOf(trx, at.windowId);
  const isNeighbour = sql`(n.last_day = w.first_day - 1 or n.first_day = w.last_day + 1)`;
  const isAlike = sql`(n.state in ('failed', 'refused') and n.refused_with = ${refusal.status})`;
  const { rows } = await sql<RefusedWindow>`
    with w as (
      select * from gmsi.windows where window_id = ${at.windowId} and state = 'draining' and load_id = ${at.loadId} for update
    ), seen as (
      -- A refusal of a later page says nothing about the days, since the first page was answered.
      select w.*, w.pages = 0 and w.next_token is null as is_of_days,
             ${isAnswered(younger)} as has_younger, ${isAnswered(older)} as has_older,
             exists (select from gmsi.windows n where ${sameSeries('n', 'w')} and ${isNeighbour} and ${isAlike}
               or ${sameSeries('n', 'w')} and n.first_day = w.last_day + 1 and n.state = 'refused') as has_refused_neighbour
      from w
    ), judged as (
      select w.*, is_of_days and has_refused_neighbour and not has_older as ends_series,
             is_of_days and (has_refused_neighbour and not has_older
               or coalesce(w.refused_with = ${refusal.status}, false)) as is_refused
      from seen w
    ), meant as (
      select n.window_id, n.window_id = w.window_id as is_itself, n.refused_with is not null as was_asked, w.is_of_days, w.is_refused,
             w.has_younger, n.state = 'pending' or n.load_id is distinct from ${at.loadId} as is_new
      from judged w join gmsi.windows n on ${sameSeries('n', 'w')}
      where n.window_id = w.window_id or (w.ends_series and n.next_token is null and (
        (n.state = 'failed' and (n.last_day < w.first_day or (n.first_day = w.last_day + 1 and ${isAlike})))
        -- Not windows that are already being requested again: they lie below refused ones, or were refused themselves.
        or (n.state = 'pending' and n.refused_with is null and n.last_day < w.first_day
          and not exists (select from gmsi.windows r where ${sameSeries('r', 'w')} and r.state = 'refused'
            and r.first_day > n.last_day and r.last_day < w.first_day))))
      order by n.window_id for update of n
    ), left_so as (
      update gmsi.windows n
      set state = case when m.is_itself and not m.is_refused then 'failed' else 'refused' end,
          refused_with = case when not m.is_itself then n.refused_with when m.is_of_days then ${refusal.status}::int end,
          last_error = case when m.is_itself then ${refusal.error} when m.was_asked then n.last_error else
            'not requested: older than two windows that the service refused: ' || ${refusal.error}::text end,
          finished_at = case when m.was_asked and not m.is_itself then n.finished_at else now() end
      from meant m where m.window_id = n.window_id
      returning n.state, m.*
    )
    select max(state) filter (where is_itself) as state, bool_or(has_younger) as is_older_than_answered,
           count(*) filter (where not is_itself and not was_asked) as skipped,
           count(*) filter (where is_itself or is_new) as counted
    from left_so having count(*) > 0
  `.execute(trx);
  return rows[0];
}

/**
 * Undoes refusals of a window and of younger ones of its series: skipped windows become `pending`, refused ones `failed`, so
 * that a later load requests them. Call it in the transaction of a window's first page, before its checkpoint moves.
 */
export async function takeBackRefusals(trx: Transaction<Database>, windowId: number): Promise<void> {
  await lockSeriesOf(trx, windowId);
  await sql`
    with w as (
      select * from gmsi.windows where window_id = ${windowId}
    ), given_up as (
      select n.window_id from w join gmsi.windows n on ${sameSeries('n', 'w')}
      where n.state = 'refused' and exists (select from gmsi.windows r where ${sameSeries('r', 'w')} and r.state = 'refused'
        and (r.first_day > w.first_day or (r.last_day = w.first_day - 1 and w.refused_with is not null)))
      order by n.window_id for update of n
    )
    update gmsi.windows n
    set state = case when n.refused_with is null then 'pending' else 'failed' end,
        last_error = case when n.refused_with is not null then n.last_error end,
        finished_at = case when n.refused_with is not null then n.finished_at end
    from given_up where given_up.window_id = n.window_id
  `.execute(trx);
}

/** Refused windows that a load requests again, over all series of its job. */
export const askedAgain = 20;

/**
 * Returns the refused windows of a job to request next, for the series that were tried longest ago: the youngest window,
 * which shows whether the service now answers older days, and the window that was requested longest ago; among windows never
 * requested, a random one, to find answered days below a gap in a series.
 */
export function nextToAskAgain(scope: WindowScope): RawBuilder<unknown> {
  const series = seriesOf('w');
  const askedAt = sql`case when w.refused_with is not null then w.finished_at end`;
  return sql`(
    select window_id, days from (
      select w.window_id, w.last_day - w.first_day + 1 as days, ${series}, max(${askedAt}) over (partition by ${series}) as series_asked_at,
             row_number() over (partition by ${series} order by w.last_day desc) as by_age,
             row_number() over (partition by ${series} order by ${askedAt} nulls first, hashint8(w.window_id)) as by_turn
      from gmsi.windows w where ${inScope(scope)} and w.state = 'refused'
    ) as w
    where by_age = 1 or by_turn = 1
    order by series_asked_at nulls first, ${series}, by_age limit ${askedAgain})`;
}

/** Makes a few refused windows of a job pending again, so that over several loads all of its series have their turn. */
export async function askAgain(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`
    update gmsi.windows w set state = 'pending', last_error = null
    from ${nextToAskAgain(scope)} as next where next.window_id = w.window_id and w.state = 'refused'
  `.execute(db);
}

/**
 * Cuts windows that may contain the first day that the service answers. Such a window is refused as a whole, and is directly
 * below answered days or the newest of its series. Its younger half is requested next, until a single day is left. Once the
 * first day of one series is known, other series are cut there first, so that most need two requests; none needs more than 9
 * for a window of 90 days. Call it under the planning lock, when the job has no open window.
 * @param atMost how many series to cut while no first day is known, because one series may show the day for the others
 * @returns how many windows can be drained now
 */
export async function cutRefused(
  trx: Transaction<Database>,
  scope: WindowScope,
  atMost: number,
): Promise<number> {
  const answeredAbove = isAnswered(sql`daterange(w.last_day + 1, w.last_day + 2)`);
  const isNewest = sql`(not ${isAnswered(younger)}
    and not exists (select from gmsi.windows a where ${sameSeries('a', 'w')} and a.first_day > w.last_day))`;
  const { rows } = await sql<{ windows: number }>`
    with lowest as (
      select w.*, ${answeredAbove} as is_below from gmsi.windows w
      where ${inScope(scope)} and w.state = 'refused' and w.refused_with is not null and (${answeredAbove} or ${isNewest})
        and not ${isAnswered(older)}
    ), found as (
      select last_day + 1 as day from lowest
      where is_below and first_day = last_day and request_start is not null and finished_at > now() - interval '1 day'
      order by finished_at, window_id limit 1
    ), cut as (
      select w.window_id, w.first_day, case
          when w.first_day = w.last_day then w.first_day
          when found.day = w.last_day + 1 then w.last_day
          when found.day > w.first_day and found.day <= w.last_day then found.day
          else w.first_day + (w.last_day - w.first_day + 1) / 2 end as day
      from lowest w left join found on true
      -- A last day that was refused only together with younger days, which were answered since, is requested by itself.
      where w.first_day < w.last_day or w.request_start is null
      order by w.last_day - w.first_day, ${seriesOf('w')}
      limit case when exists (select from found) then null else ${atMost}::bigint end
    ), younger as (
      insert into gmsi.windows (${seriesColumns}, first_day, last_day)
      select ${seriesColumns}, cut.day, last_day
      from cut join lowest using (window_id) where cut.day > cut.first_day
    ), rest as (
      update gmsi.windows w
      set last_day = case when cut.day > w.first_day then cut.day - 1 else w.last_day end,
          state = case when cut.day > w.first_day then w.state else 'pending' end,
          -- The shortened window has not been requested yet.
          request_start = null, request_end = null
      from cut where cut.window_id = w.window_id and w.state = 'refused'
    )
    select count(*) as windows from cut
  `.execute(trx);
  return rows[0]!.windows;
}

/**
 * Cuts windows without a page that begin before a job's period in two, so that the days of the period are requested by
 * themselves.
 */
export async function cutAtBeginning(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  const from = sql`${scope.from}::date`;
  await sql`
    with reaching as (
      select w.* from gmsi.windows w
      where ${inScope(scope)} and w.state in ('pending', 'failed', 'refused') and w.next_token is null and w.pages = 0
        and w.first_day < ${from}
      for update
    ), younger as (
      insert into gmsi.windows (${seriesColumns}, first_day, last_day)
      select ${seriesColumns}, ${from}, last_day from reaching
    )
    update gmsi.windows w set last_day = ${from} - 1, request_start = null, request_end = null
    from reaching where reaching.window_id = w.window_id
  `.execute(db);
}

/** Counts the refused windows of a job: those that the service refused, and those that were skipped because of them. */
export async function countRefused(
  db: Kysely<Database>,
  scope: WindowScope,
): Promise<{ asked: number; skipped: number }> {
  const { rows } = await sql<{ asked: number; skipped: number }>`
    select count(w.refused_with) as asked, count(*) - count(w.refused_with) as skipped
    from gmsi.windows w where ${inScope(scope)} and w.state = 'refused'
  `.execute(db);
  return rows[0]!;
}
