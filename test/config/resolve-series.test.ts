import { describe, expect, test } from 'vitest';
import { resolveSeries, variantsOf } from '../../src/config/resolve-series.ts';
import { eventMetricsQuery } from '../../src/feeds/event-metrics.ts';
import { tickerEvents } from '../../src/feeds/ticker-events.ts';
import { aJob, jobFromText, refusalOf } from './job-text.ts';

const lookups = {
  countries: [
    { code: 'DE', name: 'Germany' },
    { code: 'GB', name: 'United Kingdom' },
    { code: 'NO', name: 'Norway' },
    { code: 'US', name: 'United States' },
  ],
  topics: [
    { name: 'Elections' },
    { name: 'Governance/Corruption' },
    { name: 'Inflation-Energy' },
    { name: 'Inflation-Food' },
    { name: 'Labour Market-Employment' },
    { name: 'Policy Reform & Legislation' },
  ],
  tickers: [
    { code: 'BTC_CRY', name: 'Bitcoin' },
    { code: 'ETH_CRY', name: 'Ether' },
    { code: 'BZ_COM', name: null },
  ],
  unlisted: {
    country: [{ name: 'FR', feeds: ['gmsi-headlines'] }],
    topic: [
      { name: 'Inflation-Rent', feeds: ['gmsi-headlines'] },
      { name: 'Inflation-Tea', feeds: ['gmsi-index'] },
    ],
    ticker: [],
  },
};
const countriesOf = (selection: string) => [
  ...new Set(resolveSeries(aJob({ countries: selection }), lookups).map(({ country }) => country)),
];
const topicsOf = (selection: string) =>
  resolveSeries(aJob({ countries: '[US]', topics: selection }), lookups).map(({ topic }) => topic);
const refusal = (keys: Readonly<Record<string, string>>) =>
  refusalOf(() => resolveSeries(aJob(keys), lookups));

describe('what a job selects', () => {
  test('every country is crossed with every topic, in the order of the job', () => {
    const job = aJob({
      countries: '[US, DE]',
      topics: '[Inflation-Food, Elections]',
      match_type: 'DOMESTIC',
    });
    const series = { feed: 'gmsi-headlines', match_type: 'DOMESTIC', ticker: '', variant: '' };
    expect(resolveSeries(job, lookups)).toEqual([
      { ...series, country: 'US', topic: 'Inflation-Food' },
      { ...series, country: 'US', topic: 'Elections' },
      { ...series, country: 'DE', topic: 'Inflation-Food' },
      { ...series, country: 'DE', topic: 'Elections' },
    ]);
  });

  test('all is what the lookup lists, in its order, and what it has listed and the feed has loaded', () => {
    expect(countriesOf('all')).toEqual(['DE', 'GB', 'NO', 'US', 'FR']);
    expect(topicsOf('all')).toEqual([...lookups.topics.map(({ name }) => name), 'Inflation-Rent']);
  });

  test.each([
    ['["Inflation-*"]', ['Inflation-Energy', 'Inflation-Food', 'Inflation-Rent']],
    ['[Inflation-Tea, "Elect*"]', ['Inflation-Tea', 'Elections']],
    ['["*/*"]', ['Governance/Corruption']],
    ['["* & *"]', ['Policy Reform & Legislation']],
    ['["Inflation-Foo?"]', ['Inflation-Food']],
    ['["Elections*"]', ['Elections']],
    ['["*"]', [...lookups.topics.map(({ name }) => name), 'Inflation-Rent']],
  ])('the glob %s', (selection, topics) => {
    expect(topicsOf(selection)).toEqual(topics);
  });

  test('a name in another normal form, or with a no-break space, is the name that the service lists', () => {
    const listed = { ...lookups, topics: [{ name: 'Économie-Prix' }, { name: 'Elections' }] };
    const topics = (names: string) =>
      resolveSeries(aJob({ countries: '[US]', topics: names }), listed).map(({ topic }) => topic);
    expect(topics(`["${'Économie-Prix'.normalize('NFD')}"]`)).toEqual(['Économie-Prix']);
    expect(topics(`["${'Éco*'.normalize('NFD')}"]`)).toEqual(['Économie-Prix']);
    expect(topicsOf('["Labour\u00a0Market-Employment"]')).toEqual(['Labour Market-Employment']);
    const part = { ...aJob({ topics: 'all' }), only: { topic: ['Policy\u00a0Reform &  Legislation'] } };
    expect(resolveSeries(part, lookups).map(({ topic }) => topic)).toContain('Policy Reform & Legislation');
  });

  test('what is selected twice comes once, at its first place', () => {
    expect(topicsOf('[Inflation-Food, "Inflation-*", Inflation-Food]')).toEqual([
      'Inflation-Food',
      'Inflation-Energy',
      'Inflation-Rent',
    ]);
  });
});

