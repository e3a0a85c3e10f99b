import { defineFeed, type ReadColumns } from './define-feed.ts';
import type { Series } from './feed.ts';
import { hourlyIndex } from './hourly-index.ts';

/** What all feeds of a macro model have in common: the model is part of the path (docs/service.md, "Macro feeds"). */
export const byModel = {
  inPath: ['model'],
  // The last two appear in the vendor's archives of the regional index.
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT', 'DOMESTIC', 'INTERNATIONAL'],
  variants: { model: ['macro_1', 'macro_2', 'macro_3'] },
};

/** Returns the model of a series, for its path. */
export function modelOf({ variant }: Pick<Series, 'variant'>): string {
  return encodeURIComponent(new URLSearchParams(variant).get('model') ?? '');
}

/**
 * What both macro indices have in common: the mean is sent, too (docs/service.md, "Macro feeds"). Everything here is our best
 * guess.
 * @param apart further columns that identify an hour
 */
function macroIndex(of: 'regional' | 'global', apart: ReadColumns = {}) {
  const { variants, ...index } = hourlyIndex('topic', apart);
  return {
    dimensions: [],
    ...byModel,
    path: (series: Pick<Series, 'variant'>) => `/headlines/index/macro/historical/${of}/${modelOf(series)}`,
    parameters: { matchType: 'index_type' },
    variants: { ...byModel.variants, ...variants },
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
    dimensions,
    columns,
    identity,
    required,
    method: 'POST',
    path: () => `/headlines/index/macro/query/${of}`,
    table: { name: `${of}_index_query`, series: { variant: 'variant' }, isPartitioned: false },
  } as const;
}

export const byCountry = { country_name: ['text', 'country', 'country_name'] } as const;
/** Without it, the same time and topic of two countries would be one row. */
export const aCountry = { anyOf: ['country_name'], reason: 'no country' };
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
