import type { Day } from '../days.ts';
import type { Headline } from '../generate/headline.ts';
import { pairOf } from '../generate/headlines-of-day.ts';
import { round4 } from '../generate/scores.ts';
import { readChoice, readPreset } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { invalidParameter, Refusal } from '../refusal.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { COUNTRIES, type Country } from '../world/countries.ts';
import { CATEGORIES, type Category, TOPICS, type Topic } from '../world/topics.ts';
import { type Feed, type FeedItem, type PagedFeed, withLive } from './feed.ts';
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

/**
 * Returns a record for each hour and topic: of each country of the preset, or of the G7 together, because all countries would be
 * slow.
 */
const seriesOf =
  (isGlobal: boolean): Series =>
  (parameters, query, view) => {
    const model = findModel(parameters);
    const countries = countriesOf(isGlobal ? 'G7' : (query.country_preset ?? 'G20'));
    const topics = readPreset(query, 'topic_preset', TOPIC_PRESETS);
    const languages = readPreset(query, 'language_preset', LANGUAGE_PRESETS);
    const sources = readPreset(query, 'source_preset', SOURCE_PRESETS);
    // Made up: domestic news comes from the country itself, all other news from elsewhere.
    const sourceCountries = readPreset(query, 'source_country_preset', COUNTRY_PRESETS);
    const indexTypes = Object.keys(INDEX_TYPES) as (keyof typeof INDEX_TYPES)[];
    const matchType = INDEX_TYPES[readChoice(query, 'index_type', indexTypes)];
    const hours = readHours(query, view.now);
    const look = view.settings.records;
    const codes = countries.map(({ code }) => code);
    const groups = isGlobal ? [countries] : countries.map((country) => [country]);
    const scoredIn = (country: Country, topic: Topic, day: Day): Scored[] =>
      headlinesServed(view, pairOf(view.settings, country, topic), matchType, day)
        .filter(({ language }) => languages?.includes(language) ?? true)
        .filter(({ source }) => sources?.includes(source) ?? true)
        .filter(({ domestic }) => !sourceCountries || (domestic && sourceCountries.includes(country.name)))
        .flatMap((headline) => scoreBy(model, headline));
    const itemsOf = (group: readonly Country[], topic: Topic, day: Day): FeedItem[] => {
      const scored = group.flatMap((country) => scoredIn(country, topic, day));
      const [country] = group;
      return hours.ofDay(scored, day).map((components) => ({
        publishedAt: components.hour,
        id: `${isGlobal ? '' : `${country!.code}-`}${REGIONAL_TOPICS.indexOf(topic)}`,
        toWire: () => ({
          publication_time: writeTime(hours.stampOf(components), 'utc', view.zone),
          topic_name: topic.name,
          ...(isGlobal ? {} : { country: country!.name }),
          headline_count: components.count,
          sentiment_avg: writeNumber(meanOf(components), look),
          sentiment_sum: writeNumber(components.sum, look),
          sentiment_std: writeNumber(components.std, look),
        }),
      }));
    };
    return {
      asked: [model, codes, matchType, topics, languages, sources, sourceCountries, ...hours.asked],
      itemsOfDay: (day) =>
        REGIONAL_TOPICS.filter(({ name }) => topics?.includes(name) ?? true)
          .flatMap((topic) => groups.flatMap((group) => itemsOf(group, topic, day)))
          .sort(comparePositions),
    };
  };

function meanOf({ count, sum }: HourlyComponents): number {
  return count === 0 ? 0 : Number((sum / count).toFixed(8));
}

/** Returns an hourly index (docs/service.md, "Macro feeds": all likely), its live feed, and its custom query. */
function indexOf<Name extends string>(name: Name, isGlobal: boolean) {
  const series = seriesOf(isGlobal);
  const of = isGlobal ? 'global' : 'regional';
  // Its body is made up: the parameters of the index, and its `model`.
  const custom: PagedFeed<`${Name}-query`> = {
    kind: 'paged',
    name: `${name}-query`,
    method: 'POST',
    route: `/v1/headlines/index/macro/query/${of}`,
    series: (_, query, view) => series(query.model === undefined ? {} : { model: query.model }, query, view),
  };
  const feeds = withLive({
    name,
    route: `/v1/headlines/index/macro/historical/${of}/:model`,
    historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
    series,
    hours: 2,
    // The vendor's client requests all countries at once, without a limit.
    defaultLimit: 1000,
  });
  return [...feeds, custom] as const;
}

export const regionalIndex = indexOf('regional-index', false);
export const globalIndex = indexOf('global-index', true);

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
