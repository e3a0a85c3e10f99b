import { defineFeed } from './define-feed.ts';
import { eventTimes, headlineColumns, likely } from './likely-columns.ts';

/** Headlines about the events of an asset (docs/service.md, "Asset feeds"). Their fields are unknown. */
export const tickerEventHeadlines = defineFeed({
  name: 'ticker-event-headlines',
  dimensions: ['ticker'],
  path: ({ ticker }) => `/event_headlines/feed/historical/ticker/${encodeURIComponent(ticker)}`,
  columns: {
    ...headlineColumns,
    event_id: ['text', 'event_id', 'event.id'],
    event_name: likely.event_name,
    event_at: ['timestamptz', ...eventTimes],
    event_type: [...likely.event_type, 'event.type'],
    topic: likely.topic,
    sentiment_score: likely.sentiment_score,
  },
  identity: {
    id: 'headline_id',
    time: 'published_at',
    text: 'headline',
    qualifiers: ['source', 'language'],
    // One headline can be about several events.
    apart: ['event_id', 'event_name'],
  },
  required: [{ anyOf: ['published_at'], reason: 'no readable publication time' }],
  table: {
    name: 'ticker_event_headlines',
    series: { ticker: 'ticker', variant: 'variant' },
    isPartitioned: true,
  },
});
