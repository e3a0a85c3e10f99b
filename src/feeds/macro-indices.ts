import { defineFeed } from './define-feed.ts';
import { hourlyIndex } from './hourly-index.ts';

/** What all feeds of a macro model have in common: the model is part of the path (docs/service.md, "Macro feeds"). */
export const byModel = {
  dimensions: [],
  // The last two appear in the vendor's archives of the regional index.
  matchTypes: ['COMBINED', 'EXPLICIT', 'IMPLICIT', 'DOMESTIC', 'INTERNATIONAL'],
  variants: { model: ['macro_1', 'macro_2', 'macro_3'] },
};

export const byCountry = { country_name: ['text', 'country', 'country_name'] } as const;
/** Without it, the same time and topic of two countries would be one row. */
export const aCountry = { anyOf: ['country_name'], reason: 'no country' };

/** What both macro indices have in common: the mean is sent, too. Everything here is our best guess. */
function macroIndex(apart: Parameters<typeof hourlyIndex>[1] = {}) {
  const index = hourlyIndex('topic', apart);
  return {
    ...index,
    columns: { ...index.columns, sentiment_avg: ['double precision', 'sentiment_avg'] },
  } as const;
}

const { variants, ...globalHours } = macroIndex();
const { variants: _, ...hours } = macroIndex(byCountry);
const regionalHours = { ...hours, required: [...hours.required, aCountry] };

/** Hourly headline sentiment of each country of a group, by topic. */
export const regionalIndex = defineFeed({
  name: 'regional-index',
  ...byModel,
  path: '/headlines/index/macro/historical/regional/{model}',
  liveHours: 2,
  ...regionalHours,
  variants: { ...byModel.variants, ...variants, country_preset: [] },
});

/** Hourly headline sentiment of the world, by topic. */
export const globalIndex = defineFeed({
  name: 'global-index',
  ...byModel,
  path: '/headlines/index/macro/historical/global/{model}',
  liveHours: 2,
  ...globalHours,
  variants: { ...byModel.variants, ...variants },
});

/** A query of your own; the job file has its body. */
const query = { dimensions: [], method: 'POST', parameters: {}, isPartitioned: false } as const;

export const regionalIndexQuery = defineFeed({
  name: 'regional-index-query',
  path: '/headlines/index/macro/query/regional',
  ...regionalHours,
  ...query,
});

export const globalIndexQuery = defineFeed({
  name: 'global-index-query',
  path: '/headlines/index/macro/query/global',
  ...globalHours,
  ...query,
});
