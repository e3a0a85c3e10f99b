import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { Day } from '../warehouse/database.ts';
import { exactTime } from '../warehouse/exact-time.ts';
import { type Asked, asOf, days, period, textUpTo } from './asking.ts';
import { daysThen } from './coverage.ts';
import { latest } from './headlines.ts';
import { momentSql, question, score, text, timeText } from './reading.ts';
import { country, models, stateOfAll, topic } from './sentiment.ts';

const all = (one: string, list: typeof country) =>
  list.default([]).describe(`${one}, all by default; give it several times for several.`);

/** The move of a mean score from an earlier period to a later one, of all combinations of countries and topics. */
export const moveAsked = z.object({
  country,
  topic,
  match_type: textUpTo(100).default('COMBINED'),
  model: z.enum(models).default('directional'),
  ...period,
  against: z
    .union([z.enum(['quarter', 'before', 'year']), days])
    .default('quarter')
    .describe(
      'What the period is compared with: the 90 days before it, as many days before it, the same days a year earlier, or other ' +
        'days such as 2025-01-01..2025-01-31.',
    ),
  as_of: asOf,
});
export type MoveAsked = Asked<typeof moveAsked>;

/** What is compared: series, or countries and topics over all their series. */
export const changesAsked = moveAsked.extend({
  country: all('A country', country),
  topic: all('A topic', topic),
  of: z.enum(['series', 'country', 'topic']).default('series'),
});
export type ChangesAsked = Asked<typeof changesAsked>;

/** The mean score of a period, compared with an earlier one, and what it adds to the move of all series together. */
export const changeRow = z.object({
  country: text,
  topic: text.describe('Neither country nor topic: all series together, or the others.'),
  others: z
    .int()
    .nullable()
    .describe('Of how many further series, countries or topics the row is the sum; null if it is not.'),
  mean: score,
  headline_count: z.int().describe('Headlines with a score.'),
  mean_before: score,
  headline_count_before: z.int(),
  change: score,
  contribution: score.describe(
    'Part of the change of all series together, which is the sum of all parts: the share of all headlines times the ' +
      'distance of their mean from the earlier mean of all, for the later period minus the same for the earlier one.',
  ),
  z: score.describe(
    'The change in standard errors, which follow from how daily means scatter; null for fewer than 7 days with headlines.',
  ),
  state: z
    .string()
    .describe(
      'What is loaded of the period, over all series of the row: covered, settling, partial or not loaded.',
    ),
  state_before: z.string(),
  before_from: z.string().describe('First day (UTC) of the earlier period …'),
  before_to: z.string().describe('… and its last day, inclusive.'),
});

/** Most rows of an answer, without those of all series together and of the others. */
const mostChanges = 500;

/** The least days with headlines from which a standard error follows. */
const leastDays = 7;

/** The first and the last days of both periods. From 29 February, a year earlier is 28 February. */
export function periodsOf({
  from,
  to,
  against,
}: Pick<MoveAsked, 'to' | 'against'> & { readonly from: Day | RawBuilder<Day> }) {
  const [first, last] = [sql`${from}::date`, sql`${to}::date`];
  const year = (day: RawBuilder<unknown>) => sql`(${day} - interval '1 year')::date`;
  const [beforeFirst, beforeLast] = (
    Array.isArray(against)
      ? against.map((day) => sql`${day}::date`)
      : {
          before: [sql`(${first} - (${last} - ${first} + 1))`, sql`(${first} - 1)`],
          quarter: [sql`(${first} - 90)`, sql`(${first} - 1)`],
          year: [year(first), year(last)],
        }[against]
  ) as [RawBuilder<Day>, RawBuilder<Day>];
  return {
    first,
    last,
    beforeFirst,
    beforeLast,
    isNow: sql`day between ${first} and ${last}`,
    /** The earlier period, which may overlap the later one. */
    isBefore: sql`day between ${beforeFirst} and ${beforeLast}`,
  };
}

type Periods = ReturnType<typeof periodsOf>;

function ofSeries({
  country,
  topic,
  match_type,
}: Pick<MoveAsked, 'country' | 'topic' | 'match_type'>): RawBuilder<boolean> {
  const isIn = (column: string, values: readonly string[]) =>
    values.length === 0 ? sql`` : sql` and ${sql.ref(column)} = any(${[...values]}::text[])`;
  return sql`match_type = ${match_type}${isIn('country', country)}${isIn('topic', topic)}`;
}

