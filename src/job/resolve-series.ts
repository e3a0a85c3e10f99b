import type { Series } from '../feeds/feed.ts';
import { nearest } from '../nearest.ts';
import { didYouMean } from './describe-problems.ts';
import type { Job, Selection } from './job.ts';
import { JobFileError, type JobFileProblem } from './job-file-error.ts';

/** What the service lists, as kept in the warehouse. */
export interface Lookups {
  readonly countries: readonly { readonly code: string; readonly name: string | null }[];
  readonly topics: readonly { readonly name: string }[];
  readonly tickers: readonly { readonly code: string; readonly name: string | null }[];
}

/**
 * Every series that a job selects: its countries, topics, tickers and variants crossed, in the job's order. `all` and globs follow the lookup's order; nothing comes twice. Names that are not listed, and globs that match
 * nothing, are a `JobFileError` that tells all of them. Codes and topics are matched exactly, as the service does.
 */
export function resolveSeries(job: Job, lookups: Lookups): Series[] {
  const codes = lookups.countries.map(({ code }) => code);
  const topicNames = lookups.topics.map(({ name }) => name);
  const tickerCodes = lookups.tickers.map(({ code }) => code);
  const countries = resolve(job.selections.country, codes);
  const topics = resolve(job.selections.topic, topicNames);
  const tickers = resolve(job.selections.ticker, tickerCodes);

  const problems = [
    ...countries.unknown.map(({ text, index }) =>
      problem(
        job,
        'countries',
        index,
        `found "${text}", expected a country code that the service lists`,
        nearestCountry(text, lookups),
      ),
    ),
    ...topics.unknown.map(({ text, index }) =>
      problem(
        job,
        'topics',
        index,
        `found "${text}", expected a topic that the service lists`,
        nearestTopic(text, topicNames),
      ),
    ),
    ...tickers.unknown.map(({ text, index }) =>
      problem(
        job,
        'tickers',
        index,
        `found "${text}", expected a ticker that the service lists`,
        nearestTicker(text, lookups),
      ),
    ),
  ];
  if (problems.length > 0) throw new JobFileError(job.path, problems);

  const { matchType, variants } = job;
  return countries.names.flatMap((country) =>
    topics.names.flatMap((topic) =>
      tickers.names.flatMap((ticker) =>
        variants.map((variant) => ({ country, topic, ticker, matchType, variant })),
      ),
    ),
  );
}

interface Resolved {
  readonly names: readonly string[];
  readonly unknown: readonly { readonly text: string; readonly index: number }[];
}

function resolve(selection: Selection | undefined, listed: readonly string[]): Resolved {
  // The feed is not by this dimension: everything is in the one empty place.
  if (selection === undefined) return { names: [''], unknown: [] };
  if (selection === 'all') return { names: [...new Set(listed)], unknown: [] };
  const matches = selection.map((text, index) => ({ text, index, names: matching(text, listed) }));
  return {
    names: [...new Set(matches.flatMap(({ names }) => names))],
    unknown: matches.filter(({ names }) => names.length === 0),
  };
}

function matching(text: string, listed: readonly string[]): string[] {
  if (listed.includes(text)) return [text];
  const glob = globPattern(text);
  return listed.filter((name) => glob.test(name));
}

/**
 * `*` stands for any characters and `?` for one. Topic names hold slashes, ampersands and spaces, which globs for
 * file paths treat specially, so none of these libraries is right here.
 */
function globPattern(glob: string): RegExp {
  const literal = glob.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su');
}

function problem(
  job: Job,
  list: 'countries' | 'topics' | 'tickers',
  index: number,
  message: string,
  meant: string | undefined,
): JobFileProblem {
  const field = [list, index];
  return { position: job.locate(field), field, message: message + didYouMean(meant) };
}

/** Codes in common use that ISO 3166 has under another two letters. */
const otherCodes: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' };

/** People write a country's name, or its three-letter code, as often as a wrong two-letter code. */
function nearestCountry(text: string, { countries }: Lookups): string | undefined {
  const codeByText = new Map(
    countries.flatMap(({ code, name }) => [[name ?? code, code] as const, [code, code] as const]),
  );
  const other = otherCodes[text.toUpperCase()];
  if (other !== undefined && codeByText.has(other)) return other;
  return codeByText.get(nearest(text, codeByText.keys()) ?? '');
}

function nearestTicker(text: string, { tickers }: Lookups): string | undefined {
  const codeByText = new Map(
    tickers.flatMap(({ code, name }) => [[name ?? code, code] as const, [code, code] as const]),
  );
  return codeByText.get(nearest(text, codeByText.keys()) ?? '');
}

/** Besides the topics, the globs of their categories: for `Inflation`, rather `Inflation-*` than `Elections`. */
function nearestTopic(text: string, topicNames: readonly string[]): string | undefined {
  const categories = topicNames.filter((name) => name.includes('-')).map((name) => `${name.split('-')[0]}-*`);
  return nearest(text, [...topicNames, ...categories]);
}
