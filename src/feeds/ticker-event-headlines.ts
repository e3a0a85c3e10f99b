import type { Feed, FieldAliases, Series } from './feed.ts';
import { likelyNames, windowParameters } from './likely-names.ts';
import { createRecordReader, type RecordShape } from './reading/read-record.ts';

const columns = {
  headline_id: 'uuid',
  published_at: 'timestamptz',
  headline: 'text',
  language: 'text',
  source: 'text',
  url: 'text',
  event_id: 'text',
  event_name: 'text',
  event_at: 'timestamptz',
  event_type: 'text',
  topic: 'text',
  sentiment_score: 'double precision',
  extra: 'jsonb',
} as const;

const fields: FieldAliases = {
  headline_id: likelyNames.id,
  published_at: likelyNames.publicationTime,
  headline: likelyNames.headline,
  language: likelyNames.language,
  source: likelyNames.source,
  url: likelyNames.url,
  event_id: ['event_id', 'event.id'],
  event_name: likelyNames.eventName,
  event_at: likelyNames.eventTime,
  event_type: [...likelyNames.eventType, 'event.type'],
  topic: likelyNames.topic,
  sentiment_score: ['sentiment_score', 'score'],
};

const shape: RecordShape = {
  columns,
  fields,
  // One headline can stand behind several events.
  identity: {
    id: 'headline_id',
    time: 'published_at',
    text: 'headline',
    qualifiers: ['source', 'language', 'event_id', 'event_name'],
  },
  differences: [],
  required: [{ anyOf: ['published_at'], reason: 'no readable publication time' }],
};

/** The headlines behind the events of an asset (docs/service.md, "Asset feeds"); their fields are not known. */
export const tickerEventHeadlines: Feed = {
  name: 'ticker-event-headlines',
  dimensions: ['ticker'],
  method: 'GET',
  path: ({ ticker }: Series) => `/event_headlines/feed/historical/ticker/${encodeURIComponent(ticker)}`,
  parameters: windowParameters,
  matchTypes: [],
  variants: {},
  table: {
    name: 'ticker_event_headlines',
    columns,
    key: ['published_at', 'headline_id'],
    series: { ticker: 'ticker', variant: 'variant' },
    partitionedBy: 'published_at',
  },
  fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};
