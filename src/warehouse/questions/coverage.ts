import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { exactTime } from '../exact-time.ts';
import { skippedFor } from '../tables/refusals.ts';
import {
  inScope,
  isOfSeries,
  jobsWanting,
  nameOfSeries,
  sameSeries,
  type WantedScope,
  type WindowScope,
} from '../tables/series.ts';
import { type Asked, feed, pastMoment, period, several, textUpTo } from './asking.ts';
import { type Moment, momentSql, question, type RowOf, text, timeText } from './reading.ts';

const match_type = textUpTo(100).describe('COMBINED, DOMESTIC or INTERNATIONAL.');

/** Days of a feed, for all series of a match type. */
export const coverageAsked = z.object({ feed, match_type, ...period });

/**
 * True for windows that are not drained, or that had days that did not count as covered when they were drained. Must be
 * worded as in the index `windows_uncovered`, so that PostgreSQL uses it.
 */
export const isUncovered = sql<boolean>`case when state = 'drained' then last_day >= first_unsettled else true end`;

const seriesParts = { country: z.string(), topic: z.string(), ticker: z.string(), variant: z.string() };

/** All other days were never requested. */
export const coverageRow = z.object({
  ...seriesParts,
  covered: z.int(),
  running: z.int(),
  failed: z.int(),
  refused: z.int(),
  pending: z.int(),
  settling: z.int().describe('Drained, but not over at that time, or still changing.'),
  timeline: z
    .string()
    .describe('The days in order, as lengths of equal states: covered 300, failed 20, never 45.'),
});

/**
 * Counts the days of each series by state. Each day counts once: as covered, else running, failed, refused, waiting or
 * settling. Reads only ranges, never a list of days.
 */
export function coverageOfSeries({ feed, match_type, from, to }: Asked<typeof coverageAsked>) {
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
  return question(
    coverageRow,
    `Days of ${feed} (${match_type}) from ${from} to ${to}, by series and by what became of them`,
    sql`
      with asked as (
        select datemultirange(daterange(${from}::date, ${to}::date, '[]')) as days
      ), covered as (
        select country, topic, ticker, variant, c.days * asked.days as days
        from gmsi.coverage c cross join asked
        where c.feed = ${feed} and c.match_type = ${match_type} and c.days && asked.days
      ), standing as (
        select country, topic, ticker, variant,
               range_agg(w.days) filter (where state = 'draining') as draining,
               range_agg(w.days) filter (where state = 'failed') as failed,
               range_agg(w.days) filter (where state = 'refused') as refused,
               range_agg(w.days) filter (where state = 'pending') as pending,
               range_agg(w.days) filter (where state = 'drained') as drained
        from gmsi.windows w cross join asked
        where w.feed = ${feed} and w.match_type = ${match_type} and w.days && asked.days
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
  );
}

/** A window without its token, which belongs to the key. */
export const windowRow = z.object({
  window_id: z.int(),
  first_day: z.string(),
  last_day: z.string(),
  state: z.string(),
  pages: z.int(),
  records: z.int(),
  attempts: z.int(),
  is_half_drained: z.boolean(),
  finished_at: timeText.nullable(),
  last_error: text,
  job: text.describe('The job that last requested it.'),
});

/** Parts of a series that the feed lacks are empty. */
export const windowsAsked = z.object({
  feed,
  match_type,
  country: textUpTo(200).default(''),
  topic: textUpTo(200).default(''),
  ticker: textUpTo(200).default(''),
  variant: textUpTo(500).default(''),
  ...period,
});

/** Returns the windows of a series that have days of a period, the latest days first. */
export function windowsOfSeries({ from, to, ...series }: Asked<typeof windowsAsked>) {
  return question(
    windowRow,
    `The windows of ${series.country} ${series.topic} ${series.ticker}`.trimEnd(),
    sql`
      select window_id, first_day, last_day, state, w.pages, w.records, attempts,
             next_token is not null as is_half_drained, ${exactTime('w.finished_at')} as finished_at,
             last_error, nullif(l.job, '') as job
      from gmsi.windows w left join gmsi.loads l using (load_id)
      where ${isOfSeries('w', series)} and w.days && daterange(${from}::date, ${to}::date, '[]')
      order by first_day desc, window_id desc
      limit 500`,
  );
}

/** Windows of a job that failed or were refused for the same cause. */
export const failureRow = z.object({
  feed: z.string(),
  state: z.enum(['failed', 'refused']),
  job: text.describe('A job that wants them, else the one that last requested them; null if an import did.'),
  cause: text.describe('The message of one of the windows.'),
  windows: z.int(),
  series: z.int(),
  example: z.string().describe('One of the series.'),
  first_day: z.string(),
  last_day: z.string(),
  is_wanted: z
    .boolean()
    .describe('False if no job wants any of their days, so that no load tries them again.'),
});
export type Failures = RowOf<typeof failureRow>;

const ownCause = sql`replace(w.last_error, ${sql.lit(skippedFor)}, '')`;

/**
 * Returns failed and refused windows by cause, failed and most windows first; those that were skipped because others were refused
 * have the same cause. Messages have the same cause if they differ only in paths and numbers; numbers of three digits are
 * statuses.
 * @param scopes only windows of these jobs
 * @param wanted the days of all jobs; without them, all windows count as wanted
 */
export function failuresByCause({
  scopes,
  wanted,
}: {
  readonly scopes?: readonly WindowScope[] | undefined;
  readonly wanted?: readonly WantedScope[] | undefined;
} = {}) {
  const isAsked = scopes ? sql.join([sql`false`, ...scopes.map(inScope)], sql` or `) : sql`true`;
  return question(
    failureRow,
    'Windows that failed or were refused, by cause (50 causes at most)',
    sql`
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
  );
}

