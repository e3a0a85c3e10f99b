import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

/** Hourly headline sentiment of an asset by topic (docs/service.md, "Asset feeds"). */
export const tickerIndex = defineFeed({
  name: 'ticker-index',
  dimensions: ['ticker'],
  path: '/headlines/index/ticker/historical/{ticker}',
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  liveHours: 2,
  // The vendor's best practice: without it, an answer may exceed the largest response size.
  liveQuery: { sparse: 'true' },
  ...hourlyIndex('topic', { record_match_type: ['text', 'index_type'] }),
});
