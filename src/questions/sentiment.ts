import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { type Asked, asOf, type Bucket, by, period, several } from './asking.ts';
import { daysThen } from './coverage.ts';
import { momentSql, question, type RowOf, score } from './reading.ts';

export const country = several('A country', 100);
export const topic = several('A topic', 100);

/** A period of series, all combinations of these lists, in buckets. */
export const sentimentAsked = z.object({
  country,
  topic,
  match_type: several('A match type', 3).default(['COMBINED']),
  ...period,
  as_of: asOf,
  by,
});
type SentimentAsked = Asked<typeof sentimentAsked>;

const count = z.int().nullable();

/** The sentiment of a series in an hour, a day, a week or a month. */
export const sentimentRow = z.object({
  country: z.string(),
  topic: z.string(),
  match_type: z.string(),
  at: z.string().describe('When it begins (UTC): YYYY-MM-DDTHH:MMZ of an hour, else YYYY-MM-DD.'),
  state: z
    .string()
    .describe(
      'What is loaded of these days: covered, settling, partial or not loaded, as in gmsi.sentiment_by_day; ' +
        'with as_of, of then. Not loaded: all that follows is null.',
    ),
  directional_count: count.describe('Headlines with a score.'),
  directional_sum: score.describe(
    'Sum of their scores (-1 to 1). A mean over several rows is the sum of sums divided by the sum of counts.',
  ),
  directional: score.describe('Their mean; null if there are none.'),
  semantic_count: count,
  semantic_sum: score,
  semantic: score,
  all_count: count.describe('All headlines, with or without a score.'),
});
export type Sentiment = RowOf<typeof sentimentRow>;

/** Returns the sentiment of series over time, with a row for each bucket that has days of the period. */
export function sentimentOverTime(asked: SentimentAsked) {
  const { by, as_of } = asked;
  const shown = models.map(
    (model) => sql`
             ${ifLoaded(`${model}_count`)},
             ${ifLoaded(`${model}_sum`)},
             ${meanOf(model)}`,
  );
  return question(
    sentimentRow,
    `Sentiment by ${by}${as_of ? `, as it was known at ${as_of}` : ''}`,
    sql`
      with ${pointsOf(asked)}
      select country, topic, match_type, ${textOf(by, sql`begins`)} as at, state, ${sql.join(shown, sql`,`)},
             ${ifLoaded('all_count')}
      from points
      order by country, topic, match_type, begins`,
  );
}

function meanOf(model: Model): RawBuilder<unknown> {
  return sql`${sql.ref(`${model}_sum`)} / nullif(${sql.ref(`${model}_count`)}, 0) as ${sql.ref(model)}`;
}

function ifLoaded(value: string): RawBuilder<number | null> {
  return sql`case when state <> 'not loaded' then coalesce(${sql.ref(value)}, 0) end as ${sql.ref(value)}`;
}

/** Returns the tables of SQL that end in `points`: a row for each series and bucket, with its state. */
function pointsOf(asked: SentimentAsked): RawBuilder<unknown> {
  const { country, topic, match_type, from, to, by, as_of } = asked;
  const { held, time, all, countOf, sumOf } = sourceOf(asked);
  const firstDay = sql`${from}::date`;
  const lastDay = sql`${to}::date`;
  const { begins } = bucketOf(by, time);
  const days =
    as_of === undefined
      ? sql`gmsi.series_days('gmsi-headlines', country, topic, '', match_type, '')`
      : daysThen(as_of);
  const summed = models.map(
    (model) => sql`
               ${countOf(model)} as ${sql.ref(`${model}_count`)},
               ${sumOf(model)} as ${sql.ref(`${model}_sum`)}`,
  );
  const step = sql`interval ${sql.lit(`1 ${by}`)}`;
  const first = sql`date_trunc(${sql.lit(by)}, ${firstDay}::timestamp)`;
  // A full join, because before the first ANALYZE, a left join may be planned as a nested loop over all buckets.
  return sql`series as (
        select asked.*, covered, settling, partial
        from (
          select distinct country, topic, match_type
          from unnest(${[...country]}::text[]) as country, unnest(${[...topic]}::text[]) as topic,
               unnest(${[...match_type]}::text[]) as match_type
        ) as asked
        cross join lateral ${days} as days
      ), buckets as (
        select series.*, begins,
               daterange(greatest(begins::date, ${firstDay}),
                         least((begins + ${step} - interval '1 microsecond')::date, ${lastDay}), '[]') as days
        from series
        cross join generate_series(${first}, ${lastDay} + interval '23 hours', ${step}) as begins
      ), sums as (
        select country, topic, match_type, ${begins} as begins, ${all} as all_count, ${sql.join(summed, sql`,`)}
        from ${held}
        group by country, topic, match_type, ${begins}
      ), points as (
        select *, gmsi.state_of(days, covered, settling, partial, all_count > 0) as state
        from buckets full join sums using (country, topic, match_type, begins)
      )`;
}

