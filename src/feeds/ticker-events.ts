import { defineFeed } from './define-feed.ts';
import { eventTimes, likely } from './likely-columns.ts';

/** Events of an asset (docs/service.md, "Asset feeds"). */
export const tickerEvents = defineFeed({
  name: 'ticker-events',
  dimensions: ['ticker'],
  path: '/events/feed/historical/ticker/{ticker}',
  columns: {
    event_id: ['uuid', 'id', 'event_id', 'uuid'],
    event_at: ['timestamptz', ...eventTimes, 'date'],
    event_name: [...likely.event_name, 'name'],
    summary: ['text', 'summary', 'description'],
    event_type: likely.event_type,
    direction: ['text', 'direction'],
    // May be a number in a string or a word such as High. Stored as sent; the table has a second column with the number.
    impact: ['text', 'impact'],
    topic: likely.topic,
  },
  identity: { id: 'event_id', time: 'event_at', text: 'event_name', qualifiers: ['event_type', 'topic'] },
  required: [{ anyOf: ['event_at'], reason: 'no readable event date' }],
  isPartitioned: false,
});
