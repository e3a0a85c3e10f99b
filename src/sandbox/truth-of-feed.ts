import { FEEDS } from './feeds/catalog.ts';
import type { FeedItem } from './feeds/feed.ts';
import type { SandboxSettings } from './options.ts';
import { liveItems } from './paging/live-feed.ts';
import { Refusal } from './refusal.ts';
import type { Query } from './service.ts';
import { daysBetween } from './truth.ts';
import { viewOf } from './view.ts';
import type { WireRecord } from './wire-record.ts';
import { byDayOf } from './zone.ts';

/** A record as it is served now. */
export interface TruthItem {
  /** The time of its place in the feed, even if the record has no such field: ISO 8601 in UTC, `2026-05-21T13:00:00.000Z`. */
  readonly publishedAt: string;
  /** The record as sent. */
  readonly wire: WireRecord;
}

/** See `Sandbox.truthOf`. @throws Refusal for anything unknown */
export function truthOfFeed(settings: SandboxSettings, name: string, query: Query): TruthItem[] {
  return itemsOf(settings, name, query).map((item) => ({
    publishedAt: new Date(item.publishedAt).toISOString(),
    wire: item.toWire(),
  }));
}

function itemsOf(settings: SandboxSettings, name: string, query: Query): FeedItem[] {
  const feed = FEEDS.find((it) => it.name === name);
  if (feed === undefined) throw new Refusal(404, `There is no feed '${name}'`);
  if (feed.kind === 'live') return liveItems(settings, feed, query, query);
  const view = viewOf(settings, settings.historicalDelayMinutes);
  const series = feed.series(query, query, view);
  return daysBetween(query.from ?? '', query.to ?? '').flatMap(byDayOf(view.zone, series.itemsOfDay));
}
