import type { Feed, FieldAliases, Series } from './feed.ts';
import { likelyNames, windowParameters } from './likely-names.ts';
import { createRecordReader, type RecordShape } from './reading/read-record.ts';

const columns = {
  event_id: 'uuid',
  event_at: 'timestamptz',
  event_name: 'text',
  summary: 'text',
  event_type: 'text',
  direction: 'text',
  // A number sent as a string, or a word such as High: kept as sent; the table adds it as a number.
  impact: 'text',
  topic: 'text',
  extra: 'jsonb',
} as const;

const fields: FieldAliases = {
  event_id: ['id', 'event_id', 'uuid'],
  event_at: [...likelyNames.eventTime, 'date'],
  event_name: [...likelyNames.eventName, 'name'],
  summary: ['summary', 'description'],
  event_type: likelyNames.eventType,
  direction: ['direction'],
  impact: ['impact'],
  topic: likelyNames.topic,
};

const shape: RecordShape = {
  columns,
  fields,
  identity: { id: 'event_id', time: 'event_at', text: 'event_name', qualifiers: ['event_type', 'topic'] },
  differences: [],
  required: [{ anyOf: ['event_at'], reason: 'no readable event date' }],
};

/** Events of an asset (docs/service.md, "Asset feeds"). */
export const tickerEvents: Feed = {
  name: 'ticker-events',
  dimensions: ['ticker'],
  method: 'GET',
  path: ({ ticker }: Series) => `/events/feed/historical/ticker/${encodeURIComponent(ticker)}`,
  parameters: windowParameters,
  matchTypes: [],
  variants: {},
  table: {
    name: 'ticker_events',
    columns,
    key: ['event_at', 'event_id'],
    series: { ticker: 'ticker', variant: 'variant' },
    partitionedBy: null,
  },
  fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};
