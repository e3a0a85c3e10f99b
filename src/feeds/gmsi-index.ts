import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

const { variants, ...index } = hourlyIndex('topic_name');

/** Hourly headline sentiment of a country and topic, by model (docs/service.md, "Index feeds"). */
export const gmsiIndex = defineFeed({
  name: 'gmsi-index',
  dimensions: ['country', 'topic'],
  path: ({ country }) => `/headlines/index/gmsi/historical/${encodeURIComponent(country)}`,
  parameters: { topic: 'topic', matchType: 'index_type' },
  matchTypes: ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'],
  variants: { sentiment_type: ['directional', 'semantic_sentiment'], ...variants },
  liveHours: 24,
  ...index,
  table: {
    name: 'gmsi_index',
    series: { country: 'country', topic: 'topic', match_type: 'match_type', variant: 'variant' },
    isPartitioned: true,
  },
});
