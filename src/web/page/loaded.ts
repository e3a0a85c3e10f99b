import type { Row } from './rows.ts';

/** Returns the first and the last requested day of the series of some feeds; `undefined` if there are none. */
export function daysOfFeeds(feeds: readonly Row<'feeds'>[] = []) {
  const oldest = feeds.map(({ oldest }) => oldest).toSorted()[0];
  const newest = feeds.map(({ newest }) => newest).toSorted();
  return { oldest, newest: newest.at(-1) };
}

/** Returns the names of countries or tickers, or the categories of topics, by code. */
export function namesOf(
  listed: readonly Row<'series'>[] = [],
  kind: Row<'series'>['kind'],
): Map<string, string | null> {
  return new Map(listed.filter((one) => one.kind === kind).map(({ code, name }) => [code, name]));
}
