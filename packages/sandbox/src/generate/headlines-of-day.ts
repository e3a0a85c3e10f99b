import type { Day } from '../days.ts';
import { comparePositions } from '../position.ts';
import { asShare, mix, Random } from '../random.ts';
import { COUNTRIES, type Country } from '../world/countries.ts';
import { TOPICS, type Topic } from '../world/topics.ts';
import type { Beat, GenerateSettings, Headline, Pair } from './headline.ts';
import { identityOf } from './id.ts';
import { newsOf, type Written } from './news.ts';
import { type Probabilities, probabilities, round4 } from './scores.ts';
import { reviseText } from './texts.ts';
import { headlinesOn, pairVolume } from './volume.ts';

/** Where else headlines appear: so many steps further in the lists of countries and topics, and which share of them does. */
const ALSO_UNDER = [
  { topics: 1, countries: 0, share: 0.06 },
  { topics: 7, countries: 0, share: 0.04 },
  { topics: 0, countries: 1, share: 0.05 },
  { topics: 1, countries: 1, share: 0.01 },
] as const;

/** Sorted so that countries with about as much news are neighbours, which share some of it. */
const BY_WEIGHT = [...COUNTRIES].sort((a, b) => b.weight - a.weight);

export function pairOf(settings: GenerateSettings, country: Country, topic: Topic): Pair {
  const beat = beatOf(settings, country, topic);
  const neighbours = ALSO_UNDER.map(({ topics, countries, share }) => {
    const home = beatOf(settings, before(BY_WEIGHT, country, countries), before(TOPICS, topic, topics));
    // So that a quiet pair does not drown in the news of a busy one.
    return { home, share: home.volume === 0 ? 0 : share * Math.min(1, beat.volume / home.volume) };
  });
  return { ...beat, neighbours };
}

function beatOf({ seed, volume }: GenerateSettings, country: Country, topic: Topic): Beat {
  const identity = identityOf(`${seed}/${country.code}/${topic.name}`);
  return {
    country,
    topic,
    ...identity,
    volume: volume * pairVolume(seed, country, topic, identity.hash),
  };
}

function before<T>(list: readonly T[], member: T, steps: number): T {
  return list.at((list.indexOf(member) - steps) % list.length)!;
}

/**
 * Returns every headline of a pair's day, oldest first, equal times by id. It follows from the seed alone. No two share time,
 * text, source and language, so that each can be identified without an id; many share all but one of these. Some also appear
 * under another pair, with the same id, time, text and source, but with other scores.
 */
export function headlinesOfDay(settings: GenerateSettings, pair: Pair, day: Day): Headline[] {
  const headlines: Headline[] = [];
  const taken = new Set<string>();
  const add = (home: Beat, written: Written) => {
    const identity = `${written.publishedAt} ${written.source} ${written.text}`;
    if (taken.has(identity)) return;
    taken.add(identity);
    headlines.push(headlineUnder(pair, home, written, settings.records.missingScores));
  };
  const own = newsOf(settings, pair, day);
  const count = headlinesOn(day, pair.hash, pair.volume);
  for (let index = 0; index < count; index++) add(pair, own.write(index));
  pair.neighbours.forEach(({ home, share }, place) => {
    if (share === 0) return;
    const theirs = newsOf(settings, home, day);
    const count = headlinesOn(day, home.hash, home.volume);
    for (let index = 0; index < count; index++) {
      if (asShare(mix(theirs.seed(index), 10 + place)) < share) add(home, theirs.write(index));
    }
  });
  return headlines.sort(comparePositions);
}

/** Scores news under a pair. Copies fields one by one, because spreading objects takes several times as long. */
function headlineUnder(pair: Beat, home: Beat, news: Written, missingScores: number): Headline {
  const random = new Random(mix(pair.secondHash, news.fate));
  const { leaning } = news;
  return {
    id: news.id,
    story: news.story,
    publishedAt: news.publishedAt,
    happenedAt: news.happenedAt,
    text: news.text,
    language: news.language,
    source: news.source,
    url: news.url,
    fate: news.fate,
    domestic: news.domestic && home.country === pair.country,
    topicProbability: round4(0.5 + 0.5 * Math.sqrt(random.share())),
    directional: probabilities(leaning, random),
    semantic: maybeMissing(missingScores, random, probabilities(0.8 * leaning, random)),
    relevanceRank: 1 + Math.floor(100 * random.share()),
  };
}

/** Returns the headline with other scores and, sometimes, another text. */
export function reviseHeadline(headline: Headline, random: Random): Headline {
  const leaning = 0.8 * random.normal();
  return {
    ...headline,
    text: reviseText(headline, random),
    directional: probabilities(leaning, random),
    semantic: headline.semantic && probabilities(leaning, random),
  };
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
