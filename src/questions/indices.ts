import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { exactTime } from '../warehouse/exact-time.ts';
import { type Asked, asOf, by, limit, period, textUpTo } from './asking.ts';
import { momentSql, question, score, text, timeText } from './reading.ts';
import { bucketOf } from './sentiment.ts';

const usual = {
  matchType: sql`match_type`,
  kind: sql`''`,
  count: sql`headline_count`,
};

/**
 * Feeds with hourly sums of sentiment: their tables, and where the parts of a line are in them. `subject` is a country, a
 * country's name or an asset, and `kind` what else the records tell apart.
 */
const parts = {
  'gmsi-index': { ...usual, table: sql`gmsi.gmsi_index`, subject: sql`country` },
  'regional-index': { ...usual, table: sql`gmsi.regional_index`, subject: sql`country_name` },
  'global-index': { ...usual, table: sql`gmsi.global_index`, subject: sql`'World'::text` },
  'ticker-index': {
    ...usual,
    table: sql`gmsi.ticker_index`,
    subject: sql`ticker`,
    kind: sql`coalesce(record_match_type, '')`,
  },
  'ticker-event-metrics': {
    ...usual,
    table: sql`gmsi.ticker_event_metrics`,
    subject: sql`ticker`,
    matchType: sql`''`,
    kind: sql`coalesce(event_type, '')`,
    count: sql`event_count`,
  },
};

export type IndexFeed = keyof typeof parts;
export const indexFeeds = Object.keys(parts) as IndexFeed[];

/** Feeds of news: their tables, what they are about, when, and their kind. */
const newsFeeds = {
  'macro-headlines': [sql`gmsi.macro_headlines`, sql`country_name`, sql`published_at`, 'macro headline'],
  'ticker-events': [sql`gmsi.ticker_events`, sql`ticker`, sql`event_at`, 'event'],
  'ticker-headlines': [sql`gmsi.ticker_headlines`, sql`ticker`, sql`published_at`, 'headline'],
  'ticker-event-headlines': [
    sql`gmsi.ticker_event_headlines`,
    sql`ticker`,
    sql`published_at`,
    'event headline',
  ],
} as const;

/** Feeds that say themselves what they are about. */
export const subjectFeeds = [...indexFeeds, ...(Object.keys(newsFeeds) as (keyof typeof newsFeeds)[])];

export const subjectRow = z.object({
  subject: z.string(),
  rows: z.int().describe('In the year before the newest.'),
  newest: z.string(),
});

export function feedSubjects(feed: (typeof subjectFeeds)[number]) {
  const [table, subject, time] =
    feed in newsFeeds
      ? newsFeeds[feed as keyof typeof newsFeeds]
      : [parts[feed as IndexFeed].table, parts[feed as IndexFeed].subject, sql`published_at`];
  return question(
    subjectRow,
    `What ${feed} is about`,
    sql`
      select ${subject} as subject, count(*)::int as rows, (max(${time}) at time zone 'UTC')::date::text as newest
      from ${table}
      where ${time} > (select max(${time}) - interval '1 year' from ${table})
      group by 1 order by 1 limit 1000`,
  );
}

const subject = textUpTo(200).describe('A country, a country’s name or a ticker, as the feed has it.');

export const indexAsked = z.object({ subject, ...period, by, feed: z.enum(indexFeeds), as_of: asOf });

/**
 * The mean of an index over an hour, a day, a week or a month, weighted by the number of headlines or events. Without a state:
 * `coverage/days` has the days that are loaded.
 */
export const indexRow = z.object({
  topic: z.string(),
  match_type: z.string(),
  variant: z.string().describe('The model and further parameters, as name=value&name=value.'),
  kind: z.string().describe("The match type of an asset's records, or the type of events."),
  at: z
    .string()
    .describe(
      'By the stamps of its hours: one that is stamped at its beginning has headlines that nobody had then (hour_ends_at).',
    ),
  mean: score.describe('sum / count; null without headlines or events.'),
  count: z.int().describe('Headlines or events.'),
  sum: score.describe('Sum of the scores, of the hours that have both a count and a sum.'),
});

/**
 * Returns an index as the service aggregates it: sums are added, then divided. An hour without a count or a sum is in neither.
 */
