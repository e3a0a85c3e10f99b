import { type RawBuilder, sql } from 'kysely';
import type { Day } from '../database.ts';
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

/** Mean scores (-1 to 1) of the headlines of an hour, a day, a week or a month. */
export interface Sentiment {
  readonly country: string;
  readonly topic: string;
  readonly match_type: string;
  /** When it begins (UTC), `YYYY-MM-DDTHH:MMZ` of an hour, else `YYYY-MM-DD`. */
  readonly at: string;
  /** `null` if no headline has a score. */
  readonly directional: number | null;
  readonly semantic: number | null;
  /** Standard errors of these means, as if headlines were independent; `null` for fewer than two scores. */
  readonly directional_error: number | null;
  readonly semantic_error: number | null;
  /** All headlines, with or without a score. */
  readonly headlines: number;
}

/** Returns the sentiment of series over time. A bucket without headlines has no row. */
export function sentimentOverTime(asked: SentimentAsked): Question<Sentiment> {
  const { by, asOf } = asked;
  const { held, time, means, errorOf } = sourceOf(asked);
  const { begins, at } = bucketOf(by, time);
  return {
    about: `Mean sentiment by ${by}${asOf === null ? '' : `, as it was known at ${asOf}`}`,
    query: sql<Sentiment>`
      select country, topic, match_type, ${at} as at, ${means},
             ${errorOf('directional')} as directional_error,
             ${errorOf('semantic')} as semantic_error
      from ${held}
      group by country, topic, match_type, ${begins}
      order by country, topic, match_type, ${begins}`,
  };
}

/** Returns when a bucket begins: rows are grouped by the time itself, which is cheaper than by its text. */
export function bucketOf(by: Bucket, time: RawBuilder<unknown>) {
  const begins = sql`date_trunc(${sql.lit(by)}, ${time})`;
  const at = by === 'hour' ? sql`to_char(${begins}, 'YYYY-MM-DD"T"HH24:MI"Z"')` : sql`${begins}::date::text`;
  return { begins, at };
}

/** The headlines of a question, as rows of SQL, and what sums them up. */
interface Source {
  readonly held: RawBuilder<unknown>;
  /** The time of a row, in UTC. */
  readonly time: RawBuilder<unknown>;
  /** The columns `directional`, `semantic` and `headlines`. */
  readonly means: RawBuilder<unknown>;
  /** Returns the standard error of a mean. */
  readonly errorOf: (model: 'directional' | 'semantic') => RawBuilder<unknown>;
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

const ofHeadlines: Pick<Source, 'means' | 'errorOf'> = {
  means: sql`
             avg(directional) as directional, avg(semantic) as semantic, count(*)::int as headlines`,
  errorOf(model) {
    const score = sql.ref(model);
    return sql`stddev_samp(${score}) / sqrt(nullif(count(${score}), 0))`;
  },
};

const ofRollup: Pick<Source, 'means' | 'errorOf'> = {
  means: sql`
             sum(sentiment_sum) filter (where sentiment_type = 'directional')
               / nullif(sum(headline_count) filter (where sentiment_type = 'directional'), 0) as directional,
             sum(sentiment_sum) filter (where sentiment_type = 'semantic_sentiment')
               / nullif(sum(headline_count) filter (where sentiment_type = 'semantic_sentiment'), 0) as semantic,
             (sum(all_count) filter (where sentiment_type = 'directional'))::int as headlines`,
  // A sum of squares follows from the count, sum and population deviation of each row.
  errorOf(model) {
    const type = model === 'semantic' ? 'semantic_sentiment' : model;
    const total = (value: RawBuilder<unknown>) =>
      sql`sum(${value}) filter (where sentiment_type = ${sql.lit(type)})`;
    const count = total(sql`headline_count`);
    const squares = total(
      sql`headline_count * sentiment_std ^ 2 + sentiment_sum ^ 2 / nullif(headline_count, 0)`,
    );
    // Rounding can make the difference slightly negative if all scores are equal.
    return sql`case when ${count} > 1 then sqrt(greatest(0, ${squares} - (${total(sql`sentiment_sum`)}) ^ 2 / ${count})
               / (${count} - 1) / ${count}) end`;
  },
};

/** The sentiment of a topic over a period, a row for each country that had headlines. */
export interface CountrySentiment extends Pick<Sentiment, 'directional' | 'semantic' | 'headlines'> {
  readonly country: string;
}

export function sentimentByCountry(asked: Omit<SentimentAsked, 'by'>): Question<CountrySentiment> {
  const { held, means } = sourceOf(asked);
  return {
    about: `Mean sentiment by country, ${asked.from} to ${asked.to}`,
    query: sql<CountrySentiment>`
      select country, ${means}
      from ${held}
      group by 1
      order by 1`,
  };
}

/** The sentiment of topics by week, of countries together. */
export interface TopicSentiment extends Pick<Sentiment, 'at' | 'directional' | 'semantic' | 'headlines'> {
  readonly topic: string;
}

export function sentimentByTopic(asked: SentimentAsked): Question<TopicSentiment> {
  const { held, time, means } = sourceOf(asked);
  const { begins, at } = bucketOf(asked.by, time);
  return {
    about: `Mean sentiment by topic and ${asked.by}, ${asked.from} to ${asked.to}`,
    query: sql<TopicSentiment>`
      select topic, ${at} as at, ${means}
      from ${held}
      group by topic, ${begins}
      order by topic, ${begins}`,
  };
}

export interface ChangesAsked {
  readonly matchType: string;
  readonly model: 'directional' | 'semantic';
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
}

/** How many periods of so many days are before the one that is compared with them: 90 days, or the whole weeks in them. */
const periodsBefore = { 1: 90, 7: 12 };

/** Returns what changed most, by the amount of its z-score. */
export function sentimentChanges({ matchType, model, to, days, of }: ChangesAsked): Question<Change> {
  const type = model === 'semantic' ? 'semantic_sentiment' : model;
  const periods = periodsBefore[days];
  const country = of === 'topic' ? sql`null::text` : sql`country`;
  const topic = of === 'country' ? sql`null::text` : sql`topic`;
  return {
    about: `Change of ${model} sentiment in the ${days === 1 ? 'day' : `${days} days`} to ${to}, against the ${periods * days} days before`,
    query: sql<Change>`
      select country, topic, mean, headlines, usual, periods, z
      from (
        select country, topic, max(mean) filter (where ago = 0) as mean, max(headlines) filter (where ago = 0) as headlines,
               avg(mean) filter (where ago > 0) as usual, (count(mean) filter (where ago > 0))::int as periods,
               case when count(mean) filter (where ago > 0) * 2 >= ${sql.lit(periods)}
                    then (max(mean) filter (where ago = 0) - avg(mean) filter (where ago > 0))
                         / nullif(stddev_samp(mean) filter (where ago > 0), 0) end as z
        from (
          select ${country} as country, ${topic} as topic, (${to}::date - day) / ${sql.lit(days)} as ago,
                 sum(sentiment_sum) / nullif(sum(headline_count), 0) as mean, sum(headline_count)::int as headlines
          from gmsi.sentiment_daily
          where match_type = ${matchType} and sentiment_type = ${type}
            and day > ${to}::date - ${sql.lit((periods + 1) * days)} and day <= ${to}::date
          group by 1, 2, 3
        ) as by_period
        group by 1, 2
      ) as compared
      where mean is not null
      order by abs(z) desc nulls last, 1, 2
      limit 500`,
  };
}
