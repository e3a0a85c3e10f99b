import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

const { variants, ...index } = hourlyIndex('topic_name');

/** Hourly headline sentiment of a country and topic, by model (docs/service.md, "Index feeds"). */
export const gmsiIndex = defineFeed({
  name: 'gmsi-index',
  dimensions: ['country', 'topic'],
  path: '/headlines/index/gmsi/historical/{country}',
  matchTypes: ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'],
  liveHours: 24,
  ...index,
  parameters: { topic: 'topic', ...index.parameters },
  variants: { sentiment_type: ['directional', 'semantic_sentiment'], ...variants },
});
