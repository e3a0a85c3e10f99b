import type { Country } from '../world/countries.ts';
import type { Language } from '../world/languages.ts';
import type { Topic } from '../world/topics.ts';
import type { Changing } from './as-served.ts';
import type { Identity } from './id.ts';
import type { Probabilities } from './scores.ts';

/** A country and topic that headlines are about. */
export interface Beat extends Identity {
  readonly country: Country;
  readonly topic: Topic;
  /** Average number of headlines on an ordinary weekday. */
  readonly volume: number;
}

/** The data of one country and topic, computed once. */
export interface Pair extends Beat {
  /** Other pairs whose headlines also appear under this one, and which share of them does. */
  readonly neighbours: readonly { readonly home: Beat; readonly share: number }[];
}

/** The parts of a headline that are the same under every country and topic. */
export interface News extends Changing {
  /** A UUID, unique for the seed. */
  readonly id: string;
  /** The id of the headline that this one reprints; its own id if it is not a reprint. */
  readonly story: string;
  /** The true time, which records do not have: `publishedAt` may be the beginning of its hour. */
  readonly happenedAt: number;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
  readonly url: string;
}

/** A headline under one country and topic, as first published. */
export interface Headline extends News {
  readonly domestic: boolean;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  /** `null` if the record sends null, `undefined` if it lacks the fields. */
  readonly semantic: Probabilities | null | undefined;
  readonly relevanceRank: number;
}

/** The settings that decide the data. */
export interface GenerateSettings {
  readonly seed: string;
  readonly volume: number;
  readonly records: { readonly hourShare: number; readonly missingScores: number };
}
