import { type RawBuilder, sql } from 'kysely';
import type { Day } from '../database.ts';
import { daysThen, isUncovered } from './coverage.ts';
import { type Moment, momentSql } from './moment.ts';
import type { Question } from './reading.ts';

/** The periods by which scores of headlines are summed up. Days, weeks (from Monday) and months are those of UTC. */
export type Bucket = 'hour' | 'day' | 'week' | 'month';

export interface SentimentAsked {
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matchTypes: readonly string[];
  readonly from: Day;
  /** Inclusive. */
  readonly to: Day;
  readonly by: Bucket;
  /** The warehouse as it was at that moment; `null` for now. */
  readonly asOf: Moment | null;
}

/** Scores (-1 to 1) of the headlines of an hour, a day, a week or a month, summed up as in `gmsi.sentiment_by_day`. */
export interface Sentiment {
  readonly country: string;
  readonly topic: string;
  readonly match_type: string;
  /** When it begins (UTC), `YYYY-MM-DDTHH:MMZ` of an hour, else `YYYY-MM-DD`. */
  readonly at: string;
  /** What is loaded of its days in the period (`gmsi.state_of`). If nothing is, all that follows is `null`. */
  readonly state: string;
  /** Headlines with a score, and the sum of their scores. */
  readonly directional_count: number | null;
  readonly directional_sum: number | null;
  /** Sum divided by count; `null` if no headline has a score. */
  readonly directional: number | null;
  /** Standard error of the mean, as if headlines were independent; `null` for fewer than two scores. */
  readonly directional_error: number | null;
  readonly semantic_count: number | null;
  readonly semantic_sum: number | null;
  readonly semantic: number | null;
  readonly semantic_error: number | null;
  /** All headlines, with or without a score. */
  readonly headlines: number | null;
}

/** Returns the sentiment of series over time, with a row for each bucket that has days of the period. */
export function sentimentOverTime(asked: SentimentAsked): Question<Sentiment> {
  const { countries, topics, matchTypes, from, to, by, asOf } = asked;
  const { held, time, headlines, countOf, sumOf, errorOf } = sourceOf(asked);
  const { begins } = bucketOf(by, time);
  const step = sql`interval ${sql.lit(`1 ${by}`)}`;
  const firstDay = sql`${from}::date`;
  const lastDay = sql`${to}::date`;
  const days =
    asOf === null
      ? sql`gmsi.series_days('gmsi-headlines', country, topic, '', match_type, '')`
      : daysThen(asOf);
  const ifLoaded = (value: string) =>
    sql`case when state <> 'not loaded' then coalesce(${sql.ref(value)}, 0) end as ${sql.ref(value)}`;
  const shown = models.map(
    (model) => sql`
             ${ifLoaded(`${model}_count`)},
             ${ifLoaded(`${model}_sum`)},
             ${sql.ref(`${model}_sum`)} / nullif(${sql.ref(`${model}_count`)}, 0) as ${sql.ref(model)}, ${sql.ref(`${model}_error`)}`,
  );
  const summed = models.map(
    (model) => sql`
               ${countOf(model)} as ${sql.ref(`${model}_count`)},
               ${sumOf(model)} as ${sql.ref(`${model}_sum`)},
               ${errorOf(model)} as ${sql.ref(`${model}_error`)}`,
  );
  return {
    about: `Sentiment by ${by}${asOf === null ? '' : `, as it was known at ${asOf}`}`,
    // A full join, because before the first ANALYZE, a left join may be planned as a nested loop over all buckets.
    query: sql<Sentiment>`
      with series as (
        select asked.*, covered, settling, partial
        from (
          select distinct country, topic, match_type
          from unnest(${[...countries]}::text[]) as country, unnest(${[...topics]}::text[]) as topic,
               unnest(${[...matchTypes]}::text[]) as match_type
        ) as asked
        cross join lateral ${days} as days
      ), buckets as (
        select series.*, begins,
               daterange(greatest(begins::date, ${firstDay}),
                         least((begins + ${step} - interval '1 microsecond')::date, ${lastDay}), '[]') as days
        from series
        cross join generate_series(date_trunc(${sql.lit(by)}, ${firstDay}::timestamp), ${lastDay} + interval '23 hours', ${step}) as begins
      ), sums as (
        select country, topic, match_type, ${begins} as begins, ${headlines} as headlines, ${sql.join(summed, sql`,`)}
        from ${held}
        group by country, topic, match_type, ${begins}
      ), points as (
        select *, gmsi.state_of(days, covered, settling, partial, headlines > 0) as state
        from buckets full join sums using (country, topic, match_type, begins)
      )
      select country, topic, match_type, ${textOf(by, sql`begins`)} as at, state, ${sql.join(shown, sql`,`)},
             ${ifLoaded('headlines')}
      from points
      order by country, topic, match_type, begins`,
  };
}

/** Returns when a bucket begins: rows are grouped by the time itself, which is cheaper than by its text. */
export function bucketOf(by: Bucket, time: RawBuilder<unknown>) {
  const begins = sql`date_trunc(${sql.lit(by)}, ${time})`;
  return { begins, at: textOf(by, begins) };
}

