import type { FeedName } from '../../src/feeds/catalog.ts';
import { aJob } from '../support/run-backfill.ts';

/**
 * What the tests that every feed has to pass need to know of it besides its definition. A feed without a case does not compile.
 * The tests: it is loaded, synced and retracted exactly (test/load/every-feed.test.ts), repaired (test/load/repair.test.ts),
 * exported (test/export/export-table.test.ts), checked (test/check/built-in.test.ts) and served (test/sandbox).
 */
export interface FeedCase {
  /** What a job says besides its days, to ask for a few series. */
  readonly job: Readonly<Record<string, unknown>>;
  /** The same series, as the sandbox is asked for them. */
  readonly series: readonly [Query, ...Query[]];
  /** Columns beside the fields of the sandbox's records that they are read from. */
  readonly columns: Readonly<Record<string, string>>;
  /** One of these columns that no identity is made of. */
  readonly value: string;
  /** The checks that cannot apply to it. */
  readonly unchecked: readonly string[];
  /** What makes its first row wrong, beside the check that finds it, and how often. */
  readonly wrong: readonly [Wrong, ...Wrong[]];
}

type Query = Readonly<Record<string, string>>;
type Wrong = readonly [check: string, set: string, findings: number];

const tickers = ['BTC_CRY', 'BZ_COM'];
const ofTickers: [Query, Query] = [{ ticker: 'BTC_CRY' }, { ticker: 'BZ_COM' }];
const food = { countries: ['US', 'NO'], topics: ['Inflation-Food'] };
const [us, no] = [
  { country: 'US', topic: 'Inflation-Food' },
  { country: 'NO', topic: 'Inflation-Food' },
];
const norway = { model: 'macro_1', country_preset: 'norway' };
const components = {
  sentiment_sum: 'sentiment_sum',
  sentiment_abs_sum: 'sentiment_abs_sum',
  sentiment_std: 'sentiment_std',
};

const ofHeadlines = ['index-agreement', 'rollups'];
const ofModels = ['score-differences', 'score-sums', 'stuck-scores'];
const ofSums = ['index-sums', 'missing-hours'];

