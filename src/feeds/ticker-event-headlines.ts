import { defineFeed } from './define-feed.ts';
import { eventTimes, headlines, likely, published } from './likely-columns.ts';

/** Headlines about the events of an asset (docs/service.md, "Asset feeds"). Their fields are unknown. */
export const tickerEventHeadlines = defineFeed({
  name: 'ticker-event-headlines',
  dimensions: ['ticker'],
  path: '/event_headlines/feed/historical/ticker/{ticker}',
  ...headlines,
  columns: {
    ...headlines.columns,
    event_id: ['text', 'event_id', 'event.id'],
    event_name: likely.event_name,
    event_at: ['timestamptz', ...eventTimes],
    event_type: [...likely.event_type, 'event.type'],
    topic: likely.topic,
    sentiment_score: likely.sentiment_score,
  },
  // One headline can be about several events.
  identity: { ...headlines.identity, apart: ['event_id', 'event_name'] },
  required: [published],
});
