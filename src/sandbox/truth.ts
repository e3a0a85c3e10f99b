import { parseDay } from './days.ts';
import { findPair, headlinesServed, type MatchType, readMatchType } from './feeds/gmsi-headlines.ts';
import { pairOf } from './generate/headlines-of-day.ts';
import type { Probabilities } from './generate/scores.ts';
import type { SandboxSettings } from './options.ts';
import { invalidParameter } from './refusal.ts';
import { toWireRecord, type WireRecord } from './wire-record.ts';

export interface TruthQuestion {
  readonly country: string;
  readonly topic: string;
  /** COMBINED where left out. */
  readonly matchType?: string;
  /** First and last day, `YYYY-MM-DD`, both included, as many days as wanted. */
  readonly from: string;
  readonly to: string;
}

/** A headline as it is served now, free of how it looks on the wire. What records do not carry is `null`. */
export interface TruthRecord {
  readonly id: string | null;
  /** ISO 8601 in UTC, `2026-05-21T13:00:00.000Z`. */
  readonly publishedAt: string;
  readonly matchType: MatchType;
  readonly headline: string | null;
  readonly language: string | null;
  readonly source: string | null;
  readonly url: string | null;
  readonly topicProbability: number;
  readonly directional: Probabilities;
  readonly semantic: { readonly [name in keyof Probabilities]: number | null };
  /** The record as it is sent. */
  readonly wire: WireRecord;
}

const NO_SCORES = { positive: null, neutral: null, negative: null };

/** What the service serves now for so many days, oldest first. Throws a Refusal for what it does not know. */
export function truthOf(settings: SandboxSettings, question: TruthQuestion): TruthRecord[] {
  const { country, topic } = findPair(question.country, question.topic);
  const matchType = readMatchType(question.matchType === undefined ? {} : { match_type: question.matchType });
  const pair = pairOf(settings, country, topic);
  const { ids, texts } = settings.records;
  const first = readDay('from', question.from);
  const last = readDay('to', question.to);
  const now = settings.clock().getTime();
  const days = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  return days
    .flatMap((day) => headlinesServed(settings, pair, matchType, day, now))
    .map((headline) => ({
      id: ids ? headline.id : null,
      publishedAt: new Date(headline.publishedAt).toISOString(),
      matchType: headline.domestic ? 'DOMESTIC' : 'INTERNATIONAL',
      headline: texts ? headline.text : null,
      language: texts ? headline.language : null,
      source: texts ? headline.source : null,
      url: texts ? headline.url : null,
      topicProbability: headline.topicProbability,
      directional: headline.directional,
      semantic: headline.semantic ?? NO_SCORES,
      wire: toWireRecord(headline, pair, settings.records),
    }));
}

function readDay(name: string, text: string): number {
  const day = parseDay(text);
  if (day === null) throw invalidParameter(name, 'Input should be a valid date, YYYY-MM-DD', text);
  return day;
}
