import type { FastifyInstance, FastifyReply } from 'fastify';
import { sendBody } from '../answer.ts';
import { dayOf } from '../days.ts';
import { spoilRecords } from '../faults/apply-page-fault.ts';
import { stringifyDrifted } from '../faults/drift.ts';
import type { FeedItem, LiveFeed, Series } from '../feeds/feed.ts';
import type { SandboxSettings } from '../options.ts';
import { type Query, queryOf, type Service } from '../service.ts';
import { viewOf } from '../view.ts';
import { readLimit } from './parameters.ts';

const HOUR = 3_600_000;

type Params = Readonly<Record<string, string>>;

/** Answers a feed's route with its newest records, up to the limit. */
export function serveLiveFeed(app: FastifyInstance, service: Service, feed: LiveFeed): void {
  const { settings } = service;
  app.get(feed.route, { config: { feed: 'plain' } }, (request, reply) => {
    const query = queryOf(request);
    const items = liveItems(settings, feed, request.params as Params, query);
    const limit = readLimit(query, feed.defaultLimit);
    sendRecords(service, reply, items.slice(0, limit), (records) =>
      settings.liveEnvelope ? { data: records, limit, has_more: false, next_token: null } : records,
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
  const series = feed.series(params, query, viewOf(settings));
  return itemsBetween(series, now - feed.hours * HOUR, now);
}

/** Sends records of a feed without a cursor, with the request's fault, and counts them. */
function sendRecords(
  { counts }: Service,
  reply: FastifyReply,
  items: readonly FeedItem[],
  bodyOf: (records: readonly unknown[]) => unknown,
): void {
  const { fault } = reply.request;
  const records = items.map((item) => item.toWire());
  const sent = fault === null ? records : spoilRecords(fault, records);
  if (fault !== null && sent !== records) counts.faultServed(fault.kind);
  if (sendBody(reply, Buffer.from(stringifyDrifted(bodyOf(sent))), fault))
    counts.pageServed(null, sent.length);
}

/** Returns the items of a series between two moments, inclusive, newest first. */
function itemsBetween({ itemsOfDay }: Series, from: number, to: number): FeedItem[] {
  const items: FeedItem[] = [];
  for (let day = dayOf(to); day >= dayOf(from); day--) {
    for (const item of itemsOfDay(day).toReversed()) {
      if (item.publishedAt >= from && item.publishedAt <= to) items.push(item);
    }
  }
  return items;
}
