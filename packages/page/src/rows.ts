import type { z } from 'zod';
import type { allEndpoints } from './loader.ts';

type Endpoints = ReturnType<typeof allEndpoints>[number];

export type Path = Endpoints['path'];

/** A row of an endpoint's answer in JSON: moments are texts. */
export type Row<Of extends Path> = Wire<z.output<Extract<Endpoints, { path: Of }>['row']>>;
type Wire<One> = {
  readonly [Name in keyof One]: One[Name] extends Date | null ? string | Exclude<One[Name], Date> : One[Name];
};

/** Returns the first and the last requested day of the series of some feeds; `undefined` if there are none. */
export function daysOfFeeds(feeds: readonly Row<'feeds'>[] = []) {
  const oldest = feeds.map(({ oldest }) => oldest).toSorted()[0];
  const newest = feeds.map(({ newest }) => newest).toSorted();
  return { oldest, newest: newest.at(-1) };
}

/** Writes further parameters of a series; values that say what they are of, without their names. */
export function variantTitle(variant: string): string {
  const values = variant.replace(/(^|&)(?:sentiment_type|model)=/g, '$1');
  return values.replace('_sentiment', '').replaceAll('&', ' ');
}

/** Returns the names of countries or tickers, or the categories of topics, by code. */
export function namesOf(
  listed: readonly Row<'series'>[] = [],
  kind: Row<'series'>['kind'],
): Map<string, string | null> {
  return new Map(listed.filter((one) => one.kind === kind).map(({ code, name }) => [code, name]));
}
