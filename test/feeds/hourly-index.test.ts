import { describe, expect, test } from 'vitest';
import { gmsiIndex } from '../../src/feeds/gmsi-index.ts';
import { regionalIndex } from '../../src/feeds/macro-indices.ts';
import { tickerIndex } from '../../src/feeds/ticker-index.ts';

/** As docs/service.md has them ("Index feeds", "Asset feeds"). */
const anHour = (changes: Record<string, unknown> = {}) => ({
  publication_time: '2026-09-01T13:00:00',
  topic_name: 'Inflation-Food',
  headline_count: 4,
  sentiment_sum: -1.5,
  sentiment_abs_sum: 2.5,
  sentiment_std: 0.25,
  ...changes,
});

describe.each([
  { feed: gmsiIndex, topicColumn: 'topic_name', own: {}, columns: {} },
  {
    feed: tickerIndex,
    topicColumn: 'topic',
    own: { index_type: 'COMBINED' },
    columns: { record_match_type: 'COMBINED' },
  },
  {
    feed: regionalIndex,
    topicColumn: 'topic',
    own: { country: 'Japan', sentiment_avg: -0.375 },
    columns: { country_name: 'Japan', sentiment_avg: -0.375 },
  },
])('an hour of $feed.name', ({ feed, topicColumn, own, columns }) => {
  const read = (record: object) => feed.reader().read({ ...own, ...record });
  const id = (changes = {}) => read(anHour(changes)).row?.entry_id;

  test('becomes a row, column by column', () => {
    const { row } = read(anHour());
    expect(row).toMatchObject({
      entry_id: expect.any(String),
      published_at: '2026-09-01T13:00:00Z',
      [topicColumn]: 'Inflation-Food',
      headline_count: 4,
      sentiment_sum: -1.5,
      sentiment_abs_sum: 2.5,
      sentiment_std: 0.25,
      ...columns,
      extra: null,
    });
    expect(Object.keys(row!)).toEqual(Object.keys(feed.table.columns));
  });

  test('has no deviation if it says so, and no other value that is no number', () => {
    const { row, ...more } = read(anHour({ sentiment_std: 'NaN' }));
    expect([row?.sentiment_std, more]).toEqual([null, {}]);
    expect(read(anHour({ sentiment_sum: 'NaN', headline_count: 'nan' })).rejected).toBe(
      'no readable headline_count, sentiment_sum',
    );
  });

  test('keeps its id when its values change, so that the change is seen', () => {
    expect(id({ headline_count: 5, sentiment_sum: 0, sentiment_std: null, added: 1 })).toBe(id());
    expect(id({ publication_time: '2026-09-01T13:00:00+00:00' })).toBe(id());
  });

  test('is another one at another time or of another topic', () => {
    expect(id({ publication_time: '2026-09-01T14:00:00' })).not.toBe(id());
    expect(id({ topic_name: 'Wars' })).not.toBe(id());
    expect(id({ topic_name: null })).not.toBe(id());
  });

  test.each([{ ticker: 'BTC_CRY' }, { ticker_id: 'BTC_CRY' }])('keeps %j of a record', (asset) => {
    expect(read(anHour(asset)).row?.extra).toBe(JSON.stringify(asset));
    expect(id(asset)).toBe(id());
  });

  test('keeps a count that is not whole in extra', () => {
    expect(read(anHour({ headline_count: 1.5 })).row).toMatchObject({
      headline_count: null,
      extra: '{"headline_count":1.5}',
    });
  });

  test('is rejected without components, an hour of none is not', () => {
    const none = { headline_count: null, sentiment_sum: null, sentiment_abs_sum: null };
    expect(read(anHour(none)).rejected).toBe('no sentiment components');
    expect(read(anHour({ ...none, headline_count: 0 })).row).toMatchObject({ headline_count: 0 });
  });
});

test('hours of two countries, or of two index types, stay apart; one without a country is rejected, not mixed up', () => {
  const regional = (country: string | null) => regionalIndex.reader().read(anHour({ country }));
  expect(regional('Japan').row!.entry_id).not.toBe(regional('France').row!.entry_id);
  expect(regional(null).rejected).toBe('no country');
  const ofTicker = (index_type: string) => tickerIndex.reader().read(anHour({ index_type })).row!.entry_id;
  expect(ofTicker('EXPLICIT')).not.toBe(ofTicker('IMPLICIT'));
});
