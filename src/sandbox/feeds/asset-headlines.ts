import type { FastifyInstance } from 'fastify';
import { MS_PER_DAY } from '../days.ts';
import type { SandboxSettings } from '../options.ts';
import { readInteger } from '../paging/parameters.ts';
import { itemsBetween, sendRecords } from '../paging/plain-feed.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import { listOf, type Query, queryOf, type Service } from '../service.ts';
import { viewOf } from '../view.ts';
import type { FeedItem } from './feed.ts';
import { findTicker, tickerHeadlinesServed, toTickerRecord } from './ticker-headlines.ts';

/** When the feed is removed, and what replaces it (docs/service.md, "Retired feed"). */
const REMOVED_AT = Date.parse('2026-05-01T00:00:00Z');
const REPLACEMENT = 'GET /headlines/feed/live/ticker/{ticker}';

const LONGEST_LOOK_BACK = 30 * MS_PER_DAY;
const DEFAULT_LOOK_BACK = 7 * MS_PER_DAY;

/**
 * Serves the retired feed of an asset's latest headlines, paged by `page_size` and `offset`, until it is removed. Its path,
 * parameters, default times and bare arrays are made up.
 */
export function serveAssetHeadlines(app: FastifyInstance, service: Service): void {
  const route = service.settings.retiredPath.replace('{ticker}', ':ticker');
  app.get<{ Params: { ticker: string } }>(route, { config: { feed: 'plain' } }, (request, reply) => {
    const query = queryOf(request);
    const items = assetHeadlines(service.settings, request.params.ticker, query);
    const size = readInteger(query, 'page_size', 10, 1, 100);
    const offset = readInteger(query, 'offset', 0, 0, 1e9);
    sendRecords(service, reply, items.slice(offset, offset + size), (records) => records);
    return reply;
  });
}

/** Returns everything between `earliest` and `latest`, newest first. @throws Refusal if the service would refuse */
export function assetHeadlines(settings: SandboxSettings, code: string, query: Query): FeedItem[] {
  const view = viewOf(settings, 'live');
  const now = settings.clock().getTime();
  if (now >= REMOVED_AT)
    throw new Refusal(410, `This endpoint was removed on 2026-05-01; use ${REPLACEMENT}`);
  const ticker = findTicker(code);
  const earliest = readInstant('earliest', query) ?? now - DEFAULT_LOOK_BACK;
  const latest = readInstant('latest', query) ?? now;
  if (earliest < now - LONGEST_LOOK_BACK) {
    throw invalidParameter('earliest', 'Input should be at most 30 days before now', query.earliest);
  }
  const sources = listOf(query.sources);
  const languages = listOf(query.languages);
  const itemsOfDay = (day: number) =>
    tickerHeadlinesServed(view, ticker, 'COMBINED', day)
      .filter(({ source }) => sources.length === 0 || sources.includes(source))
      .filter(({ language }) => languages.length === 0 || languages.includes(language))
      .map((headline) => ({
        publishedAt: headline.publishedAt,
        id: headline.id,
        toWire: () => toTickerRecord(headline, ticker, view),
      }));
  return itemsBetween({ asked: [], itemsOfDay }, earliest, latest);
}

/** Reads a date-time, which is in UTC if it has no zone. */
function readInstant(name: string, query: Query): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(text);
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(hasZone ? text : `${text}Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw invalidParameter(name, 'Input should be a valid date-time', text);
  return ms;
}
