import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Database } from '../database.ts';
import { inScope, queued, type WindowScope } from './series.ts';

/*
 * Decides what a refusal means, for one series at a time and only from its windows:
 *
 * - A window that the service refuses is `refused`. Its series' older windows are skipped (`refused` without a request), unless
 *   anything older was ever answered.
 * - If a refused window, or anything older than one, is answered, the skipped windows are requested after all.
 * - Each load requests a few of them again, so that a refusal is never final; once it has tried all of a series and some again,
 *   only once a day, so that a refusal that lasts does not cost a request with each sync.
 */

/** Returns the condition that the service has answered days of the series of window `w`: those within a range of days. */
const isAnswered = (range: RawBuilder<unknown>) => sql<boolean>`(
  exists (select from gmsi.queue a where a.series_id = w.series_id and a.pages > 0 and a.days && ${range})
  or exists (select from gmsi.series_days a where a.series_id = w.series_id and a.touched && ${range}))`;

/** How a refused window was left. */
export interface RefusedWindow {
  /** `failed` if a later page was refused: that says nothing about the days, since the first page was answered. */
  readonly state: 'failed' | 'refused';
  /** Older windows of its series that are skipped because of it. */
  readonly skipped: number;
  /** True if younger days of its series were answered, so the series probably begins later. */
  readonly is_older_than_answered: boolean;
}

/**
 * Leaves a claimed window that the service has refused.
 * @returns `undefined`, having changed nothing, if another load has the window
 */
export async function leaveRefused(
  db: Kysely<Database>,
  at: { windowId: number; loadId: number },
  refusal: { status: number; error: string },
): Promise<RefusedWindow | undefined> {
  const { rows } = await sql<RefusedWindow>`
    with w as (
      select *, pages = 0 and next_token is null as is_of_days, ${isAnswered(sql`daterange(null, w.first_day)`)} as has_older,
             ${isAnswered(sql`daterange(w.last_day + 1, null)`)} as has_younger
      from gmsi.queue w
      where window_id = ${at.windowId} and state = 'draining' and load_id = ${at.loadId} for update
    ), left_so as (
      update gmsi.queue n
      set state = case when w.is_of_days then 'refused' else 'failed' end,
          refused_with = case when n.window_id <> w.window_id then n.refused_with
                              when w.is_of_days then ${refusal.status}::int end,
          cause = case when w.is_of_days then 'refused' else 'cursor' end,
          last_error = case when n.window_id <> w.window_id then 'not requested: older than a window that the service refused: ' else '' end
            || ${refusal.error}::text,
          load_id = ${at.loadId}, left_at = now()
      from w
      where n.window_id = w.window_id or (w.is_of_days and n.series_id = w.series_id and n.last_day < w.first_day
        and n.state in ('pending', 'failed') and n.next_token is null and not w.has_older)
      returning n.state, n.window_id = w.window_id as is_itself, w.has_younger
    )
    select max(state) filter (where is_itself) as state, count(*) filter (where not is_itself) as skipped,
           bool_or(has_younger) as is_older_than_answered
    from left_so having count(*) > 0
  `.execute(db);
  return rows[0];
}

/**
 * Takes back refusals of a series once a window of it is answered: if that window was refused itself, all its refused and skipped
 * windows become pending; if only something younger was, the skipped ones. Call it in the transaction of the window's first page,
 * before its checkpoint moves.
 */
export async function takeBackRefusals(trx: Transaction<Database>, windowId: number): Promise<void> {
  await sql`
    update gmsi.queue n set state = 'pending', cause = null, last_error = null, left_at = null
    from gmsi.queue w
    where w.window_id = ${windowId} and n.series_id = w.series_id and n.state = 'refused'
      and (w.refused_with is not null or (n.refused_with is null and exists (
        select from gmsi.queue r where r.series_id = w.series_id and r.state = 'refused' and r.first_day > w.first_day)))
  `.execute(trx);
}

/** Refused windows that a load requests again, over all series of its job. */
export const askedAgain = 20;

/** Tries of a series' refused windows, beyond one each, after which it is tried once a day. */
const triesToPause = 5;

/**
 * Returns the refused windows of a job to request next, one a series, for the series that were tried longest ago: the window that
 * was refused or skipped longest ago, the youngest first.
 */
export function nextToAskAgain(scope: WindowScope): RawBuilder<unknown> {
  return sql`(
    select window_id from (
      select distinct on (w.series_id) w.window_id, w.left_at, max(w.left_at) over of_series as tried_at,
             sum(w.attempts) over of_series - count(*) over of_series as more_tries
      from ${queued} where ${inScope(scope)} and w.state = 'refused'
      window of_series as (partition by w.series_id)
      order by w.series_id, w.left_at, w.last_day desc
    ) as w
    where more_tries < ${triesToPause} or tried_at <= now() - interval '1 day'
    order by tried_at, window_id limit ${askedAgain})`;
}

/** Makes a few refused windows of a job pending again, so that over several loads all of its series have their turn. */
export async function askAgain(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`
    update gmsi.queue w set state = 'pending', cause = null, last_error = null
    from ${nextToAskAgain(scope)} as next where next.window_id = w.window_id and w.state = 'refused'
  `.execute(db);
}

/**
 * Cuts windows without a page that begin before a job's period in two, so that the days of the period are requested by
 * themselves.
 */
export async function cutAtBeginning(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  const from = sql`${scope.from}::date`;
  await sql`
    with reaching as (
      select w.* from ${queued}
      where ${inScope(scope)} and w.state in ('pending', 'failed', 'refused') and w.next_token is null and w.pages = 0
        and w.first_day < ${from}
      for update of w
    ), younger as (
      insert into gmsi.queue (series_id, first_day, last_day, of_sync)
      select series_id, ${from}, last_day, of_sync from reaching
    )
    update gmsi.queue w set last_day = ${from} - 1, request_start = null, request_end = null
    from reaching where reaching.window_id = w.window_id
  `.execute(db);
}
