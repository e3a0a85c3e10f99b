import { type RawBuilder, sql } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Day } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { skippedFor } from '../tables/refusals.ts';
import {
  inScope,
  isOfSeries,
  jobsWanting,
  nameOfSeries,
  type WantedScope,
  type WindowScope,
} from '../tables/series.ts';
import { type Moment, momentSql } from './moment.ts';
import type { Question } from './reading.ts';

/** Days of a feed, for all series of a match type. */
export interface CoverageAsked {
  readonly feed: string;
  readonly matchType: string;
  readonly from: Day;
  readonly to: Day;
}

/** The days of a series by state; all other days were never requested. */
export interface SeriesCoverage {
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly variant: string;
  readonly covered: number;
  /** Drained, but not over at that time, or still changing. */
  readonly settling: number;
  readonly running: number;
  readonly pending: number;
  readonly failed: number;
  readonly refused: number;
  /** The days from the first to the last, as lengths of equal states: `covered 300, failed 20, never 45`. */
  readonly timeline: string;
}

/**
 * True for windows that are not drained, or that had days that did not count as covered when they were drained. Must be
 * worded as in the index `windows_uncovered`, so that PostgreSQL uses it.
 */
export const isUncovered = sql<boolean>`case when state = 'drained' then last_day >= first_unsettled else true end`;

/**
 * Counts the days of each series by state. Each day counts once: as covered, else running, failed, refused, waiting or
 * settling. Reads only ranges, never a list of days.
 */
export function coverageOfSeries({ feed, matchType, from, to }: CoverageAsked): Question<SeriesCoverage> {
  // Days that have this state and none of the states before it.
  const ranges = (state: string, ...before: readonly string[]) =>
    `missing * ${state}${before.map((other) => ` - coalesce(${other}, '{}')`).join('')}`;
  const states = {
    covered: 'covered',
    running: ranges('draining'),
    failed: ranges('failed', 'draining'),
    refused: ranges('refused', 'draining', 'failed'),
    pending: ranges('pending', 'draining', 'failed', 'refused'),
    settling: ranges('drained', 'draining', 'failed', 'refused', 'pending'),
    never: ranges('days', 'draining', 'failed', 'refused', 'pending', 'drained'),
  };
  const spans = Object.entries(states).map(
    ([state, of]) => `select country, topic, ticker, variant, '${state}', unnest(${of}) from parts`,
  );
  const counts = Object.keys(states)
    .filter((state) => state !== 'never')
    .map((state) => `coalesce(sum(length) filter (where state = '${state}'), 0)::int as ${state}`);
  return {
    about: `Days of ${feed} (${matchType}) from ${from} to ${to}, by series and by what became of them`,
    query: sql<SeriesCoverage>`
      with asked as (
        select datemultirange(daterange(${from}::date, ${to}::date, '[]')) as days
      ), covered as (
        select country, topic, ticker, variant, c.days * asked.days as days
        from gmsi.coverage c cross join asked
        where c.feed = ${feed} and c.match_type = ${matchType} and c.days && asked.days
      ), standing as (
        select country, topic, ticker, variant,
               range_agg(w.days) filter (where state = 'draining') as draining,
               range_agg(w.days) filter (where state = 'failed') as failed,
               range_agg(w.days) filter (where state = 'refused') as refused,
               range_agg(w.days) filter (where state = 'pending') as pending,
               range_agg(w.days) filter (where state = 'drained') as drained
        from gmsi.windows w cross join asked
        where w.feed = ${feed} and w.match_type = ${matchType} and w.days && asked.days
          and ${isUncovered}
        group by 1, 2, 3, 4
      ), parts as (
        select country, topic, ticker, variant, asked.days, coalesce(covered.days, '{}') as covered,
               asked.days - coalesce(covered.days, '{}') as missing, draining, failed, refused, pending, drained
        from covered full join standing using (country, topic, ticker, variant) cross join asked
      )
      select country, topic, ticker, variant, ${sql.raw(counts.join(', '))},
             string_agg(state || ' ' || length, ', ' order by first_day) as timeline
      from (
        select country, topic, ticker, variant, state, lower(part) as first_day, upper(part) - lower(part) as length
        from (${sql.raw(spans.join(' union all '))}) as spans (country, topic, ticker, variant, state, part)
      ) as measured
      group by country, topic, ticker, variant
      order by country, topic, ticker, variant`,
  };
}

/** A window as the page shows it, without its token, which belongs to the key. */
export interface WindowShown {
  readonly window_id: number;
  readonly first_day: Day;
  readonly last_day: Day;
  readonly state: string;
  readonly pages: number;
  readonly records: number;
  readonly attempts: number;
  readonly is_half_drained: boolean;
  /** As text (UTC), to the microsecond. */
  readonly finished_at: string | null;
  readonly last_error: string | null;
  /** The job that last requested it. */
  readonly job: string | null;
}

/** Returns the windows of a series that have days of a period, the latest days first. */
export function windowsOfSeries(
  series: Series,
  { from, to }: Pick<CoverageAsked, 'from' | 'to'>,
  atMost: number,
): Question<WindowShown> {
  return {
    about: `The windows of ${series.country} ${series.topic} ${series.ticker}`.trimEnd(),
    query: sql<WindowShown>`
      select window_id, first_day, last_day, state, w.pages, w.records, attempts,
             next_token is not null as is_half_drained, ${exactTime('w.finished_at')} as finished_at,
             last_error, nullif(l.job, '') as job
      from gmsi.windows w left join gmsi.loads l using (load_id)
      where ${isOfSeries('w', series)} and w.days && daterange(${from}::date, ${to}::date, '[]')
      order by first_day desc, window_id desc
      limit ${atMost}::int`,
  };
}

