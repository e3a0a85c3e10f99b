import type { Feed, FieldAliases, Series } from './feed.ts';
import { likelyNames, windowParameters } from './likely-names.ts';
import { createRecordReader, type RecordShape } from './reading/read-record.ts';

const metricColumns = {
  entry_id: 'uuid',
  published_at: 'timestamptz',
  event_type: 'text',
  topic: 'text',
  event_count: 'double precision',
  sentiment_sum: 'double precision',
  sentiment_abs_sum: 'double precision',
  sentiment_std: 'double precision',
  extra: 'jsonb',
} as const;

/** The fields of both feeds are not documented: these names are those of the other indices, and the rest goes to `extra`. */
const metricFields: FieldAliases = {
  published_at: [...likelyNames.publicationTime, ...likelyNames.eventTime],
  event_type: likelyNames.eventType,
  topic: likelyNames.topic,
  event_count: likelyNames.eventCount,
  sentiment_sum: likelyNames.sentimentSum,
  sentiment_abs_sum: likelyNames.sentimentAbsSum,
  sentiment_std: likelyNames.sentimentStd,
};

const required = [{ anyOf: ['published_at'], reason: 'no readable time' }];

const ofTicker: RecordShape = {
  columns: metricColumns,
  fields: metricFields,
  identity: { column: 'entry_id', of: ['published_at', 'event_type', 'topic'] },
  differences: [],
  required,
};

const ofQuery: RecordShape = {
  columns: { ...metricColumns, ticker: 'text' },
  fields: { ...metricFields, ticker: likelyNames.ticker },
  identity: { column: 'entry_id', of: ['published_at', 'ticker', 'event_type', 'topic'] },
  differences: [],
  required,
};

/** Event sentiment metrics of an asset (docs/service.md, "Asset feeds"). */
export const tickerEventMetrics: Feed = {
  name: 'ticker-event-metrics',
  dimensions: ['ticker'],
  method: 'GET',
  path: ({ ticker }: Series) => `/events/index/historical/ticker/${encodeURIComponent(ticker)}`,
  parameters: windowParameters,
  matchTypes: [],
  variants: {},
  table: {
    name: 'ticker_event_metrics',
    columns: ofTicker.columns,
    key: ['published_at', 'entry_id'],
    series: { ticker: 'ticker', variant: 'variant' },
    partitionedBy: null,
  },
  fields: ofTicker.fields,
  reader: (overrides) => createRecordReader(ofTicker, overrides),
};

/** The custom query for event sentiment metrics, whose body the job file holds (docs/service.md, "Asset feeds"). */
export const eventMetricsQuery: Feed = {
  name: 'event-metrics-query',
  dimensions: [],
  method: 'POST',
  path: () => '/events/index/query',
  parameters: windowParameters,
  matchTypes: [],
  variants: {},
  table: {
    name: 'event_query_metrics',
    columns: ofQuery.columns,
    key: ['published_at', 'entry_id'],
    series: { variant: 'variant' },
    partitionedBy: null,
  },
  fields: ofQuery.fields,
  reader: (overrides) => createRecordReader(ofQuery, overrides),
};