const aboutAgainst = { before: 'as many days before', quarter: 'the 90 days before', year: 'a year earlier' };

export function knownAt({ as_of }: Pick<MoveAsked, 'as_of'>): string {
  return as_of === undefined ? '' : `, as it was known at ${as_of}`;
}

function aboutMove({ model, from, to, against, as_of }: MoveAsked): string {
  const earlier = Array.isArray(against) ? against.join(' to ') : aboutAgainst[against];
  return `${model} sentiment of ${from} to ${to} against ${earlier}${knownAt({ as_of })}`;
}

/**
 * Part of the move: the share of all headlines times the distance of their mean from the earlier mean of all, for the later
 * period minus the same for the earlier one. The parts of any groups that make up all headlines add up to the move.
 * @param part a table of SQL with the counts and sums of both periods: `n` and `s` now, `n0` and `s0` before
 * @param total the same of all headlines
 */
function partOfMove(part: string, total: string): RawBuilder<number> {
  const [own, all] = [part, total].map((table) => (column: string) => sql.ref(`${table}.${column}`)) as [
    (column: string) => RawBuilder<unknown>,
    (column: string) => RawBuilder<unknown>,
  ];
  const before = sql`${all('s0')} / nullif(${all('n0')}, 0)`;
  const apart = (sum: string, count: string) =>
    sql`(${own(sum)} - ${own(count)} * ${before}) / nullif(${all(count)}, 0)`;
  return sql`${apart('s', 'n')} - ${apart('s0', 'n0')}`;
}

/** Returns a sum over each of the two periods. */
function inBoth({ isNow, isBefore }: Periods, value: RawBuilder<unknown>) {
  return [isNow, isBefore].map((is) => sql`coalesce(sum(${value}) filter (where ${is}), 0)`) as [
    RawBuilder<number>,
    RawBuilder<number>,
  ];
}

/** Count and sum of the scores of both periods. */
function sumsOf(periods: Periods, count: RawBuilder<unknown>, sum: RawBuilder<unknown>): RawBuilder<unknown> {
  const [[n, n0], [s, s0]] = [inBoth(periods, count), inBoth(periods, sum)];
  return sql`${n}::int as n, ${s} as s, ${n0}::int as n0, ${s0} as s0`;
}

function isChosen({ country, topic }: Pick<ChangesAsked, 'country' | 'topic'>): boolean {
  return country.length + topic.length > 0;
}

/** Selects the requested series with what is loaded of them and, without a day, what of the chosen nobody has requested. */
function seriesOf(
  asked: Pick<ChangesAsked, 'country' | 'topic' | 'match_type' | 'as_of'>,
): RawBuilder<unknown> {
  const isRequested = sql`feed = 'gmsi-headlines' and ticker = '' and variant = '' and first_day is not null`;
  const days =
    asked.as_of === undefined ? sql`` : sql` as asked cross join lateral ${daysThen(asked.as_of)} as days`;
  const loaded =
    asked.as_of === undefined
      ? sql`covered, settling, partial`
      : sql`days.covered, days.settling, days.partial`;
  const requested = sql`select country, topic, ${loaded} from gmsi.series_states${days}
            where ${isRequested} and ${ofSeries(asked)}`;
  if (!isChosen(asked)) return requested;
  const all = (chosen: readonly string[]) => sql`unnest(${chosen.length > 0 ? [...chosen] : ['']}::text[])`;
  return sql`${requested}
            union all
            select chosen_country, chosen_topic, '{}', '{}', '{}'
            from ${all(asked.country)} as chosen_country cross join ${all(asked.topic)} as chosen_topic
            where not exists (
              select from gmsi.series_states
              where ${isRequested} and ${ofSeries(asked)} and chosen_country in ('', country) and chosen_topic in ('', topic)
            )`;
}

/**
 * Returns the tables of SQL that end in `changed`: a row of each part, and one of all of them (`is_all`), also without headlines.
 * Reads each day once, because a warehouse has thousands of series.
 */