export const feedCases: Readonly<Record<FeedName, FeedCase>> = {
  'gmsi-headlines': {
    job: food,
    series: [us, no],
    columns: {
      headline: 'headline',
      topic_probability: 'topic_probability',
      directional_positive: 'directional_positive',
      semantic_negative: 'semantic_negative',
    },
    value: 'topic_probability',
    unchecked: ofSums,
    wrong: [['score-sums', 'directional_positive = 0.5 + directional_positive', 1]],
  },
  'gmsi-index': {
    job: food,
    series: [
      { ...us, sentiment_type: 'directional' },
      { ...us, sentiment_type: 'semantic_sentiment' },
      { ...no, sentiment_type: 'directional' },
      { ...no, sentiment_type: 'semantic_sentiment' },
    ],
    columns: { topic_name: 'topic_name', headline_count: 'headline_count', ...components },
    value: 'sentiment_std',
    unchecked: ['rollups', ...ofModels],
    wrong: [['index-sums', 'sentiment_std = 1.5', 1]],
  },
  'regional-index': {
    job: { parameters: norway },
    series: [norway],
    columns: {
      country_name: 'country',
      topic: 'topic_name',
      headline_count: 'headline_count',
      sentiment_avg: 'sentiment_avg',
      sentiment_sum: 'sentiment_sum',
      sentiment_std: 'sentiment_std',
    },
    value: 'sentiment_std',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_avg = sentiment_sum / headline_count + 0.5', 1]],
  },
  'global-index': {
    job: { parameters: { model: 'macro_1' } },
    series: [{ model: 'macro_1' }],
    columns: {
      topic: 'topic_name',
      headline_count: 'headline_count',
      sentiment_avg: 'sentiment_avg',
      sentiment_sum: 'sentiment_sum',
      sentiment_std: 'sentiment_std',
    },
    value: 'sentiment_std',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_avg = sentiment_sum / headline_count + 0.5', 1]],
  },
  'macro-headlines': {
    job: { parameters: norway },
    series: [norway],
    columns: {
      country_name: 'country',
      headline: 'headline',
      topic: 'topic_name',
      bearish_probability: 'bearish_probability',
    },
    value: 'bearish_probability',
    unchecked: [...ofHeadlines, ...ofSums],
    wrong: [['score-sums', 'bearish_probability = 0.5 + bearish_probability', 1]],
  },
  'ticker-headlines': {
    job: { tickers },
    series: ofTickers,
    columns: {
      ticker: 'ticker',
      headline: 'headline',
      topic: 'topic_name',
      bearish_probability: 'bearish_probability',
    },
    value: 'bearish_probability',
    unchecked: [...ofHeadlines, ...ofSums],
    wrong: [
      ['score-sums', 'bearish_probability = 0.5 + bearish_probability', 1],
      ['score-ranges', 'bearish_probability = 2, sentiment_score = -2', 2],
      ['score-differences', 'sentiment_score = sentiment_score + 0.1', 1],
    ],
  },
  'ticker-index': {
    job: { tickers },
    series: ofTickers,
    columns: { topic: 'topic_name', headline_count: 'headline_count', ...components },
    value: 'sentiment_std',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_std = 1.5', 1]],
  },
  'ticker-events': {
    job: { tickers },
    series: ofTickers,
    columns: { event_name: 'event_name', direction: 'direction', impact: 'impact', summary: 'summary' },
    value: 'impact',
    unchecked: [...ofHeadlines, ...ofModels, ...ofSums, 'score-ranges'],
    wrong: [['future-times', "first_seen_at = event_at - interval '1 day'", 1]],
  },
  'ticker-event-headlines': {
    job: { tickers },
    series: ofTickers,
    columns: {
      headline: 'headline',
      event_name: 'event_name',
      event_id: 'event_id',
      event_type: 'event_type',
    },
    value: 'event_type',
    unchecked: [...ofHeadlines, ...ofModels, ...ofSums],
    wrong: [['score-ranges', 'sentiment_score = 7', 1]],
  },
  'ticker-event-metrics': {
    job: { tickers },
    series: ofTickers,
    columns: { event_type: 'event_type', event_count: 'event_count', ...components },
    value: 'event_count',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_std = 1.5', 1]],
  },
  'event-metrics-query': {
    job: { body: { tickers, event_types: ['Realised', 'Anticipated'] } },
    series: [{ tickers: tickers.join(), event_types: 'Realised,Anticipated' }],
    columns: { ticker: 'ticker', event_type: 'event_type', event_count: 'event_count', ...components },
    value: 'event_count',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['score-ranges', 'sentiment_abs_sum = -1', 1]],
  },
  'regional-index-query': {
    job: { body: norway },
    series: [norway],
    columns: {
      country_name: 'country',
      topic: 'topic_name',
      headline_count: 'headline_count',
      sentiment_avg: 'sentiment_avg',
      sentiment_sum: 'sentiment_sum',
    },
    value: 'sentiment_avg',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_avg = sentiment_sum / headline_count + 0.5', 1]],
  },
  'global-index-query': {
    job: { body: { model: 'macro_2' } },
    series: [{ model: 'macro_2' }],
    columns: {
      topic: 'topic_name',
      headline_count: 'headline_count',
      sentiment_avg: 'sentiment_avg',
      sentiment_sum: 'sentiment_sum',
    },
    value: 'sentiment_avg',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['index-sums', 'sentiment_avg = sentiment_sum / headline_count + 0.5', 1]],
  },
};

/** A job for the series of a feed's case. */
export function aJobOf(feed: FeedName, more: Readonly<Record<string, unknown>>) {
  return aJob({ feed, countries: undefined, topics: undefined, ...feedCases[feed].job, ...more });
}
