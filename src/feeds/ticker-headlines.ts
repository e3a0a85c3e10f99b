import type { Feed, FieldAliases, Series } from './feed.ts';
import { likelyNames, windowParameters } from './likely-names.ts';
import { createRecordReader, type RecordShape } from './reading/read-record.ts';

const columns = {
  headline_id: 'uuid',
  published_at: 'timestamptz',
  ticker_name: 'text',
  headline: 'text',
  language: 'text',
  source: 'text',
  url: 'text',
  topic: 'text',
  topic_probability: 'double precision',
  record_match_type: 'text',
  sentiment_score: 'double precision',
  bearish_probability: 'double precision',
  neutral_probability: 'double precision',
  bullish_probability: 'double precision',
  extra: 'jsonb',
} as const;

const fields: FieldAliases = {
  headline_id: likelyNames.id,
  published_at: likelyNames.publicationTime,
  ticker_name: ['ticker_name'],
  headline: likelyNames.headline,
  language: likelyNames.language,
  source: likelyNames.source,
  url: likelyNames.url,
  topic: likelyNames.topic,
  topic_probability: likelyNames.topicProbability,
  record_match_type: ['match_type'],
  sentiment_score: ['sentiment_score', 'score'],
  bearish_probability: ['bearish_probability'],
  neutral_probability: ['neutral_probability'],
  bullish_probability: ['bullish_probability'],
};

const shape: RecordShape = {
  columns,
  fields,
  identity: { id: 'headline_id', time: 'published_at', text: 'headline', qualifiers: ['source', 'language'] },
  differences: [{ column: 'sentiment_score', of: ['bullish_probability', 'bearish_probability'] }],
  required: [
    { anyOf: ['published_at'], reason: 'no readable publication time' },
    {
      anyOf: ['sentiment_score', 'bearish_probability', 'neutral_probability', 'bullish_probability'],
      reason: 'no sentiment score',
    },
  ],
};

/** Headlines of an asset; parameters and fields are likely (docs/service.md, "Asset feeds"). */
export const tickerHeadlines: Feed = {
  name: 'ticker-headlines',
  dimensions: ['ticker'],
  method: 'GET',
  path: ({ ticker }: Series) => `/headlines/feed/historical/ticker/${encodeURIComponent(ticker)}`,
  parameters: { ...windowParameters, matchType: 'match_type' },
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  variants: {},
  live: {
    path: ({ ticker }: Series) => `/headlines/feed/live/ticker/${encodeURIComponent(ticker)}`,
    limit: 1000,
    hours: 2,
  },
  table: {
    name: 'ticker_headlines',
    columns,
    key: ['published_at', 'headline_id'],
    series: { ticker: 'ticker', match_type: 'match_type', variant: 'variant' },
    partitionedBy: 'published_at',
  },
  fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};