/** Windows of a job that failed or were refused for the same cause. */
export interface Failures {
  readonly feed: string;
  readonly state: 'failed' | 'refused';
  /** A job that wants them; if none does, the one that last requested them; `null` if an import did. */
  readonly job: string | null;
  /** The message of one of the windows. */
  readonly cause: string | null;
  readonly windows: number;
  readonly series: number;
  /** One of the series. */
  readonly example: string;
  readonly first_day: Day;
  readonly last_day: Day;
  /** False if no job wants any of their days, so that no load tries them again. */
  readonly is_wanted: boolean;
}

const ownCause = sql`replace(w.last_error, ${sql.lit(skippedFor)}, '')`;

/**
 * Returns failed and refused windows by cause, failed and most windows first; those that were skipped because others were refused
 * have the same cause. Messages have the same cause if they differ only in paths and numbers; numbers of three digits are statuses.
 * @param scopes only windows of these jobs
 * @param wanted the days of all jobs; without them, all windows count as wanted
 */
export function failuresByCause({
  scopes,
  wanted,
}: {
  readonly scopes?: readonly WindowScope[] | undefined;
  readonly wanted?: readonly WantedScope[] | undefined;
} = {}): Question<Failures> {
  const isAsked = scopes ? sql.join([sql`false`, ...scopes.map(inScope)], sql` or `) : sql`true`;
  return {
    about: 'Windows that failed or were refused, by cause',
    query: sql<Failures>`
      select w.feed, w.state, wanted.job, min(${ownCause}) as cause, count(*) as windows,
             count(distinct (country, topic, ticker, match_type, variant)) as series,
             min(${nameOfSeries('w')}) as example, min(w.first_day) as first_day, max(w.last_day) as last_day, is_wanted
      from gmsi.windows w left join gmsi.loads l using (load_id)
      cross join lateral (select ${wanted ? jobsWanting(wanted) : sql`array[nullif(l.job, '')]`} as jobs) as wanting
      cross join lateral (
        select jobs <> '{}' as is_wanted,
               -- Another job may want what the job that requested it no longer does.
               case when l.job = any(jobs) then l.job else coalesce(jobs[1], nullif(l.job, '')) end as job
      ) as wanted
      where w.state in ('failed', 'refused') and (${isAsked})
      group by 1, 2, 3, is_wanted, regexp_replace(${ownCause}, '/\\S+|\\m(?!\\d{3}\\M)\\d[\\d:.,TZ-]*', '#', 'g')
      order by w.state, windows desc, 1, 3, 4 limit 50`,
  };
}

/** A range of days of a series that is covered. */
export interface CoveredDays {
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly variant: string;
  readonly match_type: string;
  readonly first_day: Day;
  readonly last_day: Day;
}

/** Which series: all combinations of these lists. */
export interface SeriesAsked {
  readonly feed: string;
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly tickers: readonly string[];
  readonly variants: readonly string[];
  readonly matchTypes: readonly string[];
}

function wasDrained(asOf: Moment): RawBuilder<boolean> {
  return sql`w.state = 'drained' and w.finished_at <= ${momentSql(asOf)}`;
}

/**
 * Returns, as `gmsi.series_days` does for now, the days of a series of headlines that were loaded at a past moment. The row
 * `asked` of the query around it names the series. A window that was drained again counts only from its last drain, as in
 * `coveredDays`.
 */
export function daysThen(asOf: Moment): RawBuilder<unknown> {
  const isIt = sql`feed = 'gmsi-headlines' and ticker = '' and variant = '' and (country, topic, match_type) = (asked.country, asked.topic, asked.match_type)`;
  return sql`(
          select coalesce((select days from gmsi.coverage where ${isIt})
                          * range_agg(w.days * daterange(null, w.first_unsettled)), '{}') as covered,
                 coalesce(range_agg(w.days), '{}') as settling, '{}'::datemultirange as partial
          from gmsi.windows w
          where ${isIt}
            and ${wasDrained(asOf)}
        )`;
}

/**
 * Returns the covered days of a period as ranges. On other days, a lack of headlines does not mean a lack of news.
 * @param asOf for a past moment, days that windows had drained by then. A window that was drained again counts only from its
 * last drain: an extra gap is better than a gap that looks like calm.
 */
export function coveredDays(
  { feed, countries, topics, tickers, variants, matchTypes }: SeriesAsked,
  { from, to }: Pick<CoverageAsked, 'from' | 'to'>,
  asOf: Moment | null = null,
): Question<CoveredDays> {
  const drainedThen =
    asOf === null
      ? sql``
      : sql`
               * coalesce((select range_agg(w.days * daterange(null, w.first_unsettled)) from gmsi.windows w
                           where (w.feed, w.country, w.topic, w.ticker, w.match_type, w.variant)
                               = (c.feed, c.country, c.topic, c.ticker, c.match_type, c.variant)
                             and ${wasDrained(asOf)}), '{}')`;
  return {
    about: `Covered days of ${feed} from ${from} to ${to}${asOf === null ? '' : `, as of ${asOf}`}`,
    query: sql<CoveredDays>`
      select country, topic, ticker, variant, match_type, lower(part) as first_day, upper(part) - 1 as last_day
      from gmsi.coverage c
      cross join lateral unnest(c.days * datemultirange(daterange(${from}::date, ${to}::date, '[]'))${drainedThen}) as part
      where feed = ${feed} and match_type = any(${[...matchTypes]}::text[])
        and country = any(${[...countries]}::text[]) and topic = any(${[...topics]}::text[])
        and ticker = any(${[...tickers]}::text[]) and variant = any(${[...variants]}::text[])
      order by 1, 2, 3, 4, 5, 6`,
  };
}