export function changedParts(
  asked: Omit<ChangesAsked, 'from' | 'to' | 'against'>,
  periods: Periods,
): RawBuilder<unknown> {
  const { model, of } = asked;
  const type = model === 'semantic' ? 'semantic_sentiment' : model;
  const country = of === 'topic' ? sql`''` : sql`country`;
  const topic = of === 'country' ? sql`''` : sql`topic`;
  const both = (value: RawBuilder<unknown>) => sql.join(inBoth(periods, value), sql` + `);
  const daysAndSums = sql`${both(sql`sum ^ 2 / count`)} as squares, ${both(sql`1`)} as days,
               ${sumsOf(periods, sql`count`, sql`sum`)}`;
  const stateIn = (first: RawBuilder<unknown>, last: RawBuilder<unknown>) =>
    sql`gmsi.state_of(daterange(${first}, ${last}, '[]'), covered, settling, partial, false)`;
  const held =
    asked.as_of === undefined
      ? sql`select country, topic, day, sentiment_sum as sum, headline_count as count
        from gmsi.sentiment_daily
        where ${ofSeries(asked)} and sentiment_type = ${type} and headline_count > 0
          and (${periods.isNow} or ${periods.isBefore})`
      : sql`select country, topic, day, score as sum, 1 as count
        from (${scoredHeadlines(asked, periods, ofSeries(asked))}) as scored`;
  return sql`by_day as (
        select ${country} as country, ${topic} as topic, day, sum(sum) as sum, sum(count) as count
        from (${held}) as held
        group by 1, 2, day
      ), compared as (
        select false as is_all, country, topic, ${daysAndSums} from by_day group by country, topic
        union all
        select true, '', '', ${daysAndSums}
        from (select day, sum(sum) as sum, sum(count) as count from by_day group by day) as all_by_day
      ), states as (
        select country is null as is_all, coalesce(country, '') as country, coalesce(topic, '') as topic,
               ${stateOfAll('state')} as state, ${stateOfAll('state_before')} as state_before
        from (
          select ${country} as country, ${topic} as topic, covered, settling, partial
          from (${seriesOf(asked)}) as series
        ) as series
        cross join lateral (
          select ${stateIn(periods.first, periods.last)} as state,
                 ${stateIn(periods.beforeFirst, periods.beforeLast)} as state_before
        ) as each
        group by grouping sets ((country, topic), ())
      ), changed as (
        select *, s / nullif(n, 0) as mean, s0 / nullif(n0, 0) as mean_before, change / nullif(error, 0) as z
        from (
          select is_all, country, topic, days, coalesce(n, 0) as n, s, coalesce(n0, 0) as n0, s0, s / nullif(n, 0) - s0 / nullif(n0, 0) as change,
                 coalesce(state, case when n > 0 then 'partial' else 'not loaded' end) as state,
                 coalesce(state_before, case when n0 > 0 then 'partial' else 'not loaded' end) as state_before,
                 case when days >= ${sql.lit(leastDays)}
                      then sqrt(greatest(0, squares - coalesce(s ^ 2 / nullif(n, 0), 0) - coalesce(s0 ^ 2 / nullif(n0, 0), 0))
                                / (days - 2) * (1.0 / nullif(n, 0) + 1.0 / nullif(n0, 0))) end as error
          from compared ${isChosen(asked) ? sql`full` : sql`left`} join states using (is_all, country, topic)
          where is_all or country <> '' or topic <> ''
        ) as part
      )`;
}

/** Returns what changed most, in standard errors, after a row of all series together; a last row sums up the others. */
export function sentimentChanges(asked: ChangesAsked) {
  const periods = periodsOf(asked);
  return question(
    changeRow,
    `Change of ${aboutMove(asked)}`,
    sql`
      with ${changedParts(asked, periods)}, ranked as (
        select *, row_number() over (order by is_all desc, abs(z) desc nulls last, abs(change) desc nulls last, country, topic) as place
        from changed
      ), shown as (
        select place, country, topic, null::int as others, n, s, n0, s0, z, state, state_before
        from ranked where place <= ${sql.lit(mostChanges + 1)}
        union all
        select ${sql.lit(mostChanges + 2)}, '', '', count(*)::int, sum(n)::int, sum(s), sum(n0)::int, sum(s0), null,
               coalesce(${stateOfAll('state')}, 'not loaded'), coalesce(${stateOfAll('state_before')}, 'not loaded')
        from ranked where place > ${sql.lit(mostChanges + 1)}
        having count(*) > 0
      )
      select nullif(part.country, '') as country, nullif(part.topic, '') as topic, others,
             part.s / nullif(part.n, 0) as mean, part.n as headline_count, part.s0 / nullif(part.n0, 0) as mean_before,
             part.n0 as headline_count_before, part.s / nullif(part.n, 0) - part.s0 / nullif(part.n0, 0) as change,
             ${partOfMove('part', 'total')} as contribution, z, state, state_before,
             ${periods.beforeFirst}::text as before_from, ${periods.beforeLast}::text as before_to
      from shown as part cross join (select n, s, n0, s0 from changed where is_all) as total
      order by place`,
  );
}

