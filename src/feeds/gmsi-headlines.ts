import type { Feed, FieldAliases, Series } from './feed.ts';
import { likelyNames, windowParameters } from './likely-names.ts';
import { createRecordReader, type RecordShape } from './reading/read-record.ts';

const directional = ['directional', 'directional_sentiment'];
// The topics' classification rules and the index's sentiment_type call the second model `semantic_sentiment`.
const semantic = ['semantic', 'semantic_sentiment'];

const columns = {
  headline_id: 'uuid',
  published_at: 'timestamptz',
  headline: 'text',
  language: 'text',
  source: 'text',
  url: 'text',
  topic_probability: 'double precision',
  directional_positive: 'double precision',
  directional_neutral: 'double precision',
  directional_negative: 'double precision',
  directional_score: 'double precision',
  semantic_positive: 'double precision',
  semantic_neutral: 'double precision',
  semantic_negative: 'double precision',
  semantic_score: 'double precision',
  extra: 'jsonb',
} as const;

/**
 * The only names known are `publication_time`, `topic_probability` and `directional_positive` to `_negative`
 * (docs/service.md, "Headline records"); the rest are what such services use.
 */
const fields: FieldAliases = {
  headline_id: likelyNames.id,
  published_at: likelyNames.publicationTime,
  headline: likelyNames.headline,
  language: likelyNames.language,
  source: likelyNames.source,
  url: likelyNames.url,
  topic_probability: likelyNames.topicProbability,
  directional_positive: probabilityAliases(directional, 'positive'),
  directional_neutral: probabilityAliases(directional, 'neutral'),
  directional_negative: probabilityAliases(directional, 'negative'),
  directional_score: scoreAliases(directional),
  semantic_positive: probabilityAliases(semantic, 'positive'),
  semantic_neutral: probabilityAliases(semantic, 'neutral'),
  semantic_negative: probabilityAliases(semantic, 'negative'),
  semantic_score: scoreAliases(semantic),
};

const shape: RecordShape = {
  columns,
  fields,
  identity: { id: 'headline_id', time: 'published_at', text: 'headline', qualifiers: ['source', 'language'] },
  // In double arithmetic without rounding, so that SQL over the same columns gives the same number.
  differences: [
    { column: 'directional_score', of: ['directional_positive', 'directional_negative'] },
    { column: 'semantic_score', of: ['semantic_positive', 'semantic_negative'] },
  ],
  required: [
    { anyOf: ['published_at'], reason: 'no readable publication time' },
    {
      anyOf: Object.keys(columns).filter((column) => /^(directional|semantic)_/.test(column)),
      reason: 'no directional or semantic score',
    },
  ],
};

/**
 * Historical GMSI headlines of one country and topic. The country's place in the path and the
 * parameters' names are likely: docs/service.md, "Historical headlines".
 */
export const gmsiHeadlines: Feed = {
  name: 'gmsi-headlines',
  dimensions: ['country', 'topic'],
  method: 'GET',
  path: ({ country }: Series) => `/headlines/feed/historical/gmsi/${encodeURIComponent(country)}`,
  parameters: { ...windowParameters, topic: 'topic', matchType: 'match_type' },
  matchTypes: ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'],
  variants: {},
  live: {
    path: ({ country }: Series) => `/headlines/feed/live/gmsi/${encodeURIComponent(country)}`,
    limit: 1000,
    hours: 24,
  },
  table: {
    name: 'headlines',
    columns,
    key: ['published_at', 'headline_id'],
    series: { country: 'country', topic: 'topic', match_type: 'match_type' },
    partitionedBy: 'published_at',
  },
  fields,
  reader: (overrides) => createRecordReader(shape, overrides),
};

function probabilityAliases(models: readonly string[], outcome: string): string[] {
  return models.flatMap((model) => [
    `${model}_${outcome}`,
    `${model}_${outcome}_probability`,
    `${model}.${outcome}`,
    `sentiment.${model}.${outcome}`,
  ]);
}

function scoreAliases(models: readonly string[]): string[] {
  return models.flatMap((model) => [
    `${model}_score`,
    `${model}.score`,
    `sentiment.${model}.score`,
    model,
    `sentiment.${model}`,
  ]);
}
