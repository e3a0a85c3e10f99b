import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { cases } from '../support/cases.ts';
import { jobFromText, refusalOf } from './job-text.ts';

const period = 'start_date: 2026-09-01\n';
const read = (feed: string, keys: string) => jobFromText(`feed: ${feed}\n${keys}${period}`);
const refusal = (feed: string, keys: string) =>
  refusalOf(() => read(feed, keys)).map((line) => line.replace(/ {2,}/g, ' '));
const pairs = 'countries: all\ntopics: all\n';

test.each([...catalog.values()].filter(({ dimensions }) => dimensions.includes('ticker')))(
  '$name is by ticker: a list, globs or all, and by nothing else',
  ({ name }) => {
    expect(read(name, 'tickers: all\n').selections).toEqual({ ticker: 'all' });
    expect(read(name, 'tickers: [BTC_CRY, "*_IND"]\n').selections).toEqual({ ticker: ['BTC_CRY', '*_IND'] });
    expect(refusal(name, '')).toEqual([
      `jobs/test.yaml:1:1 tickers missing, expected all, or a list: feed ${name} is by ticker`,
    ]);
    expect(refusal(name, 'tickers: all\ncountries: [US]\ntopics: all\n')).toEqual([
      `jobs/test.yaml:3:12 countries found a list, expected nothing here: feed ${name} is by ticker`,
      `jobs/test.yaml:4:9 topics found "all", expected nothing here: feed ${name} is by ticker`,
    ]);
  },
);

/** A feed, the keys of a job for it, one a line, and what the refusal says. */
const refused = cases`
  gmsi-index | countries: all & topics: all & tickers: [BTC_CRY]
      | 4:10 tickers found a list, expected nothing here: feed gmsi-index is by country and topic
  event-metrics-query | body: { a: 1 } & tickers: [BTC_CRY] | 3:10 tickers found a list, expected nothing here: feed
      event-metrics-query is requested as a whole
  ticker-events | tickers: all & match_type: COMBINED | 3:13 match_type found "COMBINED", expected nothing here: feed
      ticker-events has no match type
  ticker-index | tickers: all & match_type: EXPLICT | 3:13 match_type found "EXPLICT"; did you mean "EXPLICIT"? Expected one of
      COMBINED, EXPLICIT, IMPLICIT (service.match_types adds others)
  gmsi-index | countries: all & topics: all & match_type: Domestic
      | 4:13 match_type found "Domestic"; did you mean "DOMESTIC"? Expected one of COMBINED, DOMESTIC, INTERNATIONAL
      (service.match_types adds others)
  ticker-index | tickers: all & parameters: { limit: x } | 3:22 parameters.limit found "x", expected no limit here: the job's
      other keys already set it
  ticker-index | tickers: all & parameters: { index_type: x }
      | 3:27 parameters.index_type found "x", expected no index_type here: the job's other keys already set it
  ticker-events | tickers: all & service: { parameters: { next_token: after } } & parameters: { after: x }
      | 4:22 parameters.after found "x", expected no after here: the job's other keys already set it
  gmsi-headlines | countries: all & topics: all & parameters: { language_preset: ALL }
      | 4:32 parameters.language_preset found "ALL", expected no language_preset here: rows of gmsi.headlines have no column for
      it
  event-metrics-query | | 1:1 body missing, expected the body that feed event-metrics-query sends, a map
  event-metrics-query | body: BTC_CRY | 2:7 body found "BTC_CRY", expected a map, sent as JSON
  event-metrics-query | body: { limit: 10 } | 2:16 body.limit found 10, expected no limit here: the job's other keys already set
      it
  event-metrics-query | body: { a: 1 } & parameters: { event_type: x }
      | 3:27 parameters.event_type found "x", expected no event_type here: feed event-metrics-query takes it in its body
  ticker-events | tickers: all & body: { a: 1 } | 3:7 body found a map, expected nothing here: feed ticker-events sends no body
  ticker-events | tickers: all & fields: { impct: x } | 3:11 fields.impct unknown; did you mean "impact"?
  asset-headlines | tickers: [BTC_CRY] & sources: [x] | 1:7 feed found "asset-headlines", which is retired. The service removed
      it on 2026-05-01. Load "feed: ticker-headlines" with the same tickers; gmsi sync reads its live feed.
`;

