import { type Kysely, sql } from 'kysely';
import type { Database, Day, SeriesColumns } from '../tables/database.ts';
import { inScope, type WindowScope } from './window-scope.ts';

/**
 * Marks the windows of a job that begin on a day or before it refused, without asking for them.
 * @returns how many, less those that this load had already failed at
 */
export async function refuseUpTo(
  db: Kysely<Database>,
  scope: WindowScope,
  firstDay: Day,
  by: { loadId: number; error: string },
): Promise<number> {
  const { rows } = await sql<{ marked: number }>`
    with old as (
      select w.window_id, w.state = 'failed' and w.load_id = ${by.loadId} as is_counted from gmsi.windows w
      where ${inScope(scope)} and w.state in ('pending', 'failed') and w.next_token is null
        and w.first_day <= ${firstDay}::date
      for update
    ), marked as (
      update gmsi.windows w set state = 'refused', last_error = ${by.error}, finished_at = now()
      from old where old.window_id = w.window_id returning old.is_counted
    )
    select count(*) filter (where not is_counted) as marked from marked
  `.execute(db);
  return rows[0]!.marked;
}

/** Lately: a look-back moves on with the time, and what was answered a year ago says nothing of today. */
const isAnswered = sql<boolean>`(w.pages > 0 and w.drain_started_at > now() - interval '1 day')`;

/** What the feed has lately answered around a window: younger days of the same series, and equally old days of any series. */
export async function answeredAround(
  db: Kysely<Database>,
  window: SeriesColumns & { first_day: Day; last_day: Day },
): Promise<{ younger: boolean; asOld: boolean }> {
  const { feed, country, topic, ticker, match_type, variant, first_day, last_day } = window;
  const { rows } = await sql<{ younger: boolean; asOld: boolean }>`
    select exists (select from gmsi.windows w where ${isAnswered} and feed = ${feed} and country = ${country} and topic = ${topic}
                     and ticker = ${ticker} and match_type = ${match_type} and variant = ${variant} and first_day > ${last_day}::date) as younger,
           exists (select from gmsi.windows w where ${isAnswered} and feed = ${feed} and first_day <= ${first_day}::date) as "asOld"
  `.execute(db);
  return rows[0]!;
}

/** The earliest day from which on a window of the feed was lately answered; `null` where none was. */
export async function answeredFrom(db: Kysely<Database>, feed: string): Promise<Day | null> {
  const { rows } = await sql<{ day: Day | null }>`
    select min(first_day) as day from gmsi.windows w where ${isAnswered} and feed = ${feed}
  `.execute(db);
  return rows[0]!.day;
}

/** Refused windows of a job that begin on a day or before it and end after it. */
export async function refusedAcross(
  db: Kysely<Database>,
  scope: WindowScope,
  day: Day,
): Promise<{ window_id: number; last_day: Day }[]> {
  const { rows } = await sql<{ window_id: number; last_day: Day }>`
    select w.window_id, w.last_day from gmsi.windows w
    where ${inScope(scope)} and w.state = 'refused' and w.first_day <= ${day}::date and w.last_day > ${day}::date
    order by w.last_day desc, w.window_id
  `.execute(db);
  return rows;
}

/** Cuts refused windows in two: what lies before `day` stays refused, the rest is to be asked for. */
export async function splitRefused(
  db: Kysely<Database>,
  windowIds: readonly number[],
  day: Day,
): Promise<void> {
  await sql`
    with old as (
      select * from gmsi.windows where window_id = any(${[...windowIds]}::bigint[]) and state = 'refused'
        and first_day < ${day}::date and last_day >= ${day}::date for update
    ), younger as (
      insert into gmsi.windows (feed, country, topic, ticker, match_type, variant, first_day, last_day)
      select feed, country, topic, ticker, match_type, variant, ${day}::date, last_day from old
    )
    update gmsi.windows w set last_day = ${day}::date - 1 from old where old.window_id = w.window_id
  `.execute(db);
}
