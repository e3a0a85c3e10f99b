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

/** What the feed has answered around a window: younger days of the same series, and equally old days of any series. */
export async function answeredAround(
  db: Kysely<Database>,
  window: SeriesColumns & { first_day: Day; last_day: Day },
): Promise<{ younger: boolean; asOld: boolean }> {
  const { feed, country, topic, ticker, match_type, variant, first_day, last_day } = window;
  const { rows } = await sql<{ younger: boolean; asOld: boolean }>`
    select exists (select from gmsi.windows where feed = ${feed} and country = ${country} and topic = ${topic}
                     and ticker = ${ticker} and match_type = ${match_type} and variant = ${variant} and first_day > ${last_day}::date and pages > 0) as younger,
           exists (select from gmsi.windows where feed = ${feed} and first_day <= ${first_day}::date and pages > 0) as "asOld"
  `.execute(db);
  return rows[0]!;
}
