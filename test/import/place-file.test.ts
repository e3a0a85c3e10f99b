import { describe, expect, test } from 'vitest';
import type { ListedValues } from '../../src/feeds/reading/other-series.ts';
import { daysCovered, daysNamed } from '../../src/import/file-days.ts';
import { placeFile, type Stated, seriesReader } from '../../src/import/place-file.ts';
import { cases } from '../support/cases.ts';

const unlisted: ListedValues = { country: [], topic: [], ticker: [] };
const nothing: Stated = {
  feed: undefined,
  country: undefined,
  topic: undefined,
  ticker: undefined,
  matchType: undefined,
};

/** @param path folders and file, after the ZIP file if its name ends with `.zip` */
function place(path: string, stated: Partial<Stated> = {}, listed = unlisted) {
  const parts = path.split('/');
  const name = parts.find((part) => part.endsWith('.zip'));
  const archive =
    name === undefined
      ? undefined
      : { path: name, name, subject: '', madeAt: new Date(), servedBy: 'service' as const };
  return placeFile({ parts, archive }, { ...nothing, ...stated }, listed);
}

const wars = 'country=US/topic_name=Wars/match_type=COMBINED';
const uuid = '0a1b2c3d-0000-4000-8000-00000000000f';

describe('a name says the feed, the series and the columns', () => {
  test.each(cases`
    asset_headlines_${uuid}_BZ_COM.zip/match_type=EXPLICIT/any/2023.csv.gz | {"feed": "ticker-headlines", "ticker": "BZ_COM", "match_type": "EXPLICIT", "variant": ""} | {"ticker": "BZ_COM", "match_type": "EXPLICIT"}
    BTC_CRY.zip/index_type=IMPLICIT/topic=Security%2FHacks/part-0.csv.gz | {"feed": "ticker-index", "ticker": "BTC_CRY", "match_type": "IMPLICIT"} | {"ticker": "BTC_CRY", "topic": "Security/Hacks", "index_type": "IMPLICIT"}
    country=US/topic_name=Labour Market-Employment/match_type=COMBINED/2023.csv.gz | {"feed": "gmsi-headlines", "country": "US", "topic": "Labour Market-Employment", "match_type": "COMBINED"} | {"topic_name": "Labour Market-Employment"}
    x/country=US/topic_name=Wars/index_type=COMBINED/sentiment_type=directional/region=EU/a.parquet | {"feed": "gmsi-index", "country": "US", "topic": "Wars", "variant": "sentiment_type=directional"} | {"topic_name": "Wars", "region": "EU"}
    macro_geopolitical_sentiment_${uuid}_Bosnia and Herzegovina.zip/topic_name=Wars/index_type=DOMESTIC/p.c000.csv.gz | {"feed": "regional-index", "match_type": "DOMESTIC", "variant": "country_preset=bosnia+and+herzegovina"} | {"country": "Bosnia and Herzegovina", "topic_name": "Wars"}
    model=macro_2/align_to_period_end=true/macro_geopolitical_sentiment_${uuid}_Japan/topic_name=Wars/index_type=INTERNATIONAL/p.csv | {"variant": "align_to_period_end=true&country_preset=japan&model=macro_2"} | {"country": "Japan", "topic_name": "Wars"}
    sparse=true/BTC_CRY.zip/index_type=IMPLICIT/topic=Hacks/part-0.csv.gz | {"feed": "ticker-index", "ticker": "BTC_CRY", "match_type": "IMPLICIT", "variant": "sparse=true"} | {"ticker": "BTC_CRY", "topic": "Hacks", "index_type": "IMPLICIT"}
  `)('%s', (path, series, columns) => {
    const placed = place(path!);
    expect(placed).toMatchObject({ series: JSON.parse(series!), fromRecords: [], partOf: undefined });
    expect(placed.columns).toEqual(JSON.parse(columns!));
  });

  test('in any normal form, with any space', () => {
    const listed = { ...unlisted, country: ['US'], topic: ['Économie Prix'] };
    const nfd = 'Économie Prix'.normalize('NFD');
    for (const topic of [nfd, 'Économie\u00a0Prix', encodeURIComponent(nfd)]) {
      const folders = `country=US/topic_name=${topic}/source=${'Écho'.normalize('NFD')}/match_type=COMBINED/a.csv`;
      for (const lists of [listed, unlisted])
        expect(place(folders, { topic: 'Économie Prix' }, lists)).toMatchObject({
          series: { topic: 'Économie Prix' },
          columns: { topic_name: 'Économie Prix', source: 'Écho' },
        });
    }
    const fromRecords = place('a.csv', { feed: 'gmsi-headlines', matchType: 'COMBINED' }, listed);
    const record = { country: 'US ', topic_name: nfd };
    expect(seriesReader(fromRecords, listed)(record, {})).toMatchObject({
      country: 'US',
      topic: 'Économie Prix',
    });
  });

  test('the user says what it does not', () => {
    const stated = { feed: 'gmsi-headlines', country: 'US', topic: 'Wars', matchType: 'COMBINED' };
    expect(place('records.ndjson', stated)).toMatchObject({
      series: { country: 'US', topic: 'Wars', match_type: 'COMBINED' },
      columns: { topic_name: 'Wars' },
    });
  });

  test('records of an index get the type that was asked for, as over the API, whoever says it', () => {
    const stated = { feed: 'ticker-index', ticker: 'BTC_CRY' };
    const columns = { ticker: 'BTC_CRY', index_type: 'EXPLICIT' };
    expect(place('a.csv', { ...stated, matchType: 'EXPLICIT' }).columns).toEqual(columns);
    expect(place('index_type=EXPLICIT/a.csv', stated).columns).toEqual(columns);
    expect(place('a.csv', stated).columns).toEqual({ ticker: 'BTC_CRY' });
  });

  test('the records say the rest, and a headline its match type never', () => {
    const { fromRecords } = place('records.csv', { feed: 'gmsi-index' });
    expect(fromRecords).toEqual(['country', 'topic', 'match_type', 'variant']);
    expect(() => place('records.csv', { feed: 'ticker-headlines' })).toThrow(/use --match-type COMBINED/);
  });
});

