import { historicalEventHeadlines } from './event-headlines.ts';
import { eventMetricsQuery, historicalEventMetrics } from './event-metrics.ts';
import { historicalEvents } from './events.ts';
import { historicalGmsiHeadlines, liveGmsiHeadlines } from './gmsi-headlines.ts';
import { historicalGmsiIndex, liveGmsiIndex } from './gmsi-index.ts';
import {
  globalIndexQuery,
  historicalGlobalIndex,
  historicalRegionalIndex,
  liveGlobalIndex,
  liveRegionalIndex,
  regionalIndexQuery,
} from './macro-indices.ts';
import { historicalTickerHeadlines, liveTickerHeadlines } from './ticker-headlines.ts';
import { historicalTickerIndex, liveTickerIndex } from './ticker-index.ts';

export const FEEDS = [
  historicalGmsiHeadlines,
  liveGmsiHeadlines,
  historicalGmsiIndex,
  liveGmsiIndex,
  historicalRegionalIndex,
  liveRegionalIndex,
  historicalGlobalIndex,
  liveGlobalIndex,
  regionalIndexQuery,
  globalIndexQuery,
  historicalTickerHeadlines,
  liveTickerHeadlines,
  historicalTickerIndex,
  liveTickerIndex,
  historicalEvents,
  historicalEventHeadlines,
  historicalEventMetrics,
  eventMetricsQuery,
];

/** The sandbox's names of the feeds. */
export type FeedName = (typeof FEEDS)[number]['name'];
