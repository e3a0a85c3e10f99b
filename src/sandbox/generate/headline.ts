import type { Country } from '../world/countries.ts';
import type { Language } from '../world/languages.ts';
import type { Topic } from '../world/topics.ts';
import type { Changing } from './as-served.ts';
import type { Identity } from './id.ts';
import type { Probabilities } from './scores.ts';

/** A country and topic that headlines are written about. */
export interface Beat extends Identity {
  readonly country: Country;
  readonly topic: Topic;
  /** Headlines on an ordinary weekday, on average. */
  readonly volume: number;
}

/** The data of one country and topic, computed once. */
export interface Pair extends Beat {
  /** Of which other pairs some headlines stand under this one, too, and which share of them. */
  readonly neighbours: readonly { readonly home: Beat; readonly share: number }[];
}

/** What a headline is under every country and topic. */
export interface News extends Changing {
  /** A UUID, different for every headline of a seed. */
  readonly id: string;
  /** The id of the headline of which this one is a reprint; its own if it is none. */
  readonly story: string;
  /** The true time, which no record tells: `publishedAt` may be the beginning of its hour. */
  readonly happenedAt: number;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
  readonly url: string;
}

/** A headline under one country and topic, as it was published; `changes` may later alter it. */
export interface Headline extends News {
  readonly domestic: boolean;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  /** `null` if the record sends null, `undefined` if it lacks the fields. */
  readonly semantic: Probabilities | null | undefined;
  readonly relevanceRank: number;
}

/** The settings of a sandbox that decide the data. */
export interface GenerateSettings {
  readonly seed: string;
  readonly volume: number;
  readonly records: { readonly hourShare: number; readonly missingScores: number };
}
