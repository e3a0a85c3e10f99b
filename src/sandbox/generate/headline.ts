import { asShare, mix } from '../random.ts';
import type { Country } from '../world/countries.ts';
import type { Language } from '../world/languages.ts';
import type { Topic } from '../world/topics.ts';
import type { Probabilities } from './scores.ts';

/** What one country and one topic have in common, worked out once. */
export interface Pair {
  readonly country: Country;
  readonly topic: Topic;
  /** Two numbers that stand for seed, country and topic; two, because 32 bits alone would give equal ids. */
  readonly hash: number;
  readonly secondHash: number;
  /** Headlines on an ordinary weekday, on average. */
  readonly volume: number;
}

/** A headline as it was published; `changes` may later alter it. */
export interface Headline {
  /** A UUID, different for every headline of a seed. */
  readonly id: string;
  /** Milliseconds since 1970, whole seconds. */
  readonly publishedAt: number;
  readonly domestic: boolean;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
  readonly url: string;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  /** `null` where the record sends null, `undefined` where it lacks the fields. */
  readonly semantic: Probabilities | null | undefined;
  readonly relevanceRank: number;
  /** A number of the headline's own, from which its later changes follow. */
  readonly fate: number;
}

/** A share of its own for one purpose, so that switching one change on does not move another. */
export function shareOf(headline: Headline, purpose: number): number {
  return asShare(mix(headline.fate, purpose));
}
