import { type Kysely, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';
import { syncSince } from './planning.ts';
import { sameSeries, seriesColumns, seriesOf, seriesValues, type WindowScope } from './series.ts';

/** The polls of a series so far. */
export interface SeriesHabit extends Series {
  /** `null` before the first poll. */
  readonly polled_at: Date | null;
  readonly news_at: Date | null;
  readonly quiet_polls: number | null;
}

/** Returns the habits of all series of a job whose period is not over. */
export async function readHabits(
  db: Kysely<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<SeriesHabit[]> {
  const { rows } = await sql<SeriesHabit>`
    select ${seriesOf('wanted')}, k.polled_at, k.news_at, k.quiet_polls
    from (${syncSince(scope, firstUnsettled)}) as wanted
    left join gmsi.cadence k on ${sameSeries('k', 'wanted')}
    where since <= ${scope.to}::date
  `.execute(db);
  return rows;
}

/**
 * Stores the first day that syncs of a job's series may drain. Later syncs go back to this day until it is covered, even if
 * later days are covered already.
 */
export async function noteConcern(
  trx: Transaction<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<void> {
  await sql`
    insert into gmsi.cadence as kept (${seriesColumns}, settle_from)
    select ${seriesOf('wanted')}, since
    from (${syncSince(scope, firstUnsettled)}) as wanted
    where since <= ${scope.to}::date
    on conflict (${seriesColumns}) do update set settle_from = excluded.settle_from
    where kept.settle_from is null or excluded.settle_from < kept.settle_from
      or (excluded.settle_from > kept.settle_from and exists (
        select from gmsi.coverage c where ${sameSeries('c', 'kept')} and c.days @> daterange(kept.settle_from, excluded.settle_from)))
  `.execute(trx);
}

/** Whether a page or a live answer is a poll of its series, and whether it had news. */
export interface PollNote {
  readonly series: Series;
  readonly loadId: number;
  readonly at: Date;
  /** True for the last page of a window that reaches today. */
  readonly isPoll: boolean;
  readonly hasNews: boolean;
}

/**
 * Notes a poll, or news, in the transaction of its page. All windows, pages and live answers of a load are one poll, which is
 * quiet only if none of them had news.
 */
export async function notePoll(trx: Transaction<Database>, note: PollNote): Promise<void> {
  const { series, at, loadId, isPoll, hasNews } = note;
  if (!hasNews && !isPoll) return;
  await sql`
    insert into gmsi.cadence as kept (${seriesColumns}, polled_at, news_at, quiet_polls, load_id)
    values (${seriesValues(series)}, ${isPoll ? at : null}, ${at}, ${hasNews ? 0 : 1}, ${loadId})
    on conflict (${seriesColumns}) do update set
      polled_at = coalesce(excluded.polled_at, kept.polled_at),
      news_at = case when ${hasNews}::boolean then excluded.news_at else coalesce(kept.news_at, excluded.news_at) end,
      quiet_polls = case when ${hasNews}::boolean then 0
                         else kept.quiet_polls + (kept.load_id is distinct from ${loadId})::integer end,
      load_id = excluded.load_id
  `.execute(trx);
}
