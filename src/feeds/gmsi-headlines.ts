import { defineFeed, type ReadColumns } from './define-feed.ts';
import { headlines, likely, published } from './likely-columns.ts';

const directional = ['directional', 'directional_sentiment'];
// The topics' classification rules and the index's sentiment_type call the second model `semantic_sentiment`.
const semantic = ['semantic', 'semantic_sentiment'];

const scores = {
  directional_positive: probability(directional, 'positive'),
  directional_neutral: probability(directional, 'neutral'),
  directional_negative: probability(directional, 'negative'),
  directional_score: score(directional),
  semantic_positive: probability(semantic, 'positive'),
  semantic_neutral: probability(semantic, 'neutral'),
  semantic_negative: probability(semantic, 'negative'),
  semantic_score: score(semantic),
};

/**
 * Historical GMSI headlines of one country and topic. The parameter names are our best guess (docs/service.md, "Historical
 * headlines"). The only known fields are `publication_time`, `topic_probability` and `directional_positive` to `_negative`
 * (docs/service.md, "Headline records"); the other names are common in such services.
 */
export const gmsiHeadlines = defineFeed({
  name: 'gmsi-headlines',
  dimensions: ['country', 'topic'],
  path: '/headlines/feed/historical/gmsi/{country}',
  parameters: { topic: 'topic', matchType: 'match_type' },
  matchTypes: ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'],
  liveHours: 24,
  ...headlines,
  columns: { ...headlines.columns, topic_probability: likely.topic_probability, ...scores },
  // Not rounded, so that SQL over the same columns gives the same number.
  differences: [
    { column: 'directional_score', of: ['directional_positive', 'directional_negative'] },
    { column: 'semantic_score', of: ['semantic_positive', 'semantic_negative'] },
  ],
  required: [published, { anyOf: Object.keys(scores), reason: 'no directional or semantic score' }],
  table: 'headlines',
  hasVariants: false,
});

function probability(models: readonly string[], outcome: string): ReadColumns[string] {
  const names = (model: string) => [
    ...[`${model}_${outcome}`, `${model}_${outcome}_probability`],
    ...[`${model}.${outcome}`, `sentiment.${model}.${outcome}`],
  ];
  return ['double precision', ...models.flatMap(names)];
}

function score(models: readonly string[]): ReadColumns[string] {
  const names = (model: string) => [
    ...[`${model}_score`, `${model}.score`, `sentiment.${model}.score`],
    ...[model, `sentiment.${model}`],
  ];
  return ['double precision', ...models.flatMap(names)];
}
