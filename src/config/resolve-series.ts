import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { distance } from 'fastest-levenshtein';
import type Iso3166 from 'i18n-iso-countries';
import { ConfigError } from '../errors.ts';
import type { Dimension, Feed, Series } from '../feeds/feed.ts';
import { knownNames, nearest } from '../nearest.ts';
import { oneName, sameName } from '../one-name.ts';
import { selectionKeys } from './check-against-feed.ts';
import type { Job } from './job.ts';
import type { JobFile } from './job-keys.ts';
import { JobFileError, type JobFileProblem, mismatch } from './problems.ts';

/** The service's lists, as stored in the warehouse. */
export interface Lookups {
  readonly countries: readonly Listed[];
  readonly topics: readonly { readonly name: string }[];
  readonly tickers: readonly Listed[];
  /** Names that the service has listed before, and no longer does. */
  readonly unlisted: Readonly<Record<Dimension, readonly UnlistedName[]>>;
}

export interface UnlistedName {
  readonly name: string;
  /** The feeds that have loaded it. */
  readonly feeds: readonly string[];
}

interface Listed {
  readonly code: string;
  readonly name: string | null;
}

/**
 * Returns every series of a job: every combination of its countries, topics, tickers and variants, in the job's order. `all` and
 * globs follow the lookup's order; there are no duplicates. Codes and topics match exactly, as in the service, in any normal
 * form. A name that is no longer listed still belongs to the job if the job names it, or if `all` or a glob has loaded it.
 * @throws JobFileError with all names that are not in the lookups and all globs that match nothing; ConfigError for a name to
 * which a command limits the job, and which the job does not have
 */
export function resolveSeries(job: Job, lookups: Lookups): Series[] {
  const problems: JobFileProblem[] = [];
  const resolve = (
    dimension: Dimension,
    listed: readonly string[],
    nearestOf: (text: string) => string | undefined,
  ): string[] => {
    const selection = job.selections[dimension];
    // A feed without this dimension has one empty value.
    if (selection === undefined) return [''];
    const unlisted = lookups.unlisted[dimension];
    const all = [
      ...listed,
      ...unlisted.filter(({ feeds }) => feeds.includes(job.feed)).map(({ name }) => name),
    ];
    if (selection === 'all') return partOfNames(job, dimension, all);
    const names = selection.flatMap((text, index) => {
      const left = sameName(
        text,
        unlisted.map(({ name }) => name),
      );
      const matches = left === undefined ? matching(text, all) : [left];
      if (matches.length > 0) return matches;
      const field = [selectionKeys[dimension], index];
      const listedOnes = `${expected[dimension]} that the service lists`;
      const message = mismatch(`found "${text}"`, listedOnes, nearestOf(text));
      problems.push({ position: job.locate(field), field, message });
      return [];
    });
    return partOfNames(job, dimension, names);
  };
  const topicNames = lookups.topics.map(({ name }) => name);
  const countries = resolve('country', codesOf(lookups.countries), (text) => nearestCountry(text, lookups));
  const topics = resolve('topic', topicNames, (text) => nearestTopic(text, topicNames));
  const tickers = resolve('ticker', codesOf(lookups.tickers), (text) => nearestTicker(text, lookups));
  if (problems.length > 0) throw new JobFileError(job.path, problems);

  const { feed, matchType: match_type, variants } = job;
  return countries.flatMap((country) =>
    topics.flatMap((topic) =>
      tickers.flatMap((ticker) =>
        variants.map((variant) => ({ feed, country, topic, ticker, match_type, variant })),
      ),
    ),
  );
}

/** Returns the names without duplicates, and only those to which a command limits the job. */
function partOfNames(job: Job, dimension: Dimension, names: readonly string[]): string[] {
  const ofJob = [...new Set(names)];
  const only = job.part[dimension];
  if (only === undefined) return ofJob;
  const kept = new Set(
    only.flatMap((text) => {
      const matches = matching(text, ofJob);
      if (matches.length > 0) return matches;
      throw new ConfigError(`--${dimension} ${text}: ${job.name} has no such ${dimension}.`, {
        hint: knownNames(text, ofJob),
      });
    }),
  );
  return ofJob.filter((name) => kept.has(name));
}