describe('refuses', () => {
  test.each(cases`
    macro_geopolitical_sentiment_${uuid}_Japan (1).zip/index_type=DOMESTIC/p.csv.gz | {} | use --feed
    topic_name=Wars/index_type=DOMESTIC/p.csv.gz | {} | use --feed
    model=macro_4/a.csv | {"feed": "regional-index"} | "macro_4" is not a model of regional-index: macro_1
    records.csv | {} | use --feed
    ${wars}/a.csv | {"country": "GB"} | --country is GB, but the name of the file says US
    BZ_COM.zip/index_type=EXPLICIT/topic=a/a.csv | {"matchType": "COMBINED"} | --match-type is COMBINED, but the name of the file says EXPLICIT
    BZ_COM.zip/match_type=BOTH/a.csv | {} | "BOTH" is not a match type of ticker-headlines: COMBINED, EXPL
    country=United States/topic_name=Wars/match_type=COMBINED/a.csv | {} | has no country "United States"
    a.csv | {"feed": "event-metrics-query"} | is your own query
  `)('%s', (path, stated, message) => {
    expect(() => place(path!, JSON.parse(stated!))).toThrow(message);
  });

  test('what the service does not list, once its lists are known', () => {
    const listed = { ...unlisted, country: ['US'], topic: ['Wars', 'Elections'] };
    const path = 'country=US/topic_name=War/match_type=COMBINED/a.csv';
    expect(() => place(path, {}, listed)).toThrow('the service has no topic "War"; did you mean "Wars"?');
  });

  test('a record that does not say its model; what folders say of the variant stays', () => {
    const stated = { feed: 'regional-index', matchType: 'COMBINED' };
    const read = seriesReader(place('sparse=true/a.csv', stated), unlisted);
    expect(read({ model: 'macro_3', sparse: 'false' }, { line: 2 }).variant).toBe(
      'model=macro_3&sparse=true',
    );
    expect(() => read({ model: 'macro_4' }, { line: 3 })).toThrow(expect.objectContaining({ line: 3 }));
    expect(() => read({}, { line: 4 })).toThrow(/has no model/);
  });

  test('a record that does not say its series, with its line', () => {
    const read = seriesReader(place('a.csv', { feed: 'gmsi-headlines', matchType: 'COMBINED' }), unlisted);
    expect(read({ country: 'US', topic_name: 'Wars' }, { line: 2 })).toMatchObject({
      country: 'US',
      topic: 'Wars',
    });
    expect(() => read({ country: 'US' }, { line: 3 })).toThrow(
      expect.objectContaining({ line: 3, message: expect.stringContaining('--topic') }),
    );
    expect(() => read({ country: 'Nowhere', topic: 'Wars' }, { line: 4 })).toThrow(
      expect.objectContaining({ line: 4 }),
    );
  });
});

