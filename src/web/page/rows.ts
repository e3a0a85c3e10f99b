import type * as contents from '../../warehouse/questions/contents.ts';
import type * as coverage from '../../warehouse/questions/coverage.ts';
import type * as headlines from '../../warehouse/questions/headlines.ts';
import type * as indices from '../../warehouse/questions/indices.ts';
import type { Question } from '../../warehouse/questions/reading.ts';
import type * as runs from '../../warehouse/questions/runs.ts';
import type * as sentiment from '../../warehouse/questions/sentiment.ts';
import type { JobShown } from '../jobs.ts';

/** The question that each endpoint of the API answers, or a function that returns it. */
interface Questions {
  readonly alerts: typeof runs.openAlerts;
  readonly checks: typeof runs.lastChecks;
  readonly coverage: typeof coverage.coverageOfSeries;
  readonly 'coverage/days': typeof coverage.coveredDays;
  readonly failures: typeof coverage.failuresByCause;
  readonly feeds: typeof contents.loadedFeeds;
  readonly 'feeds/subjects': typeof indices.feedSubjects;
  readonly fields: typeof runs.fieldChanges;
  readonly headlines: typeof headlines.headlinesOf;
  readonly 'headlines/stories': typeof headlines.storiesOf;
  readonly 'headlines/versions': typeof headlines.versionsOf;
  readonly index: typeof indices.indexOverTime;
  readonly jobs: Question<JobShown>;
  readonly loads: typeof runs.lastLoads;
  readonly 'loads/known': typeof contents.knownSince;
  readonly moments: typeof contents.namedMoments;
  readonly news: typeof indices.feedNews;
  readonly origin: typeof contents.servedBy;
  readonly requests: typeof runs.requestsByKey;
  readonly sentiment: typeof sentiment.sentimentOverTime;
  readonly 'sentiment/changes': typeof sentiment.sentimentChanges;
  readonly 'sentiment/countries': typeof sentiment.sentimentByCountry;
  readonly 'sentiment/topics': typeof sentiment.sentimentByTopic;
  readonly series: typeof contents.listedSeries;
  readonly 'series/fullest': typeof contents.fullestSeries;
  readonly windows: typeof coverage.windowsOfSeries;
  readonly workers: typeof runs.livingWorkers;
}

/** The path of an endpoint. */
export type Path = keyof Questions;

type Found<Asked> =
  Asked extends Question<infer One>
    ? One
    : Asked extends (...given: never[]) => Question<infer One>
      ? One
      : never;

/** A row in JSON: moments are texts. */
type Wire<One> = {
  readonly [Name in keyof One]: One[Name] extends Date
    ? string
    : One[Name] extends Date | null
      ? string | null
      : One[Name];
};

/** A row of an endpoint's answer. */
export type Row<Of extends Path> = Wire<Found<Questions[Of]>>;

/** Groups rows by a text, in the order of the first row of each group. */
export function groupedBy<One>(
  rows: readonly One[],
  keyOf: (row: One) => string,
): Map<string, readonly [One, ...One[]]> {
  const groups = new Map<string, [One, ...One[]]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

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