function textOf(by: Bucket, begins: RawBuilder<unknown>): RawBuilder<string> {
  return by === 'hour' ? sql`to_char(${begins}, 'YYYY-MM-DD"T"HH24:MI"Z"')` : sql`${begins}::date::text`;
}

const models = ['directional', 'semantic'] as const;
type Model = (typeof models)[number];

/** Expressions that sum up rows. */
interface Sums {
  /** All headlines, with or without a score. */
  readonly headlines: RawBuilder<unknown>;
  /** Returns the number of headlines with a score, the sum of their scores, and the standard error of their mean. */
  readonly countOf: (model: Model) => RawBuilder<unknown>;
  readonly sumOf: (model: Model) => RawBuilder<unknown>;
  readonly errorOf: (model: Model) => RawBuilder<unknown>;
}

/** The headlines of a question, as rows of SQL, and what sums them up. */
interface Source extends Sums {
  readonly held: RawBuilder<unknown>;
  /** The time of a row, in UTC. */
  readonly time: RawBuilder<unknown>;
}

/** Returns the columns `directional`, `semantic` and `headlines`. */
function meansOf({ headlines, countOf, sumOf }: Sums): RawBuilder<unknown> {
  const means = models.map(
    (model) => sql`
             ${sumOf(model)} / nullif(${countOf(model)}, 0) as ${sql.ref(model)}`,
  );
  return sql`${sql.join(means, sql`,`)},
             ${headlines} as headlines`;
}