const expected: Readonly<Record<Dimension, string>> = {
  country: 'a country code',
  topic: 'a topic',
  ticker: 'a ticker',
};

function matching(text: string, listed: readonly string[]): string[] {
  const same = sameName(text, listed);
  if (same !== undefined) return [same];
  const glob = globPattern(oneName(text));
  return listed.filter((name) => glob.test(oneName(name)));
}

/**
 * Turns a glob into a pattern: `*` stands for any characters and `?` for one. Libraries for globs of file paths treat
 * slashes, ampersands and spaces specially, which topic names contain.
 */
function globPattern(glob: string): RegExp {
  const literal = glob.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su');
}

/** Codes in common use that differ from ISO 3166. */
const otherCodes: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' };

function nearestCountry(text: string, { countries }: Lookups): string | undefined {
  // Loaded only for a wrong country: it takes 30 ms.
  const { alpha3ToAlpha2 }: typeof Iso3166 = createRequire(import.meta.url)('i18n-iso-countries');
  const code = text.toUpperCase();
  const other = otherCodes[code] ?? alpha3ToAlpha2(code);
  if (other !== undefined && codesOf(countries).includes(other)) return other;
  return nearestCode(text, countries);
}

/** Suggests `GC_COM` for `GC`: people omit the part after the underscore. */
function nearestTicker(text: string, { tickers }: Lookups): string | undefined {
  const symbol = `${text.toUpperCase()}_`;
  return codesOf(tickers).find((code) => code.startsWith(symbol)) ?? nearestCode(text, tickers);
}

/** Compares names, too: people write the name of a country or an asset as often as a wrong code. */
function nearestCode(text: string, listed: readonly Listed[]): string | undefined {
  const codeByText = new Map(
    listed.flatMap(({ code, name }) => [[name ?? code, code] as const, [code, code] as const]),
  );
  return codeByText.get(nearest(text, codeByText.keys()) ?? '');
}

function codesOf(listed: readonly Listed[]): string[] {
  return listed.map(({ code }) => code);
}

/** Compares topics and the globs of their categories, so that `Inflation` suggests `Inflation-*` rather than `Elections`. */
function nearestTopic(text: string, topicNames: readonly string[]): string | undefined {
  const categories = topicNames.filter((name) => name.includes('-')).map((name) => `${name.split('-')[0]}-*`);
  const beginning = text.replace(/\*$/, '').toLowerCase();
  // `Labor*` means `Labour Market-*`.
  const ofBeginning = (name: string) => distance(beginning, name.slice(0, beginning.length).toLowerCase());
  const begins = categories.find((name) => ofBeginning(name) <= beginning.length / 4);
  return (text.endsWith('*') ? begins : undefined) ?? nearest(text, [...topicNames, ...categories]);
}

/**
 * Returns every combination of a job's further parameters (the feed's own by default), each as `name=value&name=value`, sorted
 * by name. Another body requests other data, so its hash is one of the parameters.
 */
export function variantsOf(feed: Feed, { parameters, body }: Pick<JobFile, 'parameters' | 'body'>): string[] {
  const asked: Record<string, readonly string[]> = { ...feed.variants, ...parameters };
  if (body !== undefined) asked.body = [hashOf(body)];
  let variants: [string, string][][] = [[]];
  for (const name of Object.keys(asked)
    .filter((it) => asked[it]!.length > 0)
    .sort()) {
    variants = variants.flatMap((variant) =>
      [...new Set(asked[name])].map((value): [string, string][] => [...variant, [name, value]]),
    );
  }
  return variants.map((variant) => new URLSearchParams(variant).toString());
}

/** Returns the same hash for bodies that differ only in the order of their keys. */
function hashOf(body: unknown): string {
  const sorted = JSON.stringify(body, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 12);
}
