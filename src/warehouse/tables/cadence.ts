import { type Kysely, sql, type Transaction } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';
import { syncSince } from './planning.ts';
import {
  isOfJob,
  sameSeries,
  seriesArrays,
  seriesColumns,
  seriesOf,
  seriesValues,
  type WindowScope,
} from './series.ts';

/** The polls of a series so far, and the end of its coverage. */
export interface SeriesHabit extends Series {
  /** The first day that a sync may drain. */
  readonly first_uncovered: Day;
  /** `null` before the first poll. */
  readonly polled_at: Date | null;
  readonly news_at: Date | null;
  readonly quiet_polls: number | null;
  /** True if syncs have skipped it since its last poll. */
  readonly is_paused: boolean;
}

/** Returns the habits of all series of a job whose period is not over. */
export async function readHabits(
  db: Kysely<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<SeriesHabit[]> {
  const { rows } = await sql<SeriesHabit>`
    select ${seriesOf('wanted')}, since::text as first_uncovered,
           k.polled_at, k.news_at, k.quiet_polls, coalesce(k.skipped_since > k.polled_at, false) as is_paused
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

/** Requests that a sync saves for a series; negative if a pause makes the poll more expensive. */
export interface Saving extends Series {
  readonly requests: number;
  readonly isSkipped: boolean;
}

export async function noteSavings(
  trx: Transaction<Database>,
  savings: readonly Saving[],
  now: Date,
): Promise<void> {
  if (savings.length === 0) return;
  const column = (name: keyof Saving) => savings.map((saving) => saving[name]);
  await sql`
    update gmsi.cadence k set
      requests_saved = k.requests_saved + saving.requests,
      skipped = k.skipped + saving.is_skipped::integer,
      first_skipped_at = case when saving.is_skipped then coalesce(k.first_skipped_at, ${now}) else k.first_skipped_at end,
      skipped_since = case when saving.is_skipped and (k.skipped_since > k.polled_at) is not true
                            then ${now} else k.skipped_since end
    from unnest(${seriesArrays(savings)}, ${column('requests')}::integer[], ${column('isSkipped')}::boolean[])
      as saving (${seriesColumns}, requests, is_skipped)
    where ${sameSeries('k', 'saving')}
  `.execute(trx);
}

/** Whether a page or a live answer is a poll of its series, and whether it had news. */
export interface PollNote {
  readonly series: Series;
  readonly loadId: number;
  readonly at: Date;
  /** True for the last page of a window that reaches today. */
  readonly isPoll: boolean;
  readonly inserted: number;
  readonly changed: number;
}

/**
 * Notes a poll, or news, in the transaction of its page. All windows, pages and live answers of a load are one poll, which is
 * quiet only if none of them had news.
 */
export async function notePoll(trx: Transaction<Database>, note: PollNote): Promise<void> {
  const { series, at, loadId, inserted } = note;
  const hasNews = inserted + note.changed > 0;
  if (!hasNews && !note.isPoll) return;
  const isLate = sql`(kept.skipped_since > kept.polled_at or kept.load_id = ${loadId})`;
  await sql`
    insert into gmsi.cadence as kept (${seriesColumns}, polled_at, news_at, quiet_polls, polls, load_id)
    values (${seriesValues(series)}, ${note.isPoll ? at : null}, ${at}, ${hasNews ? 0 : 1}, ${note.isPoll ? 1 : 0}, ${loadId})
    on conflict (${seriesColumns}) do update set
      polled_at = coalesce(excluded.polled_at, kept.polled_at),
      news_at = case when ${hasNews}::boolean then excluded.news_at else coalesce(kept.news_at, excluded.news_at) end,
      quiet_polls = case when ${hasNews}::boolean then 0
                         else kept.quiet_polls + (kept.load_id is distinct from ${loadId})::integer end,
      polls = kept.polls + excluded.polls,
      load_id = excluded.load_id,
      skipped_since = case when ${isLate} then kept.skipped_since end,
      late_rows = kept.late_rows
        + case when ${isLate} and kept.skipped_since is not null then ${inserted}::integer else 0 end,
      late_by = case when ${isLate} and ${inserted}::integer > 0
                     then greatest(kept.late_by, ${at}::timestamptz - kept.skipped_since) else kept.late_by end
  `.execute(trx);
}

/** What skipping quiet series of a job has saved and cost so far. */
export interface CadenceReport {
  /** Series that syncs have skipped since their last poll. */
  readonly paused: number;
  /** First sync that skipped any of them; `null` if none did. */
  readonly since: Date | null;
  readonly skipped: number;
  readonly requests_saved: number;
  /** Rows of polls after a pause: at most this many were seen later than with every sync … */
  readonly late_rows: number;
  /** … and at most this much later, in seconds; `null` if there are none. */
  readonly late_by_seconds: number | null;
}

export async function reportCadence(db: Kysely<Database>, scope: WindowScope): Promise<CadenceReport> {
  const { rows } = await sql<CadenceReport>`
    select count(*) filter (where c.skipped_since > c.polled_at) as paused, min(c.first_skipped_at) as since,
           coalesce(sum(c.skipped), 0)::float8 as skipped,
           coalesce(sum(c.requests_saved), 0)::float8 as requests_saved,
           coalesce(sum(c.late_rows), 0)::float8 as late_rows,
           extract(epoch from max(c.late_by))::float8 as late_by_seconds
    from gmsi.cadence c
    where ${isOfJob('c', scope)}
  `.execute(db);
  return rows[0]!;
}
