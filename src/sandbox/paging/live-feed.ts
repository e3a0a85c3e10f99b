import type { FastifyInstance } from 'fastify';
import type { FeedItem, LiveFeed } from '../feeds/feed.ts';
import type { SandboxSettings } from '../options.ts';
import { type Query, queryOf, type Service } from '../service.ts';
import { viewOf } from '../view.ts';
import { pageSize, readLimit } from './parameters.ts';
import { itemsBetween, sendRecords } from './plain-feed.ts';

const HOUR = 3_600_000;

type Params = Readonly<Record<string, string>>;

/** Answers a feed's route with its newest records, up to the limit. */
export function serveLiveFeed(app: FastifyInstance, service: Service, feed: LiveFeed): void {
  const { settings } = service;
  app.get(feed.route, { config: { feed: 'plain' } }, (request, reply) => {
    const query = queryOf(request);
    const items = liveItems(settings, feed, request.params as Params, query);
    const limit = readLimit(query, settings, feed.defaultLimit);
    sendRecords(service, reply, items.slice(0, pageSize(limit, settings)), (records) =>
      settings.live.envelope ? { data: records, limit, has_more: false, next_token: null } : records,
    );
    return reply;
  });
}

/** Returns everything in a live feed's window, newest first. @throws Refusal if the service would refuse */
export function liveItems(
  settings: SandboxSettings,
  feed: LiveFeed,
  params: Params,
  query: Query,
): FeedItem[] {
  const now = settings.clock().getTime();
  const series = feed.series(params, query, viewOf(settings, 'live'));
  return itemsBetween(series, now - feed.hours(settings) * HOUR, now);
}
