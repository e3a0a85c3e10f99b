/**
 * Wire names that feeds share. Those of a ticker's headlines and of both indices are likely (docs/service.md); the
 * rest are what such services use.
 */
export const likelyNames = {
  id: ['id', 'headline_id', 'uuid', 'guid', 'article_id'],
  publicationTime: [
    'publication_time',
    'published_at',
    'publication_timestamp',
    'publication_date',
    'published',
    'timestamp',
    'datetime',
    'date',
  ],
  headline: ['headline', 'title', 'headline_text', 'text', 'headline.text', 'headline.title'],
  language: ['language', 'lang', 'language_code', 'language.code'],
  source: ['source', 'source_name', 'publisher', 'source.name', 'publisher.name'],
  url: ['url', 'link', 'headline_url', 'article_url'],
  topic: ['topic_name', 'topic', 'topic.name'],
  topicProbability: ['topic_probability', 'topic.probability'],
  ticker: ['ticker', 'ticker_id', 'symbol'],
  eventType: ['event_type', 'type'],
  eventTime: ['event_date', 'event_time', 'event_datetime', 'event.date'],
  eventName: ['event_name', 'event.name'],
  headlineCount: ['headline_count', 'count'],
  eventCount: ['event_count', 'count'],
  sentimentSum: ['sentiment_sum'],
  sentimentAbsSum: ['sentiment_abs_sum'],
  sentimentStd: ['sentiment_std'],
} as const;

/** The dates, the page size and the cursor, as every historical feed of a ticker takes them (docs/service.md, "Asset feeds"). */
export const windowParameters = {
  startDate: 'start_date',
  endDate: 'end_date',
  limit: 'limit',
  nextToken: 'next_token',
} as const;
