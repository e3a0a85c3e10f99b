import { type RawBuilder, sql } from 'kysely';
import type { Day } from '../database.ts';
import type { Question } from './reading.ts';
import type { Bucket } from './sentiment.ts';

/** Feeds with hourly sums of sentiment. */
export const indexFeeds = ['gmsi-index', 'regional-index', 'ticker-index', 'ticker-event-metrics'] as const;
export type IndexFeed = (typeof indexFeeds)[number];

/** What an index is about, its topic, and the rest that makes it a line of its own; as expressions of its table. */
const parts: Readonly<
  Record<IndexFeed, { table: string; subject: string; topic: string; line: string; count?: string }>
> = {
  'gmsi-index': {
    ...{ table: 'gmsi_index', subject: 'country', topic: 'topic' },
    line: "concat_ws(' ', match_type, sentiment_type, nullif('sparse=' || sparse, 'sparse='), nullif('aligned=' || align_to_period_end, 'aligned='))",
  },
  'regional-index': {
    ...{ table: 'regional_index', subject: 'country_name', topic: 'topic' },
    line: "concat_ws(' ', match_type, variant)",
  },
  'ticker-index': {
    ...{ table: 'ticker_index', subject: 'ticker', topic: 'topic' },
    line: "concat_ws(' ', match_type, record_match_type, nullif(variant, ''))",
  },
  'ticker-event-metrics': {
    ...{ table: 'ticker_event_metrics', subject: 'ticker', topic: 'topic', count: 'event_count' },
    line: "concat_ws(' ', event_type, nullif(variant, ''))",
  },
};

function partsOf(feed: IndexFeed) {
  const { table, subject, topic, line, count = 'headline_count' } = parts[feed];
  return {
    table: sql.id('gmsi', table),
    subject: sql.raw(subject) as RawBuilder<unknown>,
    topic: sql`coalesce(${sql.raw(topic)}, '')`,
    line: sql.raw(line) as RawBuilder<unknown>,
    count: sql.raw(count) as RawBuilder<unknown>,
  };
}

/** A subject of an index feed, such as a country or an asset, with its hours in the year before its newest. */
export interface IndexSubject {
  readonly subject: string;
  readonly hours: number;
  readonly newest: Day;
}

export function indexSubjects(feed: IndexFeed): Question<IndexSubject> {
  const { table, subject } = partsOf(feed);
  return {
    about: `What the index ${feed} is about`,
    query: sql<IndexSubject>`
      select ${subject} as subject, count(*)::int as hours, (max(published_at) at time zone 'UTC')::date::text as newest
      from ${table}
      where published_at > (select max(published_at) - interval '1 year' from ${table})
      group by 1 order by 1 limit 1000`,
  };
}

export interface IndexAsked {
  readonly feed: IndexFeed;
  readonly subject: string;
  readonly from: Day;
  /** Inclusive. */
  readonly to: Day;
  readonly by: Bucket;
}

/** The mean of an index over an hour, a day, a week or a month, weighted by the number of headlines or events. */
export interface IndexPoint {
  readonly topic: string;
  /** Match type, model and further parameters. */
  readonly line: string;
  /** As in `Sentiment`. */
  readonly at: string;
  readonly mean: number | null;
  readonly count: number;
}

/** Returns an index as the service aggregates it: sums are added, then divided. */
export function indexOverTime({ feed, subject, from, to, by }: IndexAsked): Question<IndexPoint> {
  const of = partsOf(feed);
  const begins = sql`date_trunc(${sql.lit(by)}, published_at at time zone 'UTC')`;
  const at = by === 'hour' ? sql`to_char(${begins}, 'YYYY-MM-DD"T"HH24:MI"Z"')` : sql`${begins}::date::text`;
  return {
    about: `The index ${feed} of ${subject} by ${by}`,
    query: sql<IndexPoint>`
      select ${of.topic} as topic, ${of.line} as line, ${at} as at,
             sum(gmsi.summable(sentiment_sum)) / nullif(sum(${of.count}), 0) as mean, coalesce(sum(${of.count}), 0)::int as count
      from ${of.table}
      where ${of.subject} = ${subject} and retracted_at is null
        and published_at >= ${from}::date::timestamp at time zone 'UTC'
        and published_at < (${to}::date + 1)::timestamp at time zone 'UTC'
      group by 1, 2, ${begins}
      order by 1, 2, ${begins}
      limit 50000`,
  };
}

export const newsKinds = ['event', 'headline', 'event headline'] as const;
export type NewsKind = (typeof newsKinds)[number];

export interface AssetNewsAsked {
  readonly ticker: string;
  /** All kinds by default. */
  readonly kind?: NewsKind | undefined;
  readonly from: Day;
  /** Inclusive. */
  readonly to: Day;
  readonly limit: number;
}

/** An event of an asset, a headline about it, or a headline about one of its events. */
export interface AssetNews {
  readonly kind: NewsKind;
  readonly at: Date;
  readonly text: string | null;
  readonly source: string | null;
  readonly url: string | null;
  readonly topic: string | null;
  /** Direction and impact of an event, as sent. */
  readonly impact: string | null;
  /** From -1 to 1; `null` for an event. */
  readonly score: number | null;
}

/** Returns events and headlines of an asset, the latest first. */
export function assetNews({ ticker, kind, from, to, limit }: AssetNewsAsked): Question<AssetNews> {
  const within = (time: string) => sql`ticker = ${ticker} and retracted_at is null
        and ${sql.ref(time)} >= ${from}::date::timestamp at time zone 'UTC'
        and ${sql.ref(time)} < (${to}::date + 1)::timestamp at time zone 'UTC'`;
  return {
    about: `Events and headlines of ${ticker}`,
    query: sql<AssetNews>`
      select * from (
        select 'event' as kind, event_at as at, concat_ws(': ', event_name, summary) as text, null as source, null as url, topic,
               concat_ws(', ', event_type, direction, 'impact ' || impact) as impact, null::float8 as score
        from gmsi.ticker_events where ${within('event_at')}
        union all
        select 'headline', published_at, headline, source, url, topic, null, sentiment_score
        from gmsi.ticker_headlines where ${within('published_at')}
        union all
        select 'event headline', published_at, headline, source, url, coalesce(event_name, topic), null, sentiment_score
        from gmsi.ticker_event_headlines where ${within('published_at')}
      ) as news
      ${kind ? sql`where kind = ${kind}` : sql``}
      order by at desc, kind, text
      limit ${limit}::int`,
  };
}
