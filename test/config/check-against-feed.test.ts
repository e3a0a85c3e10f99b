import { describe, expect, test } from 'vitest';
import { jobFileJsonSchema } from '../../src/config/json-schema.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { jobFromText, refusalOf } from './job-text.ts';

const period = 'start_date: 2026-09-01\n';
const read = (feed: string, keys: string) => jobFromText(`feed: ${feed}\n${keys}${period}`);
const refusal = (feed: string, keys: string) =>
  refusalOf(() => read(feed, keys)).map((line) => line.replace(/ {2,}/g, ' '));

const byTicker = [...catalog.values()]
  .filter(({ dimensions }) => dimensions.includes('ticker'))
  .map(({ name }) => name);

describe('what a job selects by', () => {
  test.each(byTicker)('%s takes tickers, as a list, globs or all', (feed) => {
    expect(read(feed, 'tickers: all\n').selections).toEqual({ ticker: 'all' });
    expect(read(feed, 'tickers: [BTC_CRY, "*_IND"]\n').selections).toEqual({ ticker: ['BTC_CRY', '*_IND'] });
  });

  test.each(byTicker)('%s needs tickers', (feed) => {
    expect(refusal(feed, '')).toEqual([
      `jobs/test.yaml:1:1 tickers missing, expected all, or a list: feed ${feed} is by ticker`,
    ]);
  });

  test.each(byTicker)('%s refuses countries and topics', (feed) => {
    expect(refusal(feed, 'tickers: all\ncountries: [US]\ntopics: all\n')).toEqual([
      `jobs/test.yaml:3:12 countries found a list, expected nothing here: feed ${feed} is by ticker`,
      `jobs/test.yaml:4:9 topics found "all", expected nothing here: feed ${feed} is by ticker`,
    ]);
  });

  test('feeds of countries refuse tickers', () => {
    expect(refusal('gmsi-index', 'countries: all\ntopics: all\ntickers: [BTC_CRY]\n')).toEqual([
      'jobs/test.yaml:4:10 tickers found a list, expected nothing here: feed gmsi-index is by country and topic',
    ]);
  });

  test('the query selects by nothing but its body', () => {
    const body = 'body: { tickers: [BTC_CRY] }\n';
    expect(read('event-metrics-query', body)).toMatchObject({
      selections: {},
      body: { tickers: ['BTC_CRY'] },
    });
    expect(refusal('event-metrics-query', `${body}tickers: [BTC_CRY]\n`)).toEqual([
      'jobs/test.yaml:3:10 tickers found a list, expected nothing here: feed event-metrics-query is requested as a whole',
    ]);
  });
});

describe('the match type', () => {
  test.each([
    ['ticker-headlines', 'tickers: all\n', 'COMBINED, EXPLICIT, IMPLICIT', 'implicit', 'IMPLICIT'],
    ['ticker-index', 'tickers: all\n', 'COMBINED, EXPLICIT, IMPLICIT', 'EXPLICT', 'EXPLICIT'],
    [
      'gmsi-index',
      'countries: all\ntopics: all\n',
      'COMBINED, DOMESTIC, INTERNATIONAL',
      'Domestic',
      'DOMESTIC',
    ],
  ])('of %s is one of its own, the nearest being named', (feed, keys, values, found, meant) => {
    expect(read(feed, keys).matchType).toBe('COMBINED');
    expect(read(feed, `${keys}match_type: ${meant}\n`).matchType).toBe(meant);
    const [line] = refusal(feed, `${keys}match_type: ${found}\n`);
    expect(line).toContain(
      `match_type found "${found}"; did you mean "${meant}"? Expected one of ${values} (service.match_types adds others)`,
    );
  });

  test('is refused if the feed has none', () => {
    expect(read('ticker-events', 'tickers: all\n').matchType).toBe('');
    expect(refusal('ticker-events', 'tickers: all\nmatch_type: COMBINED\n')).toEqual([
      'jobs/test.yaml:3:13 match_type found "COMBINED", expected nothing here: feed ticker-events has no match type',
    ]);
  });
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

  test('replace those that the feed asks for by itself', () => {
    const keys = 'countries: all\ntopics: all\n';
    expect(read('gmsi-index', keys).variants).toEqual([
      'sentiment_type=directional',
      'sentiment_type=semantic_sentiment',
    ]);
    expect(read('gmsi-index', `${keys}parameters: { sentiment_type: directional }\n`).variants).toEqual([
      'sentiment_type=directional',
    ]);
  });

  test('of an index are sent by name, and its own values stay', () => {
    const keys = 'countries: all\ntopics: all\nparameters: { sparse: true, align_to_period_end: true }\n';
    expect(read('gmsi-index', keys).variants).toEqual([
      'align_to_period_end=true&sentiment_type=directional&sparse=true',
      'align_to_period_end=true&sentiment_type=semantic_sentiment&sparse=true',
    ]);
    expect(read('regional-index', 'parameters: { country_preset: united states }\n').variants).toEqual(
      ['macro_1', 'macro_2', 'macro_3'].map((model) => `country_preset=united+states&model=${model}`),
    );
  });

  test.each(['start_date', 'end_date', 'limit', 'next_token', 'index_type'])(
    '%s is sent anyway, and so refused',
    (name) => {
      expect(refusal('ticker-index', `tickers: all\nparameters: { ${name}: x }\n`)).toEqual([
        expect.stringContaining(
          `parameters.${name} found "x", expected no ${name} here: the job's other keys already set it`,
        ),
      ]);
    },
  );

  test('a name that the pipeline sends only elsewhere is free', () => {
    expect(read('ticker-events', 'tickers: all\nparameters: { match_type: X }\n').variants).toEqual([
      'match_type=X',
    ]);
  });

  test('a name that the job gives to the cursor is taken', () => {
    const service = 'service: { parameters: { next_token: after } }\n';
    expect(refusal('ticker-events', `tickers: all\n${service}parameters: { after: x }\n`)).toHaveLength(1);
  });

  test('are refused if rows would not say what they were', () => {
    const keys = 'countries: all\ntopics: all\nparameters: { language_preset: ALL }\n';
    expect(refusal('gmsi-headlines', keys)).toEqual([
      'jobs/test.yaml:4:32 parameters.language_preset found "ALL", expected no language_preset here: rows of gmsi.headlines have no column for it',
    ]);
    expect(refusal('gmsi-index', keys)).toEqual([
      expect.stringContaining('no language_preset here: rows of gmsi.gmsi_index have no column for it'),
    ]);
  });

  test.each(['[]', '{ a: 1 }', '[[1]]', ''])('the value %j is refused', (value) => {
    const lines = refusal('ticker-events', `tickers: all\nparameters:\n  event_type: ${value}\n`);
    expect(lines).toEqual([
      expect.stringMatching(
        /^jobs\/test\.yaml:4:\d+ parameters\.event_type\S* found .+, expected a value \(text, a number, true or false\)/,
      ),
    ]);
  });
});

