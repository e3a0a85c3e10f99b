import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import type { Feed } from './feed.ts';
import { gmsiHeadlines } from './gmsi-headlines.ts';

/** Every feed of the service that can be loaded, by the name that job files use. */
export const catalog: ReadonlyMap<string, Feed> = new Map([gmsiHeadlines].map((feed) => [feed.name, feed]));

/** A job names a feed that there is not. */
export class UnknownFeed extends ConfigError {
  constructor(name: string) {
    super(`there is no feed "${name}"`, { hint: knownNames(name, [...catalog.keys()]) });
  }
}

/** The feed of that name; throws `UnknownFeed`, which names the nearest one. */
export function feedNamed(name: string): Feed {
  const feed = catalog.get(name);
  if (feed === undefined) throw new UnknownFeed(name);
  return feed;
}