/** The state of several series together: `null` if nothing of them is loaded. */
export function stateOfAll(state: string): RawBuilder<string | null> {
  return sql`case when bool_and(${sql.ref(state)} = 'covered') then 'covered'
                    when bool_and(${sql.ref(state)} in ('covered', 'settling')) then 'settling'
                    when bool_or(${sql.ref(state)} <> 'not loaded') then 'partial' end`;
}

/** Returns when a bucket begins: rows are grouped by the time itself, which is cheaper than by its text. */
export function bucketOf(by: Bucket, time: RawBuilder<unknown>) {
  const begins = sql`date_trunc(${sql.lit(by)}, ${time})`;
  return { begins, at: textOf(by, begins) };
}

function textOf(by: Bucket, begins: RawBuilder<unknown>): RawBuilder<string> {
  return by === 'hour' ? sql`to_char(${begins}, 'YYYY-MM-DD"T"HH24:MI"Z"')` : sql`${begins}::date::text`;
}

export const models = ['directional', 'semantic'] as const;
type Model = (typeof models)[number];

/**
 * Returns the rollup that serves a question or, for a past moment, the headlines themselves: `held`, rows of SQL, `time`, that
 * of a row in UTC, and what sums them up.
 */
function sourceOf(asked: SentimentAsked) {
  const { country, topic, match_type, from, to, by, as_of } = asked;
  const ofSeries = sql`country = any(${[...country]}::text[]) and topic = any(${[...topic]}::text[])
          and match_type = any(${[...match_type]}::text[])`;
  const begin = sql`${from}::date::timestamp at time zone 'UTC'`;
  const end = sql`(${to}::date + 1)::timestamp at time zone 'UTC'`;
  if (as_of !== undefined)
    return {
      ...ofHeadlines,
      time: sql`published_at at time zone 'UTC'`,
      held: sql`(
        select country, topic, match_type, published_at, gmsi.summable(directional_score) as directional,
               gmsi.summable(semantic_score) as semantic
        from gmsi.headlines_as_of(${momentSql(as_of)})
        where ${ofSeries} and retracted_at is null
          and published_at >= ${begin} and published_at < ${end}
      ) as held`,
    };
  const [table, time, days] =
    by === 'hour'
      ? [sql`gmsi.sentiment_hourly`, sql`hour at time zone 'UTC'`, sql`hour >= ${begin} and hour < ${end}`]
      : [sql`gmsi.sentiment_daily`, sql`day::timestamp`, sql`day between ${from}::date and ${to}::date`];
  return {
    ...ofRollup,
    time,
    held: sql`(
        select * from ${table}
        where ${ofSeries} and sentiment_type in ('directional', 'semantic_sentiment') and ${days}
      ) as held`,
  };
}

/** What sums up rows: all headlines, with or without a score, and the number of those with a score and the sum of their scores. */
const ofHeadlines = {
  all: sql`count(*)::int`,
  countOf: (model: Model) => sql`count(${sql.ref(model)})::int`,
  sumOf: (model: Model) => sql`sum(${sql.ref(model)})`,
};

function totalOf(value: RawBuilder<unknown>, model: Model): RawBuilder<unknown> {
  const type = model === 'semantic' ? 'semantic_sentiment' : model;
  return sql`sum(${value}) filter (where sentiment_type = ${sql.lit(type)})`;
}

const ofRollup: typeof ofHeadlines = {
  all: sql`(${totalOf(sql`all_count`, 'directional')})::int`,
  countOf: (model) => sql`(${totalOf(sql`headline_count`, model)})::int`,
  sumOf: (model) => totalOf(sql`sentiment_sum`, model),
};
