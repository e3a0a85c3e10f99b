import { eventMetricsQuery, tickerEventMetrics } from './event-metrics.ts';
import { gmsiHeadlines } from './gmsi-headlines.ts';
import { gmsiIndex } from './gmsi-index.ts';
import { macroHeadlines } from './macro-headlines.ts';
import { globalIndex, regionalIndex } from './macro-indices.ts';
import { tickerEventHeadlines } from './ticker-event-headlines.ts';
import { tickerEvents } from './ticker-events.ts';
import { tickerHeadlines } from './ticker-headlines.ts';
import { tickerIndex } from './ticker-index.ts';

export const FEEDS = [
  ...gmsiHeadlines,
  ...gmsiIndex,
  ...regionalIndex,
  ...globalIndex,
  macroHeadlines,
  ...tickerHeadlines,
  ...tickerIndex,
  tickerEvents,
  tickerEventHeadlines,
  tickerEventMetrics,
  eventMetricsQuery,
];

/** The sandbox's names of the feeds. */
export type FeedName = (typeof FEEDS)[number]['name'];
