import type { Country } from '../world/countries.ts';
import type { Language } from '../world/languages.ts';
import type { Topic } from '../world/topics.ts';
import type { Changing } from './as-served.ts';
import type { Identity } from './id.ts';
import type { Probabilities } from './scores.ts';

/** The data of one country and topic, computed once. */
export interface Pair extends Identity {
  readonly country: Country;
  readonly topic: Topic;
  /** Headlines on an ordinary weekday, on average. */
  readonly volume: number;
}

/** A headline as it was published; `changes` may later alter it. */
export interface Headline extends Changing {
  /** A UUID, different for every headline of a seed. */
  readonly id: string;
  /** The true time, which no record tells: `publishedAt` may be the beginning of its hour. */
  readonly happenedAt: number;
  readonly domestic: boolean;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
  readonly url: string;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  /** `null` if the record sends null, `undefined` if it lacks the fields. */
  readonly semantic: Probabilities | null | undefined;
  readonly relevanceRank: number;
}
