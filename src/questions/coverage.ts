import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { CauseCode } from '../errors.ts';
import type { Database, Day } from '../warehouse/database.ts';
import {
  inScope,
  jobsWanting,
  nameOfSeries,
  queued,
  type WantedScope,
  type WindowScope,
} from '../warehouse/tables/series.ts';
import { isWaiting } from '../warehouse/tables/windows.ts';
import { type Asked, feed, pastMoment, period, several, textUpTo } from './asking.ts';
import { type Moment, momentSql, question, text } from './reading.ts';

const match_type = textUpTo(100).describe('COMBINED, DOMESTIC or INTERNATIONAL.');

/** Days of a feed, for all series of a match type. */
export const coverageAsked = z.object({ feed, match_type, ...period });

const seriesParts = { country: z.string(), topic: z.string(), ticker: z.string(), variant: z.string() };

/** All other days were never requested. */
export const coverageRow = z.object({
  ...seriesParts,
  covered: z.int(),
  running: z.int(),
  failed: z.int(),
  refused: z.int(),
  pending: z.int(),
  settling: z.int().describe('Loaded, but not over at that time, or still changing.'),
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
    settling: ranges('loaded', 'draining', 'failed', 'refused', 'pending'),
    never: ranges('days', 'draining', 'failed', 'refused', 'pending', 'loaded'),
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
      ), standing as (
        select s.series_id,
               range_agg(w.days) filter (where w.state = 'draining') as draining,
               range_agg(w.days) filter (where w.state = 'failed') as failed,
               range_agg(w.days) filter (where w.state = 'refused') as refused,
               range_agg(w.days) filter (where w.state = 'pending') as pending
        from ${queued} cross join asked
        where s.feed = ${feed} and s.match_type = ${match_type} and w.days && asked.days
        group by 1
      ), parts as (
        select country, topic, ticker, variant, asked.days, coalesce(c.covered, '{}') * asked.days as covered,
               asked.days - coalesce(c.covered, '{}') as missing, draining, failed, refused, pending, c.loaded
        from gmsi.series s cross join asked
        left join gmsi.series_days c using (series_id)
        left join standing using (series_id)
        where s.feed = ${feed} and s.match_type = ${match_type}
          and (c.loaded && asked.days or standing.series_id is not null)
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

/** All series of a feed, or those with some parts. */
export const missingAsked = z.object({
  feed,
  country: textUpTo(200).optional(),
  topic: textUpTo(200).optional(),
  ticker: textUpTo(200).optional(),
  variant: textUpTo(500).optional(),
});

/** Days that series miss, of all series that miss the same ones for the same reason. */
export const missingRow = z.object({
  from: z.string(),
  to: z.string(),
  state: z.string().describe('As in gmsi.coverage_gaps: pending, draining, failed, refused or not loaded.'),
  cause: text,
  says: text.describe('Why the last attempt failed, in words.'),
  series: z.int(),
  example: z.string().describe('One of the series.'),
  requests: z.int().describe('The least that loads them: one for each series and 90 days.'),
});

/** Returns the days that are missing in most series first, without recent ones, which each sync loads again. */
export function missingDays({ feed, ...series }: Asked<typeof missingAsked>) {
  const isAsked = Object.entries(series).map(([part, value]) => sql`and ${sql.ref(part)} = ${value}`);
  return question(
    missingRow,
    `Days of ${feed} that are not loaded`,
    sql`
      select from_day::text as "from", to_day::text as "to", state, cause, min(last_error) as says, count(*)::int as series,
             min(concat_ws(' ', nullif(country, ''), nullif(topic, ''), nullif(ticker, ''), nullif(variant, ''))) as example,
             (count(*) * ceil(days / 90.0))::int as requests
      from gmsi.coverage_gaps
      where feed = ${feed} and state <> 'settling' ${sql.join(isAsked, sql` `)}
      group by from_day, to_day, days, state, cause
      order by count(*) * days desc, from_day desc, state
      limit 200`,
  );
}

/** Windows that are not drained, by cause. */
export interface Failures {
  readonly feed: string;
  readonly state: 'failed' | 'refused' | 'pending';
  /** `null` if none of them was tried yet. */
  readonly cause: CauseCode | null;
  /** The most common message of these windows. */
  readonly says: string | null;
  readonly windows: number;
  readonly series: number;
  /** One of the series. */
  readonly example: string;
  readonly first_day: Day;
  readonly last_day: Day;
  /** The job that last requested most of them; `null` if none did. */
  readonly job: string | null;
}

/**
 * Returns the windows of jobs that failed or were refused, by cause; those that were skipped because others were refused have the
 * same cause.
 */
export function failuresOf(db: Kysely<Database>, scopes: readonly WindowScope[]): Promise<Failures[]> {
  const isAsked = sql.join(scopes.map(inScope), sql` or `);
  return byCause(db, sql`w.state in ('failed', 'refused') and (${isAsked})`);
}

/** Returns the windows that no job wants, so that no load tries them again: those that failed, were refused, or wait for a load. */
export function unwantedWindows(
  db: Kysely<Database>,
  wanted: readonly WantedScope[],
  leaseSeconds: number,
): Promise<Failures[]> {
  return byCause(
    db,
    sql`(w.state in ('failed', 'refused') or ${isWaiting(leaseSeconds)}) and ${jobsWanting(wanted)} = '{}'`,
  );
}

/** Returns the windows that failed or were refused and are not of some jobs; only those that a job wants, as far as that is known. */
export function failuresOfOthers(
  db: Kysely<Database>,
  scopes: readonly WindowScope[],
  wanted: readonly WantedScope[] | undefined,
): Promise<Failures[]> {
  const isOfThese = sql.join([sql`false`, ...scopes.map(inScope)], sql` or `);
  const isWanted = wanted ? sql`${jobsWanting(wanted)} <> '{}'` : sql`true`;
  return byCause(db, sql`w.state in ('failed', 'refused') and not (${isOfThese}) and ${isWanted}`);
}

/** Failed ones first, and most windows first. */
async function byCause(db: Kysely<Database>, isAsked: RawBuilder<unknown>): Promise<Failures[]> {
  const { rows } = await sql<Failures>`
    select s.feed, case w.state when 'draining' then 'pending' else w.state end as state, known.cause,
           coalesce(
             -- Not that of skipped windows, if there is another.
             mode() within group (order by w.last_error) filter (where w.refused_with is not null or w.state = 'failed'),
             min(w.last_error), 'not requested yet') as says, count(*) as windows,
           count(distinct w.series_id) as series, min(${nameOfSeries('s')}) as example,
           min(w.first_day)::text as first_day, max(w.last_day)::text as last_day,
           nullif(mode() within group (order by l.job), '') as job
    from ${queued} left join gmsi.loads l using (load_id) left join gmsi.series_days c using (series_id)
    cross join lateral gmsi.cause_of(w.cause, w.days, c.loaded) as known (cause)
    where ${isAsked}
    group by 1, 2, 3 order by 2, windows desc, 1, 3`.execute(db);
  return rows;
}

/** A period of series: all combinations of these lists, or all series of a subject. */
export const coveredDaysAsked = z.object({
  feed,
  ...period,
  country: several('A country', 100).default(['']),
  topic: several('A topic', 100).default(['']),
  ticker: several('A ticker', 100).default(['']),
  variant: several('Further parameters of the series, as name=value&name=value', 100).default(['']),
  match_type: several('A match type', 3).default(['COMBINED']),
  subject: textUpTo(200).optional().describe('A country or an asset, in the place of all lists.'),
  as_of: pastMoment.optional().describe('Only days that were covered then.'),
});

export const coveredDaysRow = z.object({
  ...seriesParts,
  match_type: z.string(),
  first_day: z.string(),
  last_day: z.string(),
});

/**
 * Returns, as `gmsi.series_days` does for now, the days of a series of headlines that were loaded at a past moment. The row
 * `asked` of the query around it names the series.
 */
export function daysThen(asOf: Moment): RawBuilder<unknown> {
  return sql`(
          select past.covered, past.settling, '{}'::datemultirange as partial
          from gmsi.days_at((
            select series_id from gmsi.series
            where feed = 'gmsi-headlines' and ticker = '' and variant = ''
              and (country, topic, match_type) = (asked.country, asked.topic, asked.match_type)
          ), ${momentSql(asOf)}) as past
        )`;
}

/** Returns the covered days of a period as ranges. On other days, a lack of headlines does not mean a lack of news. */
export function coveredDays(asked: Asked<typeof coveredDaysAsked>) {
  const { feed, from, to, subject, as_of: asOf, ...lists } = asked;
  const days = asOf
    ? sql`cross join lateral gmsi.days_at(s.series_id, ${momentSql(asOf)}) as c`
    : sql`join gmsi.series_days c using (series_id)`;
  const isListed = Object.entries(lists).map(
    ([column, of]) => sql`${sql.ref(column)} = any(${[...of]}::text[])`,
  );
  // Series of the global index name neither.
  const isAsked =
    subject === undefined
      ? sql.join(isListed, sql` and `)
      : sql`coalesce(nullif(country, ''), nullif(ticker, ''), ${subject}) = ${subject}`;
  return question(
    coveredDaysRow,
    `Covered days of ${feed} from ${from} to ${to}${asOf ? `, as of ${asOf}` : ''}`,
    sql`
      select country, topic, ticker, variant, match_type, lower(part) as first_day, upper(part) - 1 as last_day
      from gmsi.series s
      ${days}
      cross join lateral unnest(c.covered * datemultirange(daterange(${from}::date, ${to}::date, '[]'))) as part
      where feed = ${feed} and ${isAsked}
      order by 1, 2, 3, 4, 5, 6`,
  );
}
