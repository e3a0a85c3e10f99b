import { defineFeed } from './define-feed.ts';
import { componentColumns, eventTimes, likely } from './likely-columns.ts';

/** The fields of both feeds are not documented. These names come from the other indices; other fields go to `extra`. */
const columns = {
  published_at: [...likely.published_at, ...eventTimes],
  event_type: likely.event_type,
  topic: likely.topic,
  event_count: ['bigint', 'event_count', 'count'],
  ...componentColumns,
} as const;

const required = [{ anyOf: ['published_at'], reason: 'no readable time' }];

/** Event sentiment metrics of an asset (docs/service.md, "Asset feeds"). */
export const tickerEventMetrics = defineFeed({
  name: 'ticker-event-metrics',
  dimensions: ['ticker'],
  path: ({ ticker }) => `/events/index/historical/ticker/${encodeURIComponent(ticker)}`,
  columns,
  identity: { of: ['published_at', 'event_type', 'topic'] },
  required,
  table: {
    name: 'ticker_event_metrics',
    series: { ticker: 'ticker', variant: 'variant' },
    isPartitioned: false,
  },
});

/** The custom query for event sentiment metrics; the job file has its body (docs/service.md, "Asset feeds"). */
export const eventMetricsQuery = defineFeed({
  name: 'event-metrics-query',
  dimensions: [],
  method: 'POST',
  path: () => '/events/index/query',
  columns: { ...columns, ticker: ['text', 'ticker', 'ticker_id', 'symbol'] },
  identity: { of: ['published_at', 'ticker', 'event_type', 'topic'] },
  required,
  table: { name: 'event_query_metrics', series: { variant: 'variant' }, isPartitioned: false },
});