/** A period of series: all combinations of these lists. */
export const coveredDaysAsked = z.object({
  feed,
  ...period,
  country: several('A country', 100).default(['']),
  topic: several('A topic', 100).default(['']),
  ticker: several('A ticker', 100).default(['']),
  variant: several('Further parameters of the series, as name=value&name=value', 100).default(['']),
  match_type: several('A match type', 3),
  as_of: pastMoment.optional().describe('Only days of windows that had been drained then.'),
});

export const coveredDaysRow = z.object({
  ...seriesParts,
  match_type: z.string(),
  first_day: z.string(),
  last_day: z.string(),
});

function wasDrained(asOf: Moment): RawBuilder<boolean> {
  return sql`w.state = 'drained' and w.finished_at <= ${momentSql(asOf)}`;
}

/**
 * Returns, as `gmsi.series_days` does for now, the days of a series of headlines that were loaded at a past moment. The row
 * `asked` of the query around it names the series. A window that was drained again counts only from its last drain, as in
 * `coveredDays`.
 */
export function daysThen(asOf: Moment): RawBuilder<unknown> {
  const isIt = sql`feed = 'gmsi-headlines' and ticker = '' and variant = ''
            and (country, topic, match_type) = (asked.country, asked.topic, asked.match_type)`;
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
 * Returns the covered days of a period as ranges. On other days, a lack of headlines does not mean a lack of news. At a past
 * moment, a window that was drained again counts only from its last drain: an extra gap is better than a gap that looks like
 * calm.
 */
export function coveredDays({ feed, from, to, as_of: asOf, ...lists }: Asked<typeof coveredDaysAsked>) {
  const drainedThen =
    asOf &&
    sql`* coalesce((select range_agg(w.days * daterange(null, w.first_unsettled)) from gmsi.windows w
                           where ${sameSeries('w', 'c')} and ${wasDrained(asOf)}), '{}')`;
  const isAsked = Object.entries(lists).map(
    ([column, of]) => sql`${sql.ref(column)} = any(${[...of]}::text[])`,
  );
  return question(
    coveredDaysRow,
    `Covered days of ${feed} from ${from} to ${to}${asOf ? `, as of ${asOf}` : ''}`,
    sql`
      select country, topic, ticker, variant, match_type, lower(part) as first_day, upper(part) - 1 as last_day
      from gmsi.coverage c
      cross join lateral unnest(c.days * datemultirange(daterange(${from}::date, ${to}::date, '[]'))
        ${drainedThen ?? sql``}) as part
      where feed = ${feed} and ${sql.join(isAsked, sql` and `)}
      order by 1, 2, 3, 4, 5, 6`,
  );
}
