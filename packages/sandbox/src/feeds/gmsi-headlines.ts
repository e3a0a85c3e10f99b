import type { Day } from '../days.ts';
import { served } from '../generate/as-served.ts';
import type { Headline, Pair } from '../generate/headline.ts';
import { headlinesOfDay, pairOf, reviseHeadline } from '../generate/headlines-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import type { View } from '../view.ts';
import { toWireRecord } from '../wire-record.ts';
import { COUNTRY_BY_CODE } from '../world/countries.ts';
import { TOPIC_BY_NAME } from '../world/topics.ts';
import { type Feed, withLive } from './feed.ts';

/** COMBINED is documented, the others are likely (docs/service.md, "Historical headlines"). */
export const MATCH_TYPES = ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'] as const;

export type MatchType = (typeof MATCH_TYPES)[number];

const series: Feed['series'] = ({ country: code = '' }, query, view) => {
  const { country, topic } = findPair(code, query.topic);
  const matchType = readChoice(query, 'match_type', MATCH_TYPES);
  const pair = pairOf(view.settings, country, topic);
  return {
    asked: [code, topic.name, matchType],
    itemsOfDay: (day) =>
      headlinesServed(view, pair, matchType, day).map((headline) => ({
        publishedAt: headline.publishedAt,
        id: headline.id,
        toWire: () => toWireRecord(headline, pair, view),
      })),
  };
};

/** Historical GMSI headlines of one country and topic (docs/service.md, "Historical headlines"). */
export const gmsiHeadlines = withLive({
  name: 'gmsi-headlines',
  route: '/v1/headlines/feed/historical/gmsi/:country',
  series,
  hours: 24,
});

/** Returns the headlines of a UTC day as they are served, oldest first. */
export function headlinesServed(view: View, pair: Pair, matchType: MatchType, day: Day): Headline[] {
  const asked = headlinesOfDay(view.settings, pair, day).filter(
    ({ domestic }) => matchType === 'COMBINED' || domestic === (matchType === 'DOMESTIC'),
  );
  return served(asked, view, reviseHeadline);
}

/** @throws Refusal for a country or topic that the service does not list, or a missing topic */
export function findPair(code: string, topicName: string | undefined): Pick<Pair, 'country' | 'topic'> {
  const country = COUNTRY_BY_CODE.get(code);
  if (country === undefined) throw new Refusal(404, `Country '${code}' not found`);
  if (topicName === undefined) throw invalidParameter('topic', 'Field required', undefined);
  const topic = TOPIC_BY_NAME.get(topicName);
  if (topic === undefined) throw invalidParameter('topic', `Unknown topic '${topicName}'`, topicName);
  return { country, topic };
}
