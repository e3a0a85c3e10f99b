import { defineFeed } from './define-feed.ts';
import { componentColumns, eventTimes, likely } from './likely-columns.ts';

/** The fields of both feeds are not documented. These names come from the other indices; other fields go to `extra`. */
const metrics = {
  columns: {
    published_at: [...likely.published_at, ...eventTimes],
    event_type: likely.event_type,
    topic: likely.topic,
    event_count: ['bigint', 'event_count', 'count'],
    ...componentColumns,
  },
  required: [{ anyOf: ['published_at'], reason: 'no readable time' }],
  isPartitioned: false,
} as const;

/** Event sentiment metrics of an asset (docs/service.md, "Asset feeds"). */
export const tickerEventMetrics = defineFeed({
  name: 'ticker-event-metrics',
  dimensions: ['ticker'],
  path: '/events/index/historical/ticker/{ticker}',
  ...metrics,
  identity: { of: ['published_at', 'event_type', 'topic'] },
});

/** The custom query for event sentiment metrics; the job file has its body (docs/service.md, "Asset feeds"). */
export const eventMetricsQuery = defineFeed({
  name: 'event-metrics-query',
  dimensions: [],
  method: 'POST',
  path: '/events/index/query',
  ...metrics,
  columns: { ...metrics.columns, ticker: ['text', 'ticker', 'ticker_id', 'symbol'] },
  identity: { of: ['published_at', 'ticker', 'event_type', 'topic'] },
  table: 'event_query_metrics',
});
