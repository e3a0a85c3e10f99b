import type { Day } from '../days.ts';
import { asServed } from '../generate/as-served.ts';
import type { Headline, Pair } from '../generate/headline.ts';
import { headlinesOfDay, pairOf } from '../generate/headlines-of-day.ts';
import type { SandboxSettings } from '../options.ts';
import type { PagedFeed } from '../paging/paged-feed.ts';
import { readLimit, readRange } from '../paging/parameters.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import type { Query } from '../service.ts';
import { toWireRecord } from '../wire-record.ts';
import { COUNTRY_BY_CODE } from '../world/countries.ts';
import { TOPIC_BY_NAME } from '../world/topics.ts';

/** COMBINED is given by service-document 4.1, the others are likely. */
export const MATCH_TYPES = ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'] as const;

export type MatchType = (typeof MATCH_TYPES)[number];

/** Historical GMSI headlines of one country and topic (service-document 4.1). */
export const historicalGmsiHeadlines: PagedFeed = {
  route: '/v1/headlines/feed/historical/gmsi/:country',
  ask({ country: code = '' }, query, { settings }) {
    const { country, topic } = findPair(code, query.topic);
    const matchType = readMatchType(query);
    const limit = readLimit(query);
    const range = readRange(query, settings);
    const pair = pairOf(settings, country, topic);
    const now = settings.clock().getTime();
    return {
      // The dates as they were sent: a default that moves on at midnight must not spoil a cursor.
      binding: JSON.stringify([
        'gmsi-headlines',
        code,
        topic.name,
        matchType,
        limit,
        query.start_date,
        query.end_date,
      ]),
      range,
      limit,
      itemsOfDay: (day) =>
        headlinesServed(settings, pair, matchType, day, now).map((headline) => ({
          publishedAt: headline.publishedAt,
          id: headline.id,
          toWire: () => toWireRecord(headline, pair, settings.records),
        })),
    };
  },
};

/** The headlines of a day as they are served at `now`, oldest first. */
export function headlinesServed(
  settings: SandboxSettings,
  pair: Pair,
  matchType: MatchType,
  day: Day,
  now: number,
): Headline[] {
  return headlinesOfDay(settings, pair, day)
    .filter(({ domestic }) => matchType === 'COMBINED' || domestic === (matchType === 'DOMESTIC'))
    .map((headline) => asServed(headline, settings.changes, now))
    .filter((headline) => headline !== null);
}

/** Throws a Refusal for a country or topic that the service does not list, or a topic that is missing. */
export function findPair(code: string, topicName: string | undefined): Pick<Pair, 'country' | 'topic'> {
  const country = COUNTRY_BY_CODE.get(code);
  if (country === undefined) throw new Refusal(404, `Country '${code}' not found`);
  if (topicName === undefined) throw invalidParameter('topic', 'Field required', undefined);
  const topic = TOPIC_BY_NAME.get(topicName);
  if (topic === undefined) throw invalidParameter('topic', `Unknown topic '${topicName}'`, topicName);
  return { country, topic };
}

export function readMatchType({ match_type: given = 'COMBINED' }: Query): MatchType {
  const matchType = MATCH_TYPES.find((it) => it === given);
  if (matchType !== undefined) return matchType;
  throw invalidParameter('match_type', `Input should be one of ${MATCH_TYPES.join(', ')}`, given);
}
