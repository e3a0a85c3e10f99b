import type { Day } from './days.ts';
import { FEEDS } from './feeds/catalog.ts';
import type { FeedItem } from './feeds/feed.ts';
import { findPair, headlinesServed, MATCH_TYPES, type MatchType } from './feeds/gmsi-headlines.ts';
import { pairOf } from './generate/headlines-of-day.ts';
import type { Probabilities } from './generate/scores.ts';
import type { SandboxSettings } from './options.ts';
import { liveItems } from './paging/live-feed.ts';
import { readChoice, readDay } from './paging/parameters.ts';
import { Refusal } from './refusal.ts';
import type { Query } from './service.ts';
import { viewOf } from './view.ts';
import { toWireRecord, type WireRecord } from './wire-record.ts';
import { byDayOf } from './zone.ts';

export interface TruthQuestion {
  readonly country: string;
  readonly topic: string;
  /** Default: COMBINED. */
  readonly matchType?: string;
  /** First and last day in `timeZone`, `YYYY-MM-DD`, inclusive; as many days as you like. */
  readonly from: string;
  readonly to: string;
}

/** A headline as it is served now, in a form that does not depend on the wire format. Missing fields are `null`. */
export interface TruthRecord {
  readonly id: string | null;
  /** ISO 8601 in UTC, `2026-05-21T13:00:00.000Z`. */
  readonly publishedAt: string;
  /** The same before it was rounded down, which records do not have. */
  readonly happenedAt: string;
  readonly matchType: MatchType;
  /** The id of the headline that this one reprints, or its own: the same for all headlines of a story, under every pair. */
  readonly story: string;
  readonly headline: string | null;
  readonly language: string | null;
  readonly source: string | null;
  readonly url: string | null;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  readonly semantic: { readonly [name in keyof Probabilities]: number | null };
  /** The record as sent. */
  readonly wire: WireRecord;
}

const NO_SCORES = { positive: null, neutral: null, negative: null };

/** Returns what the service serves now for a range of days, oldest first. @throws Refusal for anything unknown */
export function truthOf(settings: SandboxSettings, question: TruthQuestion): TruthRecord[] {
  const { country, topic } = findPair(question.country, question.topic);
  const matchType = readChoice({ match_type: question.matchType ?? 'COMBINED' }, 'match_type', MATCH_TYPES);
  const pair = pairOf(settings, country, topic);
  const { ids, texts } = settings.records;
  const view = viewOf(settings, settings.historicalDelayMinutes);
  const ofDay = byDayOf(view.zone, (day) => headlinesServed(view, pair, matchType, day));
  return daysBetween(question.from, question.to)
    .flatMap(ofDay)
    .map((headline) => ({
      id: ids ? headline.id : null,
      publishedAt: new Date(headline.publishedAt).toISOString(),
      happenedAt: new Date(headline.happenedAt).toISOString(),
      matchType: headline.domestic ? 'DOMESTIC' : 'INTERNATIONAL',
      story: headline.story,
      headline: texts ? headline.text : null,
      language: texts ? headline.language : null,
      source: texts ? headline.source : null,
      url: texts ? headline.url : null,
      topicProbability: headline.topicProbability,
      directional: headline.directional,
      semantic: headline.semantic ?? NO_SCORES,
      wire: toWireRecord(headline, pair, view),
    }));
}

/** @throws Refusal if either is not a day */
function daysBetween(from: string, to: string): Day[] {
  const first = readDay('from', { from })!;
  const last = readDay('to', { to })!;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}

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