/** Returns the rollup that serves a question or, for a past moment, the headlines themselves. */
function sourceOf(asked: Omit<SentimentAsked, 'by'> & Partial<Pick<SentimentAsked, 'by'>>): Source {
  const { countries, topics, matchTypes, from, to, by, asOf } = asked;
  const ofSeries = sql`country = any(${[...countries]}::text[]) and topic = any(${[...topics]}::text[])
          and match_type = any(${[...matchTypes]}::text[])`;
  const begin = sql`${from}::date::timestamp at time zone 'UTC'`;
  const end = sql`(${to}::date + 1)::timestamp at time zone 'UTC'`;
  if (asOf !== null)
    return {
      ...ofHeadlines,
      time: sql`published_at at time zone 'UTC'`,
      held: sql`(
        select country, topic, match_type, published_at, gmsi.summable(directional_score) as directional,
               gmsi.summable(semantic_score) as semantic
        from gmsi.headlines_as_of(${momentSql(asOf)})
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

const ofHeadlines: Sums = {
  headlines: sql`count(*)::int`,
  countOf: (model) => sql`count(${sql.ref(model)})::int`,
  sumOf: (model) => sql`sum(${sql.ref(model)})`,
  errorOf: (model) => sql`stddev_samp(${sql.ref(model)}) / sqrt(nullif(count(${sql.ref(model)}), 0))`,
};

function totalOf(value: RawBuilder<unknown>, model: Model): RawBuilder<unknown> {
  const type = model === 'semantic' ? 'semantic_sentiment' : model;
  return sql`sum(${value}) filter (where sentiment_type = ${sql.lit(type)})`;
}

const ofRollup: Sums = {
  headlines: sql`(${totalOf(sql`all_count`, 'directional')})::int`,
  countOf: (model) => sql`(${totalOf(sql`headline_count`, model)})::int`,
  sumOf: (model) => totalOf(sql`sentiment_sum`, model),
  // A sum of squares follows from the count, sum and population deviation of each row.
  errorOf(model) {
    const count = totalOf(sql`headline_count`, model);
    const squares = totalOf(
      sql`headline_count * sentiment_std ^ 2 + sentiment_sum ^ 2 / nullif(headline_count, 0)`,
      model,
    );
    // Rounding can make the difference slightly negative if all scores are equal.
    return sql`case when ${count} > 1 then sqrt(greatest(0, ${squares} - (${totalOf(sql`sentiment_sum`, model)}) ^ 2 / ${count})
               / (${count} - 1) / ${count}) end`;
  },
};

/** The sentiment of a topic over a period, a row for each country that had headlines. */
export interface CountrySentiment extends Pick<Sentiment, 'directional' | 'semantic'> {
  readonly country: string;
  readonly headlines: number;
}

export function sentimentByCountry(asked: Omit<SentimentAsked, 'by'>): Question<CountrySentiment> {
  const source = sourceOf(asked);
  return {
    about: `Mean sentiment by country, ${asked.from} to ${asked.to}`,
    query: sql<CountrySentiment>`
      select country, ${meansOf(source)}
      from ${source.held}
      group by 1
      order by 1`,
  };
}

/** The sentiment of topics by week, of countries together. */
export interface TopicSentiment extends Pick<Sentiment, 'at' | 'directional' | 'semantic'> {
  readonly topic: string;
  readonly headlines: number;
}

export function sentimentByTopic(asked: SentimentAsked): Question<TopicSentiment> {
  const source = sourceOf(asked);
  const { begins, at } = bucketOf(asked.by, source.time);
  return {
    about: `Mean sentiment by topic and ${asked.by}, ${asked.from} to ${asked.to}`,
    query: sql<TopicSentiment>`
      select topic, ${at} as at, ${meansOf(source)}
      from ${source.held}
      group by topic, ${begins}
      order by topic, ${begins}`,
  };
}

export interface ChangesAsked {
  readonly matchType: string;
  readonly model: Model;
  /** The last day of the period that is compared with the 90 days or 12 weeks before it. */
  readonly to: Day;
  /** The length of the period: a day or a week. */
  readonly days: 1 | 7;
  /** What is compared: series, or countries and topics over all their series. */
  readonly of: 'series' | 'country' | 'topic';
}

/** The mean score of a period, compared with the 90 days or 12 weeks before it. */
export interface Change {
  /** `null` for a topic over all countries. */
  readonly country: string | null;
  /** `null` for a country over all topics. */
  readonly topic: string | null;
  readonly mean: number;
  /** Headlines of the period with a score. */
  readonly headlines: number;
  /** Mean of the earlier periods' means; `null` without any. */
  readonly usual: number | null;
  /** Earlier periods with headlines. */
  readonly periods: number;
  /** (mean - usual) / standard deviation of the earlier means; `null` if less than half of the periods had headlines. */
  readonly z: number | null;
  /** What is loaded of the period, and of the earlier ones (`gmsi.state_of`), over all series that were requested. */
  readonly state: string;
  readonly usual_state: string;
}

/** How many periods of so many days are before the one that is compared with them: 90 days, or the whole weeks in them. */
const periodsBefore = { 1: 90, 7: 12 };

/** Returns what changed most, by the amount of its z-score. */
export function sentimentChanges({ matchType, model, to, days, of }: ChangesAsked): Question<Change> {
  const type = model === 'semantic' ? 'semantic_sentiment' : model;
  const periods = periodsBefore[days];
  const country = of === 'topic' ? sql`''` : sql`country`;
  const topic = of === 'country' ? sql`''` : sql`topic`;
  const lastDay = sql`${to}::date`;
  const requested = sql`${country} as country, ${topic} as topic, country as own_country, topic as own_topic`;
  const isOfMatch = sql`feed = 'gmsi-headlines' and match_type = ${matchType}`;
  const stateOfAll = (state: string) =>
    sql`case when bool_and(${sql.ref(state)} = 'covered') then 'covered'
                    when bool_and(${sql.ref(state)} in ('covered', 'settling')) then 'settling'
                    when bool_or(${sql.ref(state)} <> 'not loaded') then 'partial' end`;
  return {
    about: `Change of ${model} sentiment in the ${days === 1 ? 'day' : `${days} days`} to ${to}, against the ${periods * days} days before`,
    query: sql<Change>`
      with changed as (
        select *
        from (
          select country, topic, max(mean) filter (where ago = 0) as mean, max(headlines) filter (where ago = 0) as headlines,
                 avg(mean) filter (where ago > 0) as usual, (count(mean) filter (where ago > 0))::int as periods,
                 case when count(mean) filter (where ago > 0) * 2 >= ${sql.lit(periods)}
                      then (max(mean) filter (where ago = 0) - avg(mean) filter (where ago > 0))
                           / nullif(stddev_samp(mean) filter (where ago > 0), 0) end as z
          from (
            select ${country} as country, ${topic} as topic, (${lastDay} - day) / ${sql.lit(days)} as ago,
                   sum(sentiment_sum) / nullif(sum(headline_count), 0) as mean, sum(headline_count)::int as headlines
            from gmsi.sentiment_daily
            where match_type = ${matchType} and sentiment_type = ${type}
              and day > ${lastDay} - ${sql.lit((periods + 1) * days)} and day <= ${lastDay}
            group by 1, 2, 3
          ) as by_period
          group by 1, 2
        ) as compared
        where mean is not null
        order by abs(z) desc nulls last, 1, 2
        limit 500
      ), states as (
        select country, topic,
               ${stateOfAll('state')} as state,
               ${stateOfAll('usual_state')} as usual_state
        from changed
        join (
          select ${requested} from gmsi.coverage where ${isOfMatch}
          union
          select ${requested} from gmsi.windows where ${isOfMatch} and ${isUncovered}
        ) as series using (country, topic)
        cross join lateral gmsi.series_days('gmsi-headlines', own_country, own_topic, '', ${matchType}, '')
        cross join lateral (
          select gmsi.state_of(daterange(${lastDay} - ${sql.lit(days)}, ${lastDay}, '(]'), covered, settling, partial, false) as state,
                 gmsi.state_of(daterange(${lastDay} - ${sql.lit((periods + 1) * days)}, ${lastDay} - ${sql.lit(days)}, '(]'),
                               covered, settling, partial, false) as usual_state
        ) as each
        group by 1, 2
      )
      select nullif(country, '') as country, nullif(topic, '') as topic, mean, headlines, usual, periods, z,
             coalesce(state, 'partial') as state,
             coalesce(usual_state, case when periods > 0 then 'partial' else 'not loaded' end) as usual_state
      from changed
      left join states using (country, topic)
      order by abs(z) desc nulls last, 1, 2`,
  };
}
