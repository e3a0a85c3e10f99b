import type { Feed, Series } from './feed.ts';
import { hourlyIndexShape } from './hourly-index.ts';
import { windowParameters } from './likely-names.ts';
import { createRecordReader } from './reading/read-record.ts';

const shape = hourlyIndexShape('topic');

/** Hourly headline sentiment of an asset by topic (docs/service.md, "Asset feeds"). */
export const tickerIndex: Feed = {
  name: 'ticker-index',
  dimensions: ['ticker'],
  method: 'GET',
  path: ({ ticker }: Series) => `/headlines/index/ticker/historical/${encodeURIComponent(ticker)}`,
  parameters: { ...windowParameters, matchType: 'index_type' },
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  variants: {},
  live: {
    path: ({ ticker }: Series) => `/headlines/index/ticker/live/${encodeURIComponent(ticker)}`,
    limit: 1000,
    hours: 2,
  },
  table: {
    name: 'ticker_index',
    columns: shape.columns,
    key: ['published_at', 'entry_id'],
    series: { ticker: 'ticker', index_type: 'match_type', variant: 'variant' },
    partitionedBy: 'published_at',
  },
  fields: shape.fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};