test.each(refused)('a job for %s with the keys "%s" is refused: %s', (feed, keys, line) => {
  const text = keys!
    .split(' & ')
    .map((key) => `${key}\n`)
    .join('');
  expect(refusal(feed!, text.trimStart())).toEqual([`jobs/test.yaml:${line}`]);
});

test.each(['[]', '{ a: 1 }', '[[1]]', ''])('the value %j is refused for a parameter', (value) => {
  expect(refusal('ticker-events', `tickers: all\nparameters:\n  event_type: ${value}\n`)).toEqual([
    expect.stringMatching(
      /^jobs\/test\.yaml:4:\d+ parameters\.event_type\S* found .+, expected a value \(text, a number, true or false\)/,
    ),
  ]);
});

test.each(['bullish_probability', 'extra'])('%s, which nothing is read into, is no field', (column) => {
  expect(refusal('ticker-events', `tickers: all\nfields:\n  ${column}: x\n`)).toEqual([
    expect.stringContaining(`4:3 fields.${column} unknown, expected one of event_id, event_at,`),
  ]);
});

test('a job may set the match type, the body and the fields of its feed', () => {
  expect(read('ticker-index', 'tickers: all\n').matchType).toBe('COMBINED');
  expect(read('ticker-index', 'tickers: all\nmatch_type: IMPLICIT\n').matchType).toBe('IMPLICIT');
  expect(read('ticker-events', 'tickers: all\n').matchType).toBe('');
  expect(read('event-metrics-query', 'body: { tickers: [BTC_CRY] }\n')).toMatchObject({
    selections: {},
    body: { tickers: ['BTC_CRY'] },
  });
  const fields = 'fields: { impact: [strength, weight] }\n';
  expect(read('ticker-events', `tickers: all\n${fields}`).fields).toEqual({ impact: ['strength', 'weight'] });
});

describe('further parameters', () => {
  const variants = (keys: string, feed = 'ticker-index') => read(feed, `tickers: all\n${keys}`).variants;

  test('may be texts, numbers and truth values', () => {
    const parameters =
      'parameters: { topic_preset: ALL, abs_sentiment_threshold: 0.5, sparse: false, none: "" }\n';
    expect(variants(parameters)).toEqual(['abs_sentiment_threshold=0.5&none=&sparse=false&topic_preset=ALL']);
  });

  test('of lists each combination is a series of its own', () => {
    expect(variants('parameters: { sparse: [true, false], topic_preset: [ALL, Supply] }\n')).toEqual([
      'sparse=true&topic_preset=ALL',
      'sparse=true&topic_preset=Supply',
      'sparse=false&topic_preset=ALL',
      'sparse=false&topic_preset=Supply',
    ]);
  });

  test('replace those that the feed asks for by itself; the others stay', () => {
    const types = ['sentiment_type=directional', 'sentiment_type=semantic_sentiment'];
    const ofIndex = (keys = '') => read('gmsi-index', `${pairs}${keys}`).variants;
    expect(ofIndex()).toEqual(types);
    expect(ofIndex('parameters: { sentiment_type: directional }\n')).toEqual([types[0]]);
    expect(ofIndex('parameters: { align_to_period_end: true }\n')).toEqual(
      types.map((type) => `align_to_period_end=true&${type}`),
    );
    expect(read('regional-index', 'parameters: { country_preset: united states }\n').variants).toEqual(
      ['macro_1', 'macro_2', 'macro_3'].map((model) => `country_preset=united+states&model=${model}`),
    );
  });

  test('may have a name that the pipeline sends only elsewhere', () => {
    expect(variants('parameters: { match_type: X }\n', 'ticker-events')).toEqual(['match_type=X']);
  });
});