export function indexOverTime({ feed, subject, from, to, by, as_of }: Asked<typeof indexAsked>) {
  const of = parts[feed];
  const table =
    as_of === undefined
      ? of.table
      : sql`${sql.ref(`gmsi.${feed.replaceAll('-', '_')}_as_of`)}(${momentSql(as_of)})`;
  const sum = sql`sum(gmsi.summable(sentiment_sum))`;
  const { begins, at } = bucketOf(by, sql`published_at at time zone 'UTC'`);
  return question(
    indexRow,
    `The index ${feed} of ${subject} by ${by}${as_of ? `, as it was known at ${as_of}` : ''}`,
    sql`
      select coalesce(topic, '') as topic, ${of.matchType} as match_type, variant, ${of.kind} as kind, ${at} as at,
             ${sum} / nullif(sum(${of.count}), 0) as mean,
             coalesce(sum(${of.count}), 0)::int as count, coalesce(${sum}, 0) as sum
      from ${table}
      where ${of.count} is not null and (${of.count} = 0 or gmsi.summable(sentiment_sum) is not null)
        and ${within(of.subject, sql`published_at`, { subject, from, to })}
      group by 1, 2, 3, 4, ${begins}
      order by 1, 2, 3, 4, ${begins}
      limit 50000`,
  );
}

export const newsKinds = ['event', 'headline', 'event headline', 'macro headline'] as const;
export type NewsKind = (typeof newsKinds)[number];

export const newsAsked = z.object({
  subject,
  ...period,
  kind: z.enum(newsKinds).optional().describe('Only these; by default all kinds of an asset.'),
  limit: limit(200),
});

/** An event of an asset, a headline about it, a headline about one of its events, or a headline about a country. */
export const newsRow = z.object({
  kind: z.enum(newsKinds),
  at: timeText,
  text,
  source: text,
  url: text,
  topic: text,
  impact: text.describe('Type, direction and impact of an event, as sent.'),
  score: score.describe('null for an event.'),
});

/** True for rows of a subject in a period that are not retracted. */
function within(
  of: RawBuilder<unknown>,
  time: RawBuilder<unknown>,
  { subject, from, to }: Pick<Asked<typeof indexAsked>, 'subject' | 'from' | 'to'>,
) {
  return sql`${of} = ${subject} and retracted_at is null
        and ${time} >= ${from}::date::timestamp at time zone 'UTC'
        and ${time} < (${to}::date + 1)::timestamp at time zone 'UTC'`;
}

/** Returns events and headlines of an asset, or macro headlines of a country, the latest first. */
export function feedNews({ kind: only, limit, ...asked }: Asked<typeof newsAsked>) {
  const news = Object.values(newsFeeds)
    .filter(([, , , kind]) => (only ? kind === only : kind !== 'macro headline'))
    .map(([table, of, time, kind]) => {
      const { topic, ...others } = shownOf[kind];
      const { texts, impact, score } = { ...ofHeadlines, ...others };
      // Distinct, because several groups of countries may have the same macro headline.
      return sql`
        select ${kind === 'macro headline' ? sql`distinct` : sql``} ${sql.lit(kind)} as kind, ${time} as at, ${texts},
               ${topic} as topic, ${impact} as impact, ${score} as score
        from ${table} where ${within(of, time, asked)}`;
    });
  return question(
    newsRow,
    `Events and headlines of ${asked.subject}`,
    sql`
      select kind, ${exactTime('at')} as at, text, source, url, topic, impact, score
      from (${sql.join(news, sql` union all `)}) as news
      order by news.at desc, kind, text
      limit ${limit}::int`,
  );
}

const ofHeadlines = {
  texts: sql`headline as text, source, url`,
  impact: sql`null`,
  score: sql`sentiment_score`,
};

/** What is shown of each kind of news, where it differs from headlines. */
const shownOf = {
  event: {
    texts: sql`concat_ws(': ', event_name, summary) as text, null as source, null as url`,
    topic: sql`topic`,
    impact: sql`concat_ws(', ', event_type, direction, 'impact ' || impact)`,
    score: sql`null::float8`,
  },
  headline: { topic: sql`topic` },
  'event headline': { topic: sql`coalesce(event_name, topic)` },
  'macro headline': { topic: sql`concat_ws(', ', topic, model)` },
} as const;
