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

/** The same by a query of your own; the job file has its body. */
function macroQuery(of: 'regional' | 'global', apart: ReadColumns = {}) {
  const { dimensions, columns, identity, required } = macroIndex(of, apart);
  return {
    ...{ dimensions, columns, identity, required },
    method: 'POST',
    path: () => `/headlines/index/macro/query/${of}`,
    table: { name: `${of}_index_query`, series: { variant: 'variant' }, isPartitioned: false },
  } as const;
}

const byCountry = { country_name: ['text', 'country', 'country_name'] } as const;
/** Without it, the same hour and topic of two countries would be one row. */
const aCountry = { anyOf: ['country_name'], reason: 'no country' };
const regional = macroIndex('regional', byCountry);

/** Hourly headline sentiment of each country of a group, by topic. */
export const regionalIndex = defineFeed({
  name: 'regional-index',
  ...regional,
  variants: { ...regional.variants, country_preset: [] },
  required: [...regional.required, aCountry],
});

/** Hourly headline sentiment of the world, by topic. */
export const globalIndex = defineFeed({ name: 'global-index', ...macroIndex('global') });

const regionalQuery = macroQuery('regional', byCountry);

export const regionalIndexQuery = defineFeed({
  name: 'regional-index-query',
  ...regionalQuery,
  required: [...regionalQuery.required, aCountry],
});

export const globalIndexQuery = defineFeed({ name: 'global-index-query', ...macroQuery('global') });
