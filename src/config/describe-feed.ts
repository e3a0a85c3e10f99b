import type { Feed } from '../feeds/feed.ts';

/** `by country and topic, into gmsi.headlines` */
export function describeFeed(feed: Feed): string {
  return `${by(feed)}, into gmsi.${feed.table.name}`;
}

/** `by country and topic` */
export function by({ dimensions: selects }: Feed): string {
  return selects.length === 0 ? 'requested as a whole' : `by ${selects.join(' and ')}`;
}