describe('tickers', () => {
  const job = (selection: string, more = '') =>
    jobFromText(`feed: ticker-headlines\ntickers: ${selection}\nstart_date: 2026-09-01\n${more}`);
  const tickersOf = (selection: string) => resolveSeries(job(selection), lookups).map(({ ticker }) => ticker);

  test.each([
    ['all', ['BTC_CRY', 'ETH_CRY', 'BZ_COM']],
    ['["*_CRY"]', ['BTC_CRY', 'ETH_CRY']],
    ['[BZ_COM, "B*"]', ['BZ_COM', 'BTC_CRY']],
  ])('%s', (selection, tickers) => {
    expect(tickersOf(selection)).toEqual(tickers);
  });

  test('are crossed with the variants, and have neither country nor topic', () => {
    const parameters = 'parameters: { topic_preset: [ALL, Supply] }\n';
    const series = { feed: 'ticker-headlines', ticker: 'BZ_COM', match_type: 'COMBINED' };
    expect(resolveSeries(job('[BZ_COM]', parameters), lookups)).toEqual([
      { ...series, country: '', topic: '', variant: 'topic_preset=ALL' },
      { ...series, country: '', topic: '', variant: 'topic_preset=Supply' },
    ]);
  });

  test.each([
    ['BTC_CYR', 'BTC_CRY'],
    ['btc_cry', 'BTC_CRY'],
    ['Bitcoin', 'BTC_CRY'],
    ['BZ', 'BZ_COM'],
    ['*_COMM', 'BZ_COM'],
  ])('%s is refused for %s', (found, meant) => {
    expect(refusalOf(() => tickersOf(`[ETH_CRY, "${found}"]`))).toEqual([
      `jobs/test.yaml:2:20  tickers[1]  found "${found}"; did you mean "${meant}"? Expected a ticker that the service lists`,
    ]);
  });
});

describe('what no lookup lists', () => {
  test.each([
    ['UK', 'GB'],
    ['Germany', 'DE'],
    ['Germny', 'DE'],
    ['de', 'DE'],
    ['USA', 'US'],
    ['GBR', 'GB'],
    ['DEU', 'DE'],
    ['N0', 'NO'],
  ])('%s is refused for %s', (found, meant) => {
    expect(refusal({ countries: `[US, ${found}]` })).toEqual([
      `jobs/test.yaml:1:17  countries[1]  found "${found}"; did you mean "${meant}"? ` +
        'Expected a country code that the service lists',
    ]);
  });

  test.each([
    ['Inflation', 'Inflation-*'],
    ['inflation-food', 'Inflation-Food'],
    ['Labor Market-*', 'Labour Market-*'],
    ['Labor*', 'Labour Market-*'],
    ['Employment', 'Labour Market-Employment'],
    ['Policy Reform and Legislation', 'Policy Reform & Legislation'],
  ])('%s is refused for %s', (found, meant) => {
    expect(refusal({ topics: `["${found}"]` })).toEqual([
      `jobs/test.yaml:2:10  topics[0]  found "${found}"; did you mean "${meant}"? Expected a topic that the service lists`,
    ]);
  });

  test('a dot in a name is a dot, and a glob has to match the whole name', () => {
    expect(refusal({ topics: '["Election.", "nflation-*"]' })).toHaveLength(2);
  });

  test('everything that is not listed is reported at once, with its line', () => {
    const keys = { countries: '\n  - US\n  - XQZW\n', topics: '[Tariffs, Elections, Wars]' };
    expect(refusal(keys)).toEqual([
      'jobs/test.yaml:3:5   countries[1]  found "XQZW", expected a country code that the service lists',
      'jobs/test.yaml:5:10  topics[0]     found "Tariffs", expected a topic that the service lists',
      'jobs/test.yaml:5:30  topics[2]     found "Wars", expected a topic that the service lists',
    ]);
  });
});

describe('variants of a job', () => {
  test('are the same in whatever order the parameters are written', () => {
    const one = variantsOf(tickerEvents, { parameters: { b: ['1'], a: ['2', '3'] } });
    expect(one).toEqual(['a=2&b=1', 'a=3&b=1']);
    expect(variantsOf(tickerEvents, { parameters: { a: ['2', '3'], b: ['1'] } })).toEqual(one);
  });

  test('a value that is written twice is asked for once', () => {
    expect(variantsOf(tickerEvents, { parameters: { a: ['1', '1'] } })).toEqual(['a=1']);
  });

  test('values that hold separators stay apart', () => {
    const variants = variantsOf(tickerEvents, { parameters: { a: ['x&b=1', 'x'], b: ['1'] } });
    expect(new Set(variants).size).toBe(2);
    expect(Object.fromEntries(new URLSearchParams(variants[0]))).toEqual({ a: 'x&b=1', b: '1' });
  });

  test('a body is one by its content, not by the order of its keys', () => {
    const of = (body: Record<string, unknown>) => variantsOf(eventMetricsQuery, { parameters: {}, body });
    expect(of({ tickers: ['A', 'B'], deep: { x: 1, y: 2 } })).toEqual(
      of({ deep: { y: 2, x: 1 }, tickers: ['A', 'B'] }),
    );
    expect(of({ tickers: ['A', 'B'] })).not.toEqual(of({ tickers: ['B', 'A'] }));
  });
});
