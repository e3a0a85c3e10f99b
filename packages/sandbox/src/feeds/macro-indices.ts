import type { Day } from '../days.ts';
import type { Headline } from '../generate/headline.ts';
import { pairOf } from '../generate/headlines-of-day.ts';
import { round4 } from '../generate/scores.ts';
import { readChoice, readPreset } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { COUNTRIES, type Country } from '../world/countries.ts';
import { CATEGORIES, type Category, TOPICS } from '../world/topics.ts';
import { type Feed, type PagedFeed, withLive } from './feed.ts';
import { headlinesServed } from './gmsi-headlines.ts';
import { type HourlyComponents, readHours, type Scored } from './hourly-components.ts';
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
export const INDEX_TYPES = {
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

type Series = Feed['series'];

/** What both macro indices read of a request, and the scores of a day's headlines. */
function readMacro(
  parameters: Parameters<Series>[0],
  query: Parameters<Series>[1],
  view: Parameters<Series>[2],
  preset: string,
) {
  const model = findModel(parameters);
  const countries = countriesOf(preset);
  const topics = readPreset(query, 'topic_preset', TOPIC_PRESETS);
  const languages = readPreset(query, 'language_preset', LANGUAGE_PRESETS);
  const sources = readPreset(query, 'source_preset', SOURCE_PRESETS);
  // Made up: domestic news comes from the country itself, all other news from elsewhere.
  const sourceCountries = readPreset(query, 'source_country_preset', COUNTRY_PRESETS);
  const indexTypes = Object.keys(INDEX_TYPES) as (keyof typeof INDEX_TYPES)[];
  const matchType = INDEX_TYPES[readChoice(query, 'index_type', indexTypes)];
  const hours = readHours(query, view.now);
  const look = view.settings.records;
  return {
    hours,
    countries,
    topics: REGIONAL_TOPICS.filter(({ name }) => topics?.includes(name) ?? true),
    asked: [
      model,
      countries.map(({ code }) => code),
      matchType,
      topics,
      languages,
      sources,
      sourceCountries,
      ...hours.asked,
    ],
    scored(country: Country, topic: (typeof REGIONAL_TOPICS)[number], day: Day): Scored[] {
      return headlinesServed(view, pairOf(view.settings, country, topic), matchType, day)
        .filter(({ language }) => languages?.includes(language) ?? true)
        .filter(({ source }) => sources?.includes(source) ?? true)
        .filter(({ domestic }) => !sourceCountries || (domestic && sourceCountries.includes(country.name)))
        .flatMap((headline) => scoreBy(model, headline));
    },
    toWire(components: HourlyComponents, names: Readonly<Record<string, string>>) {
      const { count, sum, std } = components;
      return {
        publication_time: writeTime(hours.stampOf(components), 'utc', view.zone),
        ...names,
        headline_count: count,
        sentiment_avg: writeNumber(count === 0 ? 0 : Number((sum / count).toFixed(8)), look),
        sentiment_sum: writeNumber(sum, look),
        sentiment_std: writeNumber(std, look),
      };
    },
  };
}

/** A record for each hour, country and topic. */
const series: Series = (parameters, query, view) => {
  const macro = readMacro(parameters, query, view, query.country_preset ?? 'G20');
  const { hours, countries, topics, asked } = macro;
  return {
    asked,
    itemsOfDay: (day) =>
      countries
        .flatMap((country) =>
          topics.flatMap((topic) =>
            hours.ofDay(macro.scored(country, topic, day), day).map((components) => ({
              publishedAt: components.hour,
              id: `${country.code}-${REGIONAL_TOPICS.indexOf(topic)}`,
              toWire: () => macro.toWire(components, { topic_name: topic.name, country: country.name }),
            })),
          ),
        )
        .sort(comparePositions),
  };
};

/** A record for each hour and topic, over the G7: all countries would be slow. */
const globalSeries: Series = (parameters, query, view) => {
  const macro = readMacro(parameters, query, view, 'G7');
  const { hours, countries, topics, asked } = macro;
  return {
    asked: ['global', ...asked],
    itemsOfDay: (day) =>
      topics
        .flatMap((topic) => {
          const scored = countries.flatMap((country) => macro.scored(country, topic, day));
          return hours.ofDay(scored, day).map((components) => ({
            publishedAt: components.hour,
            id: String(REGIONAL_TOPICS.indexOf(topic)),
            toWire: () => macro.toWire(components, { topic_name: topic.name }),
          }));
        })
        .sort(comparePositions),
  };
};

/** Hourly sentiment of a group of countries (docs/service.md, "Macro feeds": all likely). */
export const regionalIndex = withLive({
  name: 'regional-index',
  route: '/v1/headlines/index/macro/historical/regional/:model',
  historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
  series,
  hours: 2,
  // The vendor's client requests all countries at once, without a limit.
  defaultLimit: 1000,
});

/** Hourly sentiment of the world (docs/service.md, "Macro feeds": all likely). */
export const globalIndex = withLive({
  name: 'global-index',
  route: '/v1/headlines/index/macro/historical/global/:model',
  historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
  series: globalSeries,
  hours: 2,
  defaultLimit: 1000,
});

/** The custom queries. Their bodies are made up: the parameters of the index, and its `model`. */
export const regionalIndexQuery: PagedFeed<'regional-index-query'> = {
  kind: 'paged',
  name: 'regional-index-query',
  method: 'POST',
  route: '/v1/headlines/index/macro/query/regional',
  series: (_, query, view) => series(modelIn(query), query, view),
};

export const globalIndexQuery: PagedFeed<'global-index-query'> = {
  kind: 'paged',
  name: 'global-index-query',
  method: 'POST',
  route: '/v1/headlines/index/macro/query/global',
  series: (_, query, view) => globalSeries(modelIn(query), query, view),
};

function modelIn({ model }: Parameters<Series>[1]): Parameters<Series>[0] {
  return typeof model === 'string' ? { model } : {};
}

/** @throws Refusal for a model that the service does not have */
export function findModel({ model = '' }: Parameters<Series>[0]): keyof typeof MODELS {
  if (!Object.hasOwn(MODELS, model)) throw new Refusal(404, `Model '${model}' not found`);
  return model as keyof typeof MODELS;
}

/** @throws Refusal for a preset that is neither a group nor the lower-case name of a country */
export function countriesOf(preset: string): readonly Country[] {
  if (preset === 'ALL') return COUNTRIES;
  const codes = GROUPS.get(preset);
  const countries = COUNTRIES.filter(
    ({ code, name }) => codes?.includes(code) ?? name.toLowerCase() === preset,
  );
  if (countries.length > 0) return countries;
  throw invalidParameter('country_preset', 'Input should be G20, G7, ALL or the name of a country', preset);
}

/** Averages the probabilities that a model is made of; `undefined` if the headline lacks its scores. */
export function scoresBy(model: keyof typeof MODELS, headline: Headline) {
  const found = MODELS[model].flatMap((name) => headline[name] ?? []);
  if (found.length === 0) return undefined;
  const mean = (of: 'positive' | 'neutral' | 'negative') =>
    found.reduce((total, it) => total + it[of], 0) / found.length;
  const [positive, neutral, negative] = [mean('positive'), mean('neutral'), mean('negative')];
  return { positive, neutral, negative, score: round4(positive - negative) };
}

function scoreBy(model: keyof typeof MODELS, headline: Headline): Scored[] {
  const scores = scoresBy(model, headline);
  return scores ? [{ publishedAt: headline.publishedAt, score: scores.score }] : [];
}
