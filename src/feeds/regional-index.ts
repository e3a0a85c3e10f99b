import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

const { variants, ...index } = hourlyIndex('topic', { country_name: ['text', 'country', 'country_name'] });

/**
 * Hourly headline sentiment of all countries of a group, by topic (docs/service.md, "Regional macro index"). The model is
 * part of the path. Everything here is our best guess.
 */
export const regionalIndex = defineFeed({
  name: 'regional-index',
  dimensions: [],
  path: ({ variant }) => {
    const model = new URLSearchParams(variant).get('model') ?? '';
    return `/headlines/index/macro/historical/regional/${encodeURIComponent(model)}`;
  },
  inPath: ['model'],
  parameters: { matchType: 'index_type' },
  // The last two appear in the vendor's archives.
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT', 'DOMESTIC', 'INTERNATIONAL'],
  variants: { model: ['macro_1', 'macro_2', 'macro_3'], country_preset: [], ...variants },
  liveHours: 2,
  ...index,
  columns: { ...index.columns, sentiment_avg: ['double precision', 'sentiment_avg'] },
  // Without it, the same hour and topic of two countries would be one row.
  required: [...index.required, { anyOf: ['country_name'], reason: 'no country' }],
  table: {
    name: 'regional_index',
    series: { match_type: 'match_type', variant: 'variant' },
    isPartitioned: true,
  },
});
