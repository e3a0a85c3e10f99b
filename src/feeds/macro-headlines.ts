import { defineFeed } from './define-feed.ts';
import { aCountry, byCountry, byModel } from './macro-indices.ts';
import { modelHeadlines } from './ticker-headlines.ts';

/**
 * Headlines of a group of countries, with the scores of a macro model. Everything here is our best guess (docs/service.md,
 * "Macro feeds"). The live feed is not read, because its path has no model, so it is not known whose scores it sends.
 */
export const macroHeadlines = defineFeed({
  name: 'macro-headlines',
  ...byModel,
  path: '/headlines/feed/historical/macro/{model}',
  ...modelHeadlines,
  variants: { ...byModel.variants, country_preset: [] },
  columns: { ...modelHeadlines.columns, ...byCountry },
  identity: { ...modelHeadlines.identity, apart: ['country_name', 'topic'] },
  required: [...modelHeadlines.required, aCountry],
});
