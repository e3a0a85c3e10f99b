import { historicalEventHeadlines } from './event-headlines.ts';
import { eventMetricsQuery, historicalEventMetrics } from './event-metrics.ts';
import { historicalEvents } from './events.ts';
import type { LiveFeed, PagedFeed } from './feed.ts';
import { historicalGmsiHeadlines, liveGmsiHeadlines } from './gmsi-headlines.ts';
import { historicalGmsiIndex, liveGmsiIndex } from './gmsi-index.ts';
import { historicalRegionalIndex, liveRegionalIndex } from './regional-index.ts';
import { historicalTickerHeadlines, liveTickerHeadlines } from './ticker-headlines.ts';
import { historicalTickerIndex, liveTickerIndex } from './ticker-index.ts';

/** Every feed of the service that is not retired. */
export const FEEDS: readonly (PagedFeed | LiveFeed)[] = [
  historicalGmsiHeadlines,
  liveGmsiHeadlines,
  historicalGmsiIndex,
  liveGmsiIndex,
  historicalRegionalIndex,
  liveRegionalIndex,
  historicalTickerHeadlines,
  liveTickerHeadlines,
  historicalTickerIndex,
  liveTickerIndex,
  historicalEvents,
  historicalEventHeadlines,
  historicalEventMetrics,
  eventMetricsQuery,
];
