import { historicalEventHeadlines } from './event-headlines.ts';
import { eventMetricsQuery, historicalEventMetrics } from './event-metrics.ts';
import { historicalEvents } from './events.ts';
import { gmsiHeadlines } from './gmsi-headlines.ts';
import { gmsiIndex } from './gmsi-index.ts';
import { historicalMacroHeadlines } from './macro-headlines.ts';
import { globalIndex, globalIndexQuery, regionalIndex, regionalIndexQuery } from './macro-indices.ts';
import { tickerHeadlines } from './ticker-headlines.ts';
import { tickerIndex } from './ticker-index.ts';

export const FEEDS = [
  ...[...gmsiHeadlines, ...gmsiIndex, ...regionalIndex, ...globalIndex],
  ...[regionalIndexQuery, globalIndexQuery, historicalMacroHeadlines, ...tickerHeadlines, ...tickerIndex],
  ...[historicalEvents, historicalEventHeadlines, historicalEventMetrics, eventMetricsQuery],
];

/** The sandbox's names of the feeds. */
export type FeedName = (typeof FEEDS)[number]['name'];
