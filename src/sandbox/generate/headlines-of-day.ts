import { type Day, formatDay, MS_PER_DAY } from '../days.ts';
import { comparePositions } from '../position.ts';
import { mix, Random } from '../random.ts';
import type { Country } from '../world/countries.ts';
import type { Topic } from '../world/topics.ts';
import type { Headline, Pair } from './headline.ts';
import { identityOf, idOf } from './id.ts';
import { moodOf } from './mood.ts';
import { type Probabilities, probabilities, round4 } from './scores.ts';
import { chooseLanguage, chooseSource, countryName, writeHeadline } from './texts.ts';
import { timeOfDay } from './time-of-day.ts';
import { headlinesOn, pairVolume } from './volume.ts';

const DOMESTIC_SHARE = 0.55;
const SYNDICATED_SHARE = 0.05;

/** The settings of a sandbox that decide the data. */
export interface GenerateSettings {
  readonly seed: string;
  readonly volume: number;
  readonly records: { readonly hourShare: number; readonly missingScores: number };
}

export function pairOf(settings: GenerateSettings, country: Country, topic: Topic): Pair {
  const name = `${settings.seed}/${country.code}/${topic.name}`;
  const identity = identityOf(name);
  const volume = settings.volume * pairVolume(settings.seed, country, topic, identity.hash);
  return { country, topic, ...identity, volume };
}

/**
 * Every headline of a pair that is ever published on a day, oldest first, equal times by id. It follows from the seed alone.
 * No two share time, text, source and language, so that each can be identified without an id; many share all but one of
 * these.
 */
export function headlinesOfDay(settings: GenerateSettings, pair: Pair, day: Day): Headline[] {
  const count = headlinesOn(day, pair.hash, pair.volume);
  if (count === 0) return [];
  const daySeed = mix(pair.hash, day);
  const context: DayContext = {
    pair,
    day,
    mood: moodOf(pair.hash, day),
    urlPrefix: `https://news.example/${pair.country.code.toLowerCase()}/${formatDay(day)}/`,
    records: settings.records,
  };
  const headlines: Headline[] = [];
  const taken = new Set<string>();
  for (let index = 0; index < count; index++) {
    const headline = oneHeadline(context, index, new Random(mix(daySeed, index)), headlines.at(-1));
    const identity = `${headline.publishedAt} ${headline.source} ${headline.text}`;
    if (taken.has(identity)) continue;
    taken.add(identity);
    headlines.push(headline);
  }
  return headlines.sort(comparePositions);
}

interface DayContext {
  readonly pair: Pair;
  readonly day: Day;
  readonly mood: number;
  readonly urlPrefix: string;
  readonly records: GenerateSettings['records'];
}

function oneHeadline(
  { pair, day, mood, urlPrefix, records }: DayContext,
  index: number,
  random: Random,
  previous: Headline | undefined,
): Headline {
  const id = idOf(pair, day, index);
  const url = urlPrefix + id.slice(24);
  const leaning = 0.8 * mood + 0.6 * random.normal();
  const topicProbability = round4(0.5 + 0.5 * Math.sqrt(random.share()));
  const directional = probabilities(leaning, random);
  const semantic = maybeMissing(records.missingScores, random, probabilities(0.8 * leaning, random));
  const relevanceRank = 1 + Math.floor(100 * random.share());
  const fate = mix(pair.secondHash ^ day, index);
  const own = { id, url, topicProbability, directional, semantic, relevanceRank, fate };
  if (previous !== undefined && random.share() < SYNDICATED_SHARE) {
    const { publishedAt, happenedAt, domestic, text, language } = previous;
    const source = chooseSource(language, random);
    return { publishedAt, happenedAt, domestic, text, language, source, ...own };
  }
  const time = timeOfDay(records.hourShare, random);
  const [publishedAt, happenedAt] = [time.stamped, time.happened].map(
    (second) => day * MS_PER_DAY + second * 1000,
  ) as [number, number];
  const domestic = random.share() < DOMESTIC_SHARE;
  const language = chooseLanguage(pair.country, domestic, random);
  const text = writeHeadline(language, countryName(language, pair.country), pair.topic, leaning, random);
  const source = chooseSource(language, random);
  return { publishedAt, happenedAt, domestic, text, language, source, ...own };
}

function maybeMissing(
  share: number,
  random: Random,
  semantic: Probabilities,
): Probabilities | null | undefined {
  const draw = random.share();
  if (draw >= share) return semantic;
  return draw < share / 2 ? undefined : null;
}
