import { catalog } from '../feeds/catalog.ts';

const anySeries = { country: '*', topic: '', ticker: '*', matchType: '', variant: '' };

/** Where each feed and its live twin begin; what a path is asked for by stands at its end. */
const beginnings = [...catalog.values()].flatMap((feed) =>
  [feed, feed.live].flatMap((one) => (one ? [[one.path(anySeries).replace(/\*$/, ''), feed.name]] : [])),
) as [beginning: string, feed: string][];

/** What `feed` is of a request that belongs to none: countries, topics, tickers and other lists. */
export const lookups = 'lookups';

/**
 * The feed that a request is for.
 * @param path as sent, without its query
 */
export function feedOfPath(path: string): string {
  const below = path.replace(/^.*?\/v1(?=\/)/, '');
  return beginnings.find(([beginning]) => below.startsWith(beginning))?.[1] ?? lookups;
}