describe('the body', () => {
  test('is what the query cannot be without', () => {
    expect(refusal('event-metrics-query', '')).toEqual([
      'jobs/test.yaml:1:1 body missing, expected the body that feed event-metrics-query sends, a map',
    ]);
    expect(refusal('event-metrics-query', 'body: BTC_CRY\n')).toEqual([
      'jobs/test.yaml:2:7 body found "BTC_CRY", expected a map, sent as JSON',
    ]);
  });

  test('takes what other feeds take as parameters, but not what is sent anyway', () => {
    expect(refusal('event-metrics-query', 'body: { limit: 10 }\nparameters: { event_type: x }\n')).toEqual([
      "jobs/test.yaml:2:16 body.limit found 10, expected no limit here: the job's other keys already set it",
      'jobs/test.yaml:3:27 parameters.event_type found "x", expected no event_type here: feed event-metrics-query takes it in its body',
    ]);
  });

  test('is refused if nothing would send it', () => {
    expect(refusal('ticker-events', 'tickers: all\nbody: { a: 1 }\n')).toEqual([
      'jobs/test.yaml:3:7 body found a map, expected nothing here: feed ticker-events sends no body',
    ]);
  });
});

describe('names of fields', () => {
  test('are taken for columns that the feed reads', () => {
    expect(read('ticker-events', 'tickers: all\nfields: { impact: [strength, weight] }\n').fields).toEqual({
      impact: ['strength', 'weight'],
    });
  });

  test.each([
    ['impct', 'unknown; did you mean "impact"?'],
    ['bullish_probability', 'unknown, expected one of event_id, event_at,'],
    // Filled with what is left over, so that nothing can be read into it.
    ['extra', 'unknown, expected one of event_id, event_at,'],
  ])('are refused for %s, at its line', (column, words) => {
    expect(refusal('ticker-events', `tickers: all\nfields:\n  ${column}: x\n`)).toEqual([
      expect.stringContaining(`jobs/test.yaml:4:3 fields.${column} ${words}`),
    ]);
  });
});

describe('the feed itself', () => {
  test('is refused with its replacement in one line if the service has removed it', () => {
    expect(refusal('asset-headlines', 'tickers: [BTC_CRY]\nsources: [x]\n')).toEqual([
      'jobs/test.yaml:1:7 feed found "asset-headlines", which is retired. The service removed it on 2026-05-01. ' +
        'Load "feed: ticker-headlines" with the same tickers; gmsi sync reads its live feed.',
    ]);
  });

  test('is refused with the nearest one if there is none of that name', () => {
    expect(refusal('ticker-event', 'tickers: all\n')).toEqual([
      expect.stringMatching(
        /^jobs\/test\.yaml:1:7 feed found "ticker-event"; did you mean "ticker-events"\? Expected a feed: .*$/,
      ),
    ]);
  });
});

describe('what an editor gets', () => {
  const { allOf } = jobFileJsonSchema();
  const rulesFor = (feed: string) =>
    allOf.find((rule) => rule.if.properties.feed.const === feed)!.then as {
      required?: string[];
      properties: Record<string, unknown>;
    };

  test('says of every feed what its jobs need and cannot have', () => {
    expect(allOf.map((rule) => rule.if.properties.feed.const)).toEqual([...catalog.keys()]);
    expect(rulesFor('ticker-events')).toEqual({
      required: ['tickers'],
      properties: { countries: false, topics: false, body: false, match_type: false },
    });
    expect(rulesFor('event-metrics-query')).toMatchObject({
      required: ['body'],
      properties: { tickers: false, parameters: false },
    });
    expect(rulesFor('gmsi-index').properties.parameters).toEqual({
      propertyNames: { enum: ['sentiment_type', 'sparse', 'align_to_period_end'] },
      properties: {
        sentiment_type: { examples: ['directional', 'semantic_sentiment'] },
        sparse: {},
        align_to_period_end: {},
      },
    });
  });

  test('applies to a file without a feed what the usual feed needs, and nothing else', () => {
    const withoutFeed = allOf.filter((rule) => !('required' in rule.if));
    expect(withoutFeed.map((rule) => rule.if.properties.feed.const)).toEqual(['gmsi-headlines']);
  });
});
