import type { Headline, Pair } from './generate/headline.ts';
import type { Probabilities } from './generate/scores.ts';
import type { RecordLook } from './options.ts';
import type { View } from './view.ts';
import { writeNumber, writeTime } from './wire-values.ts';

export type WireRecord = Record<string, unknown>;

/**
 * Returns the record that the service sends for a headline. Only some field names are known (docs/service.md, "Headline
 * records"). Assigns fields one by one, because spreading objects costs more than the rest of making a page.
 */
export function toWireRecord(headline: Headline, pair: Pair, { settings, zone }: View): WireRecord {
  const look = settings.records;
  const record: WireRecord = {};
  if (look.ids) record.id = headline.id;
  record.publication_time = writeTime(headline.publishedAt, look.times, zone);
  record.topic_name = pair.topic.name;
  record.match_type = headline.domestic ? 'DOMESTIC' : 'INTERNATIONAL';
  if (look.texts) {
    record.headline = headline.text;
    record.language = headline.language;
    record.source = headline.source;
    record.url = headline.url;
  }
  record.topic_probability = writeNumber(headline.topicProbability, look);
  addScores(record, 'directional', headline.directional, look);
  addScores(record, 'semantic', headline.semantic, look);
  record.relevance_rank = headline.relevanceRank;
  record.entities = { places: [pair.country.name], category: pair.topic.category };
  return record;
}

const FLAT_NAMES = {
  directional: ['directional_positive', 'directional_neutral', 'directional_negative'],
  semantic: ['semantic_positive', 'semantic_neutral', 'semantic_negative'],
} as const;

function addScores(
  record: WireRecord,
  model: keyof typeof FLAT_NAMES,
  scores: Probabilities | null | undefined,
  look: RecordLook,
): void {
  if (scores === undefined) return;
  const positive = scores && writeNumber(scores.positive, look);
  const neutral = scores && writeNumber(scores.neutral, look);
  const negative = scores && writeNumber(scores.negative, look);
  if (look.scores === 'nested') {
    record[model] = { positive, neutral, negative };
    return;
  }
  const names = FLAT_NAMES[model];
  record[names[0]] = positive;
  record[names[1]] = neutral;
  record[names[2]] = negative;
}
