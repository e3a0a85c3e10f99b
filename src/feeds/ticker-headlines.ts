import { defineFeed } from './define-feed.ts';
import { headlines, likely, published } from './likely-columns.ts';

const scores = {
  sentiment_score: likely.sentiment_score,
  bearish_probability: ['double precision', 'bearish_probability'],
  neutral_probability: ['double precision', 'neutral_probability'],
  bullish_probability: ['double precision', 'bullish_probability'],
} as const;

/**
 * What headlines with the scores of one model have in common. Their fields are our best guess (docs/service.md, "Asset feeds").
 */
export const modelHeadlines = {
  ...headlines,
  parameters: { matchType: 'match_type' },
  columns: {
    ...headlines.columns,
    topic: likely.topic,
    topic_probability: likely.topic_probability,
    record_match_type: ['text', 'match_type'],
    ...scores,
  },
  // One headline can be about several topics.
  identity: { ...headlines.identity, apart: ['topic'] },
  differences: [{ column: 'sentiment_score', of: ['bullish_probability', 'bearish_probability'] }],
  required: [published, { anyOf: Object.keys(scores), reason: 'no sentiment score' }],
} as const;

/** Headlines of an asset. Parameters and fields are our best guess (docs/service.md, "Asset feeds"). */
export const tickerHeadlines = defineFeed({
  name: 'ticker-headlines',
  dimensions: ['ticker'],
  path: '/headlines/feed/historical/ticker/{ticker}',
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  liveHours: 2,
  ...modelHeadlines,
  columns: { ...modelHeadlines.columns, ticker_name: ['text', 'ticker_name'] },
});
