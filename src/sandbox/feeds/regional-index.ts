import type { Headline } from '../generate/headline.ts';
import { pairOf } from '../generate/headlines-of-day.ts';
import { round4 } from '../generate/scores.ts';
import { readChoice, readPreset } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { COUNTRIES, type Country } from '../world/countries.ts';
import { CATEGORIES, type Category, TOPICS } from '../world/topics.ts';
import type { Feed, LiveFeed, PagedFeed } from './feed.ts';
import { headlinesServed } from './gmsi-headlines.ts';
import { readHours, type Scored } from './hourly-components.ts';
import { COUNTRY_PRESETS, LANGUAGE_PRESETS, presetsOf, SOURCE_PRESETS } from './ticker-headlines.ts';

const G7 = ['CA', 'DE', 'FR', 'GB', 'IT', 'JP', 'US'];
const G20 = [...G7, 'AR', 'AU', 'BR', 'CN', 'ID', 'IN', 'KR', 'MX', 'RU', 'SA', 'TR', 'ZA'];
const GROUPS: ReadonlyMap<string, readonly string[]> = new Map([
  ['G7', G7],
  ['G20', G20],
]);

/** Which scores of a headline a model averages. Made up. */
const MODELS = {
  macro_1: ['directional'],
  macro_2: ['semantic'],
  macro_3: ['directional', 'semantic'],
} as const;

/** Which headlines count. Made up; archives have the last two index types. */
const INDEX_TYPES = {
  COMBINED: 'COMBINED',
  EXPLICIT: 'DOMESTIC',
  IMPLICIT: 'INTERNATIONAL',
  DOMESTIC: 'DOMESTIC',
  INTERNATIONAL: 'INTERNATIONAL',
} as const;

/** The first topic of each category. The topics of the index are not known, and all topics would be slow. */
export const REGIONAL_TOPICS = (Object.keys(CATEGORIES) as Category[]).map(
  (category) => TOPICS.find((topic) => topic.category === category)!,
);
const TOPIC_PRESETS = presetsOf(REGIONAL_TOPICS.map(({ name }) => name));

/** A record for each hour, country and topic. */
const series: Feed['series'] = ({ model = '' }, query, view) => {
  if (!Object.hasOwn(MODELS, model)) throw new Refusal(404, `Model '${model}' not found`);
  const countries = countriesOf(query.country_preset ?? 'G20');
  const topics = readPreset(query, 'topic_preset', TOPIC_PRESETS);
  const languages = readPreset(query, 'language_preset', LANGUAGE_PRESETS);
  const sources = readPreset(query, 'source_preset', SOURCE_PRESETS);
  // Made up: domestic news comes from the country itself, all other news from elsewhere.
  const sourceCountries = readPreset(query, 'source_country_preset', COUNTRY_PRESETS);
  const indexTypes = Object.keys(INDEX_TYPES) as (keyof typeof INDEX_TYPES)[];
  const matchType = INDEX_TYPES[readChoice(query, 'index_type', indexTypes)];
  const hours = readHours(query, view.now);
  const look = view.settings.records;
  const pairs = countries.flatMap((country) =>
    REGIONAL_TOPICS.filter(({ name }) => topics?.includes(name) ?? true).map((topic) =>
      pairOf(view.settings, country, topic),
    ),
  );
  return {
    asked: [
      ...[model, countries.map(({ code }) => code), matchType],
      ...[topics, languages, sources, sourceCountries, ...hours.asked],
    ],
    itemsOfDay: (day) =>
      pairs
        .flatMap((pair) => {
          const headlines = headlinesServed(view, pair, matchType, day)
            .filter(({ language }) => languages?.includes(language) ?? true)
            .filter(({ source }) => sources?.includes(source) ?? true)
            .filter(
              ({ domestic }) => !sourceCountries || (domestic && sourceCountries.includes(pair.country.name)),
            );
          const scored = headlines.flatMap((headline) => scoreBy(model as keyof typeof MODELS, headline));
          return hours.ofDay(scored, day).map((components) => ({
            publishedAt: components.hour,
            id: `${pair.country.code}-${REGIONAL_TOPICS.indexOf(pair.topic)}`,
            toWire: () => {
              const { count, sum, std } = components;
              return {
                publication_time: writeTime(hours.stampOf(components), look.tickerTimes, view.zone),
                topic_name: pair.topic.name,
                country: pair.country.name,
                headline_count: count,
                sentiment_avg: writeNumber(count === 0 ? 0 : Number((sum / count).toFixed(8)), look),
                sentiment_sum: writeNumber(sum, look),
                sentiment_std: writeNumber(std, look),
              };
            },
          }));
        })
        .sort(comparePositions),
  };
};

/** Hourly sentiment of a group of countries (docs/service.md, "Regional macro index": all likely). */
export const historicalRegionalIndex: PagedFeed<'regional-index'> = {
  kind: 'paged',
  name: 'regional-index',
  method: 'GET',
  route: '/v1/headlines/index/macro/historical/regional/:model',
  historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
  series,
};

/** The same records of the last 2 hours. The vendor's client requests all countries at once, without a limit. */
export const liveRegionalIndex: LiveFeed<'regional-index-live'> = {
  kind: 'live',
  name: 'regional-index-live',
  route: '/v1/headlines/index/macro/live/regional/:model',
  hours: ({ live }) => live.tickerHours,
  defaultLimit: 1000,
  series,
};

/** @throws Refusal for a preset that is neither a group nor the lower-case name of a country */
function countriesOf(preset: string): readonly Country[] {
  if (preset === 'ALL') return COUNTRIES;
  const codes = GROUPS.get(preset);
  const countries = COUNTRIES.filter(
    ({ code, name }) => codes?.includes(code) ?? name.toLowerCase() === preset,
  );
  if (countries.length > 0) return countries;
  throw invalidParameter('country_preset', 'Input should be G20, G7, ALL or the name of a country', preset);
}

/** Returns nothing if the headline lacks the model's scores. */
function scoreBy(model: keyof typeof MODELS, headline: Headline): Scored[] {
  const scores = MODELS[model].flatMap((name) => {
    const of = headline[name];
    return of ? [of.positive - of.negative] : [];
  });
  if (scores.length === 0) return [];
  const score = round4(scores.reduce((total, it) => total + it, 0) / scores.length);
  return [{ publishedAt: headline.publishedAt, score }];
}