/** Headlines that say the same, in both periods, and what they add to the move of the mean. */
export const storyOfMoveRow = z.object({
  headline: text.describe('As its latest headline puts it.'),
  source: text,
  url: text,
  last_at: timeText,
  others: z
    .int()
    .nullable()
    .describe('Of how many further stories the row is the sum; null if it is of one.'),
  mean: score,
  headline_count: z
    .int()
    .describe('Headlines of the period with a score that say the same (gmsi.story_key).'),
  mean_before: score,
  headline_count_before: z.int(),
  contribution: z.number().describe('To the change of the mean, which is the sum of all contributions.'),
});

/** Selects the headlines of both periods that have a score, now or as of a moment. @param isAsked which headlines */
function scoredHeadlines(
  { model, as_of }: Pick<MoveAsked, 'model' | 'as_of'>,
  { first, last, beforeFirst, beforeLast }: Periods,
  isAsked: RawBuilder<boolean>,
): RawBuilder<unknown> {
  const isIn = (first: RawBuilder<unknown>, last: RawBuilder<unknown>) =>
    sql`published_at >= ${first}::timestamp at time zone 'UTC' and published_at < (${last} + 1)::timestamp at time zone 'UTC'`;
  const held =
    as_of === undefined ? sql`gmsi.headlines` : sql`gmsi.headlines_as_of(${momentSql(as_of)}) as headlines`;
  return sql`
        select country, topic, headline_id, headline, source, url, published_at, score,
               (published_at at time zone 'UTC')::date as day
        from (
          select *, gmsi.summable(${sql.ref(`${model}_score`)}) as score
          from ${held}
          where ${isAsked} and retracted_at is null
            and (${isIn(first, last)} or ${isIn(beforeFirst, beforeLast)})
        ) as found
        where score is not null`;
}

/**
 * Returns the tables of SQL that end in `parts`: the stories of both periods, with what each adds to the move.
 * @param isAsked which headlines
 */
export function partsOfStories(
  asked: Pick<MoveAsked, 'model' | 'as_of'>,
  periods: Periods,
  isAsked: RawBuilder<boolean>,
): RawBuilder<unknown> {
  return sql`scored as (${scoredHeadlines(asked, periods, isAsked)}
      ), total as (
        select ${sumsOf(periods, sql`1`, sql`score`)} from scored
      ), stories as (
        select ${latest}, max(published_at) as last_at, ${sumsOf(periods, sql`1`, sql`score`)}
        from scored
        group by coalesce(gmsi.story_key(headline), headline_id)
      ), parts as (
        select * from (
          select story.*, ${partOfMove('story', 'total')} as contribution
          from stories as story cross join total
        ) as story
        where contribution is not null
      )`;
}

/** Most stories that raise the mean, and most that lower it. */
const mostStories = 50;

/**
 * Returns the stories that moved a mean most, up or down, and the others summed up in a last row. No row if one of the periods
 * has no headlines.
 */
export function storiesOfMove(asked: MoveAsked) {
  const isFirst = (order: RawBuilder<unknown>) =>
    sql`row_number() over (order by ${order}, last_at desc) <= ${sql.lit(mostStories)}`;
  return question(
    storyOfMoveRow,
    `Stories behind the change of ${aboutMove(asked)}`,
    sql`
      with ${partsOfStories(asked, periodsOf(asked), ofSeries(asked))}, ranked as (
        select *, ${isFirst(sql`contribution desc`)} or ${isFirst(sql`contribution`)} as is_shown from parts
      ), shown as (
        select headline, source, url, last_at, null::int as others, n, s, n0, s0, contribution from ranked where is_shown
        union all
        select null, null, null, max(last_at), count(*)::int, sum(n)::int, sum(s), sum(n0)::int, sum(s0), sum(contribution)
        from ranked where not is_shown
        having count(*) > 0
      )
      select headline, source, url, ${exactTime('last_at')} as last_at, others, s / nullif(n, 0) as mean, n as headline_count,
             s0 / nullif(n0, 0) as mean_before, n0 as headline_count_before, contribution
      from shown
      order by others is not null, contribution desc, shown.last_at desc`,
  );
}
