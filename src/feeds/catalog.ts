import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { eventMetricsQuery, tickerEventMetrics } from './event-metrics.ts';
import type { Feed } from './feed.ts';
import { gmsiHeadlines } from './gmsi-headlines.ts';
import { gmsiIndex } from './gmsi-index.ts';
import { macroHeadlines } from './macro-headlines.ts';
import { globalIndex, globalIndexQuery, regionalIndex, regionalIndexQuery } from './macro-indices.ts';
import { tickerEventHeadlines } from './ticker-event-headlines.ts';
import { tickerEvents } from './ticker-events.ts';
import { tickerHeadlines } from './ticker-headlines.ts';
import { tickerIndex } from './ticker-index.ts';

const feeds = [
  gmsiHeadlines,
  gmsiIndex,
  regionalIndex,
  globalIndex,
  regionalIndexQuery,
  globalIndexQuery,
  macroHeadlines,
  tickerHeadlines,
  tickerIndex,
  tickerEvents,
  tickerEventHeadlines,
  tickerEventMetrics,
  eventMetricsQuery,
];

/** The names of the feeds, as job files use them. */
export type FeedName = (typeof feeds)[number]['name'];

/** Every feed of the service that can be loaded, by its name. */
export const catalog: ReadonlyMap<string, Feed<FeedName>> = new Map(feeds.map((feed) => [feed.name, feed]));

/** Feeds that the service has removed, with what to use instead (docs/service.md, "Retired feed"). */
export const retired: ReadonlyMap<string, string> = new Map([
  [
    'asset-headlines',
    'The service removed it on 2026-05-01. Load "feed: ticker-headlines" with the same tickers; gmsi sync reads its live feed.',
  ],
]);

/** Returns a feed by its name. @throws ConfigError that suggests the nearest name, or a replacement for a retired feed */
export function feedNamed(name: string): Feed<FeedName> {
  const instead = retired.get(name);
  if (instead !== undefined) throw new ConfigError(`the feed "${name}" is retired`, { hint: instead });
  const feed = catalog.get(name);
  if (feed !== undefined) return feed;
  throw new ConfigError(`there is no feed "${name}"`, { hint: knownNames(name, [...catalog.keys()]) });
}
