import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

/** Hourly headline sentiment of an asset by topic (docs/service.md, "Asset feeds"). */
export const tickerIndex = defineFeed({
  name: 'ticker-index',
  dimensions: ['ticker'],
  path: ({ ticker }) => `/headlines/index/ticker/historical/${encodeURIComponent(ticker)}`,
  parameters: { matchType: 'index_type' },
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  liveHours: 2,
  // The vendor's best practice: without it, an answer may exceed the largest response size.
  liveQuery: { sparse: 'true' },
  ...hourlyIndex('topic', { record_match_type: ['text', 'index_type'] }),
  table: {
    name: 'ticker_index',
    series: { ticker: 'ticker', match_type: 'match_type', variant: 'variant' },
    isPartitioned: true,
  },
});
