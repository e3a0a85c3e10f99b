import type { Feed, Series } from './feed.ts';
import { hourlyIndexShape } from './hourly-index.ts';
import { windowParameters } from './likely-names.ts';
import { createRecordReader } from './reading/read-record.ts';

const shape = hourlyIndexShape('topic_name');

/** Hourly headline sentiment of a country and topic, by model (docs/service.md, "Index feeds"). */
export const gmsiIndex: Feed = {
  name: 'gmsi-index',
  dimensions: ['country', 'topic'],
  method: 'GET',
  path: ({ country }: Series) => `/headlines/index/gmsi/historical/${encodeURIComponent(country)}`,
  parameters: { ...windowParameters, topic: 'topic', matchType: 'index_type' },
  matchTypes: ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'],
  variants: { sentiment_type: ['directional', 'semantic_sentiment'] },
  live: {
    path: ({ country }: Series) => `/headlines/index/gmsi/live/${encodeURIComponent(country)}`,
    limit: 1000,
    hours: 24,
  },
  table: {
    name: 'gmsi_index',
    columns: shape.columns,
    key: ['published_at', 'entry_id'],
    series: {
      country: 'country',
      topic: 'topic',
      index_type: 'match_type',
      sentiment_type: { parameter: 'sentiment_type' },
    },
    partitionedBy: 'published_at',
  },
  fields: shape.fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};
