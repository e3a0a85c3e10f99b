import type { FeedName } from '../../src/feeds/catalog.ts';
import { aJob } from '../support/run-backfill.ts';

/**
 * What the tests that every feed has to pass need to know of it besides its definition. A feed without a case does not compile.
 * The tests: it is loaded, synced and retracted exactly (test/load/exact-truth.test.ts), repaired (test/load/repair.test.ts),
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
/** Columns that have the names of the fields that they are read from. */
const named = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, name]));
const components = named('sentiment_sum sentiment_abs_sum sentiment_std');
const hours = { topic: 'topic_name', ...named('headline_count') };

const ofHeadlines = ['arrival', 'index-agreement', 'rollups'];
const ofModels = ['score-differences', 'score-sums', 'stuck-scores'];
const ofSums = ['index-sums', 'missing-hours'];
const wrongDeviation: Wrong = ['index-sums', 'sentiment_std = 1.5', 1];

/** What the macro indices have in common. */
const macroIndex: Pick<FeedCase, 'columns' | 'value' | 'unchecked' | 'wrong'> = {
  columns: { ...hours, ...named('sentiment_avg sentiment_sum sentiment_std') },
  value: 'sentiment_avg',
  unchecked: [...ofHeadlines, ...ofModels],
  wrong: [['index-sums', 'sentiment_avg = sentiment_sum / headline_count + 0.5', 1]],
};
const withCountry = { ...macroIndex.columns, country_name: 'country' };

export const feedCases: Readonly<Record<FeedName, FeedCase>> = {
  'gmsi-headlines': {
    job: food,
    series: [us, no],
    columns: named('headline topic_probability directional_positive semantic_negative'),
    value: 'topic_probability',
    unchecked: ofSums,
    wrong: [['score-sums', 'directional_positive = 0.5 + directional_positive', 1]],
  },
  'gmsi-index': {
    job: food,
    series: [
      ...([
        { ...us, sentiment_type: 'directional' },
        { ...us, sentiment_type: 'semantic_sentiment' },
      ] as const),
      { ...no, sentiment_type: 'directional' },
      { ...no, sentiment_type: 'semantic_sentiment' },
    ],
    columns: { ...named('topic_name headline_count'), ...components },
    value: 'sentiment_std',
    unchecked: ['arrival', 'rollups', ...ofModels],
    wrong: [wrongDeviation],
  },
  'regional-index': { job: { parameters: norway }, series: [norway], ...macroIndex, columns: withCountry },
  'global-index': {
    job: { parameters: { model: 'macro_1' } },
    series: [{ model: 'macro_1' }],
    ...macroIndex,
  },
  'macro-headlines': {
    job: { parameters: norway },
    series: [norway],
    columns: { country_name: 'country', topic: 'topic_name', ...named('headline bearish_probability') },
    value: 'bearish_probability',
    unchecked: [...ofHeadlines, ...ofSums],
    wrong: [['score-sums', 'bearish_probability = 0.5 + bearish_probability', 1]],
  },
  'ticker-headlines': {
    job: { tickers },
    series: ofTickers,
    columns: { topic: 'topic_name', ...named('ticker headline bearish_probability') },
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
    columns: { ...hours, ...components },
    value: 'sentiment_std',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [wrongDeviation],
  },
  'ticker-events': {
    job: { tickers },
    series: ofTickers,
    columns: named('event_name direction impact summary'),
    value: 'impact',
    unchecked: [...ofHeadlines, ...ofModels, ...ofSums, 'score-ranges'],
    wrong: [['future-times', "first_seen_at = event_at - interval '1 day'", 1]],
  },
  'ticker-event-headlines': {
    job: { tickers },
    series: ofTickers,
    columns: named('headline event_name event_id event_type'),
    value: 'event_type',
    unchecked: [...ofHeadlines, ...ofModels, ...ofSums],
    wrong: [['score-ranges', 'sentiment_score = 7', 1]],
  },
  'ticker-event-metrics': {
    job: { tickers },
    series: ofTickers,
    columns: { ...named('event_type event_count'), ...components },
    value: 'event_count',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [wrongDeviation],
  },
  'event-metrics-query': {
    job: { body: { tickers, event_types: ['Realised', 'Anticipated'] } },
    series: [{ tickers: tickers.join(), event_types: 'Realised,Anticipated' }],
    columns: { ...named('ticker event_type event_count'), ...components },
    value: 'event_count',
    unchecked: [...ofHeadlines, ...ofModels],
    wrong: [['score-ranges', 'sentiment_abs_sum = -1', 1]],
  },
  'regional-index-query': { job: { body: norway }, series: [norway], ...macroIndex, columns: withCountry },
  'global-index-query': {
    job: { body: { model: 'macro_2' } },
    series: [{ model: 'macro_2' }],
    ...macroIndex,
  },
};

export function aJobOf(feed: FeedName, more: Readonly<Record<string, unknown>>) {
  return aJob({ feed, countries: undefined, topics: undefined, ...feedCases[feed].job, ...more });
}
