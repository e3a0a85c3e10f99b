import type { Day } from '../days.ts';
import { served } from '../generate/as-served.ts';
import { SOURCES } from '../generate/texts.ts';
import {
  reviseTickerHeadline,
  scoreOf,
  type TickerHeadline,
  tickerHeadlinesOfDay,
} from '../generate/ticker-headlines-of-day.ts';
import { readChoice, readPreset, readShare } from '../paging/parameters.ts';
import { Refusal } from '../refusal.ts';
import type { Query } from '../service.ts';
import type { View } from '../view.ts';
import type { WireRecord } from '../wire-record.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { COUNTRIES } from '../world/countries.ts';
import { LANGUAGES } from '../world/languages.ts';
import { TICKER_BY_CODE, TICKER_TOPICS, type Ticker } from '../world/tickers.ts';
import { type Feed, withLive } from './feed.ts';

/** Likely (docs/service.md, "Asset feeds"). */
export const TICKER_MATCH_TYPES = ['COMBINED', 'EXPLICIT', 'IMPLICIT'] as const;

export type TickerMatchType = (typeof TICKER_MATCH_TYPES)[number];

/** The choices of each preset, by their names in requests. */
const TOPIC_PRESETS = presetsOf(
  Object.values(TICKER_TOPICS).flatMap((topics) => topics.map(({ name }) => name)),
);
export const LANGUAGE_PRESETS = presetsOf(LANGUAGES);
export const SOURCE_PRESETS = presetsOf(SOURCES.map(({ name }) => name));
export const COUNTRY_PRESETS = new Map(
  COUNTRIES.flatMap(({ code, name }) => [code, name].map((it) => [it.toLowerCase(), name])),
);

const series: Feed['series'] = ({ ticker: code = '' }, query, view) => {
  const ticker = findTicker(code);
  const matchType = readChoice(query, 'match_type', TICKER_MATCH_TYPES);
  const topics = readTopicPreset(query);
  const languages = readPreset(query, 'language_preset', LANGUAGE_PRESETS);
  const sources = readPreset(query, 'source_preset', SOURCE_PRESETS);
  const countries = readPreset(query, 'source_country_preset', COUNTRY_PRESETS);
  const leastProbability = readShare(query, 'topic_probability_threshold');
  const leastSentiment = readShare(query, 'abs_sentiment_threshold');
  return {
    asked: [code, matchType, topics, languages, sources, countries, leastProbability, leastSentiment],
    itemsOfDay: (day) =>
      tickerHeadlinesServed(view, ticker, matchType, day)
        .filter(({ topic }) => topics?.includes(topic.name) ?? true)
        .filter(({ language }) => languages?.includes(language) ?? true)
        .filter(({ source }) => sources?.includes(source) ?? true)
        .filter((headline) => countries === null || headline.countries?.some((it) => countries.includes(it)))
        .filter(({ topicProbability }) => topicProbability >= leastProbability)
        .filter(({ scores }) => Math.abs(scoreOf(scores)) >= leastSentiment)
        .map((headline) => ({
          publishedAt: headline.publishedAt,
          id: headline.id,
          toWire: () => toTickerRecord(headline, ticker, view),
        })),
  };
};

/** Historical headlines of an asset; parameters, fields and history limit are likely (docs/service.md, "Asset feeds"). */
export const tickerHeadlines = withLive({
  name: 'ticker-headlines',
  route: '/v1/headlines/feed/historical/ticker/:ticker',
  historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
  series,
  hours: 2,
});

/** Returns the headlines of a UTC day as they are served, oldest first. */
export function tickerHeadlinesServed(
  view: View,
  ticker: Ticker,
  matchType: TickerMatchType,
  day: Day,
): TickerHeadline[] {
  const asked = tickerHeadlinesOfDay(view.settings, ticker, day).filter(
    ({ explicit }) => matchType === 'COMBINED' || explicit === (matchType === 'EXPLICIT'),
  );
  return served(asked, view, reviseTickerHeadline);
}

/** Returns the names of the requested topics; `null` for all. */
export function readTopicPreset(query: Query): string[] | null {
  return readPreset(query, 'topic_preset', TOPIC_PRESETS);
}

export function presetsOf(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name.toLowerCase(), name]));
}

/** @throws Refusal for a ticker that the service does not list */
export function findTicker(code: string): Ticker {
  const ticker = TICKER_BY_CODE.get(code);
  if (ticker === undefined) throw new Refusal(404, `Ticker '${code}' not found`);
  return ticker;
}

/** Returns a record with the likely fields (docs/service.md, "Asset feeds"), and id and text as in GMSI headlines. */
export function toTickerRecord(headline: TickerHeadline, ticker: Ticker, view: View): WireRecord {
  const look = view.settings.records;
  const { scores } = headline;
  return {
    ...(look.ids ? { id: headline.id } : {}),
    ticker: ticker.code,
    ticker_name: ticker.name,
    publication_time: writeTime(headline.publishedAt, 'utc', view.zone),
    ...(look.texts ? { headline: headline.text, source: headline.source, url: headline.url } : {}),
    language: headline.language,
    topic_name: headline.topic.name,
    ...sentimentScore(headline, view),
    bearish_probability: writeNumber(scores.negative, look),
    neutral_probability: writeNumber(scores.neutral, look),
    bullish_probability: writeNumber(scores.positive, look),
    topic_probability: writeNumber(headline.topicProbability, look),
    match_type: headline.explicit ? 'EXPLICIT' : 'IMPLICIT',
    countries: headline.countries,
  };
}

function sentimentScore({ score, scores }: TickerHeadline, view: View): WireRecord {
  if (score === 'absent') return {};
  return { sentiment_score: score === 'null' ? null : writeNumber(scoreOf(scores), view.settings.records) };
}
