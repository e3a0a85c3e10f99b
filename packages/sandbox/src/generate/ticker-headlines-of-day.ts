import { type Day, formatDay, MS_PER_DAY } from '../days.ts';
import { comparePositions } from '../position.ts';
import { mix, Random } from '../random.ts';
import { COUNTRIES, COUNTRY_BY_CODE } from '../world/countries.ts';
import { LANGUAGES, type Language } from '../world/languages.ts';
import { TICKER_TOPICS, type Ticker, type TickerTopic } from '../world/tickers.ts';
import type { Changing } from './as-served.ts';
import type { GenerateSettings } from './headline.ts';
import { type Identity, identityOf, idOf } from './id.ts';
import { moodOf } from './mood.ts';
import { type Probabilities, probabilities, round4 } from './scores.ts';
import { anyNumber, chooseSource, reviseText, writeHeadline } from './texts.ts';
import { timeOfDay } from './time-of-day.ts';
import { headlinesOn } from './volume.ts';

const HEADLINES_PER_DAY = 24;
const ENGLISH_SHARE = 0.6;
const EXPLICIT_SHARE = 0.7;
const NO_COUNTRIES_SHARE = 0.25;
const SECOND_COUNTRY_SHARE = 0.3;

/** A headline about an asset; `positive` is bullish and `negative` bearish. */
export interface TickerHeadline extends Changing {
  /** A UUID, unique for the seed. */
  readonly id: string;
  readonly topic: TickerTopic;
  /** True if it names the asset. */
  readonly explicit: boolean;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
  readonly url: string;
  /** Names of its source's countries. */
  readonly countries: readonly string[] | null;
  readonly topicProbability: number;
  readonly scores: Probabilities;
  /** Whether the record has a score, null, or no such field. It always has the probabilities. */
  readonly score: 'sent' | 'null' | 'absent';
}

/**
 * Returns every headline of an asset's day, oldest first, equal times by id. It follows from the seed alone. No two share
 * time, text and source.
 */
export function tickerHeadlinesOfDay(settings: GenerateSettings, ticker: Ticker, day: Day): TickerHeadline[] {
  const series = identityOf(`${settings.seed}/${ticker.code}`);
  const count = headlinesOn(day, series.hash, HEADLINES_PER_DAY * ticker.weight * settings.volume);
  const daySeed = mix(series.hash, day);
  const headlines = new Map<string, TickerHeadline>();
  for (let index = 0; index < count; index++) {
    const random = new Random(mix(daySeed, index));
    const headline = oneHeadline(settings, ticker, series, day, index, random);
    const identity = `${headline.publishedAt} ${headline.source} ${headline.text}`;
    if (!headlines.has(identity)) headlines.set(identity, headline);
  }
  return [...headlines.values()].sort(comparePositions);
}

/** Returns the headline with other scores and, sometimes, another text. */
export function reviseTickerHeadline(headline: TickerHeadline, random: Random): TickerHeadline {
  const text = reviseText(headline, random);
  return { ...headline, text, scores: probabilities(0.8 * random.normal(), random) };
}

/** Returns bullish minus bearish, from -1 to 1. */
export function scoreOf({ positive, negative }: Probabilities): number {
  return round4(positive - negative);
}

function oneHeadline(
  { records }: GenerateSettings,
  ticker: Ticker,
  series: Identity,
  day: Day,
  index: number,
  random: Random,
): TickerHeadline {
  const id = idOf(series, day, index);
  const leaning = 0.8 * moodOf(series.hash, day) + 0.6 * random.normal();
  const topic = random.pick(TICKER_TOPICS[ticker.assetClass]);
  const language = random.share() < ENGLISH_SHARE ? 'en' : random.pick(LANGUAGES);
  const missing = random.share();
  return {
    id,
    publishedAt: day * MS_PER_DAY + timeOfDay(records.hourShare, random).stamped * 1000,
    topic,
    explicit: random.share() < EXPLICIT_SHARE,
    text: writeHeadline(language, ticker.name, topic, leaning, anyNumber(random), random),
    language,
    source: chooseSource(language, random),
    url: `https://news.example/${ticker.code.toLowerCase()}/${formatDay(day)}/${id.slice(24)}`,
    countries: chooseCountries(ticker, random),
    topicProbability: round4(0.5 + 0.5 * Math.sqrt(random.share())),
    scores: probabilities(leaning, random),
    score:
      missing >= records.missingScores ? 'sent' : missing < records.missingScores / 2 ? 'absent' : 'null',
    fate: mix(series.secondHash ^ day, index),
  };
}

function chooseCountries(ticker: Ticker, random: Random): string[] | null {
  if (random.share() < NO_COUNTRIES_SHARE) return null;
  const home = COUNTRY_BY_CODE.get(random.pick(ticker.countries))!.name;
  if (random.share() >= SECOND_COUNTRY_SHARE) return [home];
  return [...new Set([home, random.pick(COUNTRIES).name])];
}
