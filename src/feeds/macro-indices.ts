import { defineFeed, type ReadColumns } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

/**
 * What the indices of countries together have in common: the model is part of the path, and the mean is sent, too
 * (docs/service.md, "Macro indices"). Everything here is our best guess.
 * @param apart further columns that identify an hour
 */
function macroIndex(of: 'regional' | 'global', apart: ReadColumns = {}) {
  const { variants, ...index } = hourlyIndex('topic', apart);
  return {
    dimensions: [],
    path: ({ variant }: { readonly variant: string }) => {
      const model = new URLSearchParams(variant).get('model') ?? '';
      return `/headlines/index/macro/historical/${of}/${encodeURIComponent(model)}`;
    },
    inPath: ['model'],
    parameters: { matchType: 'index_type' },
    // The last two appear in the vendor's archives.
    matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT', 'DOMESTIC', 'INTERNATIONAL'],
    variants: { model: ['macro_1', 'macro_2', 'macro_3'], ...variants },
    liveHours: 2,
    ...index,
    columns: { ...index.columns, sentiment_avg: ['double precision', 'sentiment_avg'] },
    table: {
      name: `${of}_index`,
      series: { match_type: 'match_type', variant: 'variant' },
      isPartitioned: true,
    },
  } as const;
}

const regional = macroIndex('regional', { country_name: ['text', 'country', 'country_name'] });

/** Hourly headline sentiment of each country of a group, by topic. */
export const regionalIndex = defineFeed({
  name: 'regional-index',
  ...regional,
  variants: { ...regional.variants, country_preset: [] },
  // Without it, the same hour and topic of two countries would be one row.
  required: [...regional.required, { anyOf: ['country_name'], reason: 'no country' }],
});

/** Hourly headline sentiment of the world, by topic. */
export const globalIndex = defineFeed({ name: 'global-index', ...macroIndex('global') });
