import { defineFeed } from './define-feed.ts';
import { headlineColumns, likely } from './likely-columns.ts';

/** What headlines with the scores of one model have in common. Their fields are our best guess (docs/service.md, "Asset feeds"). */
export const modelHeadlines = {
  columns: {
    ...headlineColumns,
    topic: likely.topic,
    topic_probability: likely.topic_probability,
    record_match_type: ['text', 'match_type'],
    sentiment_score: likely.sentiment_score,
    bearish_probability: ['double precision', 'bearish_probability'],
    neutral_probability: ['double precision', 'neutral_probability'],
    bullish_probability: ['double precision', 'bullish_probability'],
  },
  identity: {
    id: 'headline_id',
    time: 'published_at',
    text: 'headline',
    qualifiers: ['source', 'language'],
    // One headline can be about several topics.
    apart: ['topic'],
  },
  differences: [{ column: 'sentiment_score', of: ['bullish_probability', 'bearish_probability'] }],
  required: [
    { anyOf: ['published_at'], reason: 'no readable publication time' },
    {
      anyOf: ['sentiment_score', 'bearish_probability', 'neutral_probability', 'bullish_probability'],
      reason: 'no sentiment score',
    },
  ],
} as const;

/** Headlines of an asset. Parameters and fields are our best guess (docs/service.md, "Asset feeds"). */
export const tickerHeadlines = defineFeed({
  name: 'ticker-headlines',
  dimensions: ['ticker'],
  path: ({ ticker }) => `/headlines/feed/historical/ticker/${encodeURIComponent(ticker)}`,
  parameters: { matchType: 'match_type' },
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  liveHours: 2,
  ...modelHeadlines,
  columns: { ...modelHeadlines.columns, ticker_name: ['text', 'ticker_name'] },
  table: {
    name: 'ticker_headlines',
    series: { ticker: 'ticker', match_type: 'match_type', variant: 'variant' },
    isPartitioned: true,
  },
});