test('headlines of the parts of a match type can be loaded as the whole, and keep their own', () => {
  const path = 'x_BZ_COM.zip/match_type=IMPLICIT/2023.csv.gz';
  expect(place(path, { matchType: 'COMBINED' })).toMatchObject({
    series: { match_type: 'COMBINED' },
    partOf: 'IMPLICIT',
    columns: { match_type: 'IMPLICIT' },
  });
});

const whole = (from: string, to: string) => ({ from, to, areWhole: true });
const partly = (from: string, to: string) => ({ from, to, areWhole: false });

test.each([
  ['2023.csv.gz', whole('2023-01-01', '2023-12-31')],
  ['2024-02.parquet', whole('2024-02-01', '2024-02-29')],
  ['2024-02-29.ndjson', whole('2024-02-29', '2024-02-29')],
  ['year=2023/part-0.csv', whole('2023-01-01', '2023-12-31')],
  ['year=2023/month=5/part-0.csv', whole('2023-05-01', '2023-05-31')],
  ['date=2023-05-14/part-0.csv', whole('2023-05-14', '2023-05-14')],
  ['year=2023/month=05/day=14/part-0.csv', whole('2023-05-14', '2023-05-14')],
  ['year=2023/date=2023-05-14/part-0.csv', whole('2023-05-14', '2023-05-14')],
  ['month=2023-05/day=2023-05-14/part-0.csv', whole('2023-05-14', '2023-05-14')],
  ['year=2023/2023-05.csv', whole('2023-05-01', '2023-05-31')],
  ['year=2023/country=US/part-0.csv', whole('2023-01-01', '2023-12-31')],
  ['language=en/year=2023/part-0.csv', whole('2023-01-01', '2023-12-31')],
  // What is finer than a day, or nobody knows, leaves the days partly held.
  ['date=2023-05-14/hour=10/part-0.csv', partly('2023-05-14', '2023-05-14')],
  ['year=2023/month=05/day=14/hour=10/part-0.csv', partly('2023-05-14', '2023-05-14')],
  ['year=2023/week=7/part-0.csv', partly('2023-01-01', '2023-12-31')],
  ['year=2023/language=en/part-0.csv', partly('2023-01-01', '2023-12-31')],
  ['year=2023/month=13/part-0.csv', partly('2023-01-01', '2023-12-31')],
  ['year=2023/quarter=2/part-0.csv', partly('2023-01-01', '2023-12-31')],
  ['month=05/2023.csv', partly('2023-01-01', '2023-12-31')],
  // Names that contradict each other say no day.
  ['year=2023/2022.csv', whole('2023-01-01', '2022-12-31')],
  ['headlines_2023.csv', undefined],
  ['2023-13.csv', undefined],
  ['9999.csv', undefined],
  ['2023-01-01_2023-06-30.csv', undefined],
  ['month=05/part-0.csv', undefined],
])('the days that %s says', (path, days) => {
  const parts = path.split('/');
  const folders = new Map(parts.slice(0, -1).map((part) => part.split('=') as [string, string]));
  expect(daysNamed(parts.at(-1)!, folders, (name) => name === 'country')).toEqual(days);
});

test.each(cases`
  nothing is stated | - | - | -
  a year that was over | 2025-01-01 2025-12-31 | - | 2025-01-01 2025-12-31
  a year that was not over | 2026-01-01 2026-12-31 | - | -
  a year that had not settled | 2025-01-01 2026-11-17 | - | -
  what the user states, as far as it was settled | - | 2026-01-01 2026-11-19 | 2026-01-01 2026-11-16
  those of the name among them | 2026-01-01 2026-12-31 | 2025-06-01 2026-06-30 | 2026-01-01 2026-06-30
  none if the name is of others | 2024-01-01 2024-12-31 | 2025-01-01 2025-12-31 | -
  none if they are all too new | - | 2026-11-18 2026-11-19 | -
`)('covered are, of a file made on 2026-11-20: %s', (_, ...texts) => {
  const [named, stated, covered] = texts.map((text) => {
    const [from, to] = text.split(' ');
    return to === undefined ? undefined : whole(from!, to);
  });
  expect(daysCovered(named, stated, '2026-11-17')).toEqual(covered && { from: covered.from, to: covered.to });
});

test('an hour of a day covers nothing by its name, and with the days stated that day', () => {
  const hour = partly('2023-05-14', '2023-05-14');
  expect(daysCovered(hour, undefined, '2026-11-17')).toBeUndefined();
  const may = { from: '2023-05-01', to: '2023-05-31' };
  expect(daysCovered(hour, may, '2026-11-17')).toEqual({ from: '2023-05-14', to: '2023-05-14' });
  expect(daysCovered(whole('2023-01-01', '2022-12-31'), may, '2026-11-17')).toBeUndefined();
});
