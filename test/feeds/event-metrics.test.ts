import { describe, expect, test } from 'vitest';
import { eventMetricsQuery, tickerEventMetrics } from '../../src/feeds/event-metrics.ts';

/** Nobody says which fields there are; these are the indices' names. */
const aMetric = (changes: Record<string, unknown> = {}) => ({
  publication_time: '2026-09-01T13:00:00Z',
  event_type: 'Combined',
  event_count: 3,
  sentiment_sum: 1.5,
  sentiment_abs_sum: 1.5,
  sentiment_std: 0.1,
  ...changes,
});

describe.each([tickerEventMetrics, eventMetricsQuery])('a metric of $name', (feed) => {
  const read = (record: unknown) => feed.reader().read(record);
  const id = (changes = {}) => read(aMetric(changes)).row?.entry_id;

  test('becomes a row, column by column', () => {
    const { row } = read(aMetric());
    expect(row).toMatchObject({
      published_at: '2026-09-01T13:00:00Z',
      event_type: 'Combined',
      event_count: 3,
      sentiment_sum: 1.5,
      sentiment_abs_sum: 1.5,
      sentiment_std: 0.1,
      extra: null,
    });
    expect(Object.keys(row!).toSorted()).toEqual(Object.keys(feed.table.columns).toSorted());
  });

  test('is taken with nothing but a time, everything else being kept', () => {
    expect(read({ event_date: '2026-09-01', strength: 'High' }).row).toMatchObject({
      published_at: '2026-09-01T00:00:00Z',
      event_count: null,
      extra: JSON.stringify({ strength: 'High' }),
    });
    expect(read({ strength: 'High' }).rejected).toBe('no readable time');
  });

  test('keeps its id when its values change, and is another one of another type', () => {
    expect(id({ event_count: 4, sentiment_sum: 0 })).toBe(id());
    expect(id({ event_type: 'Realised' })).not.toBe(id());
  });
});

describe('the ticker of a metric', () => {
  test.each(['ticker', 'ticker_id'])('of a query is read from %s, and tells metrics apart', (name) => {
    const read = (ticker: string) => eventMetricsQuery.reader().read(aMetric({ [name]: ticker })).row;
    expect(read('BTC_CRY')).toMatchObject({ ticker: 'BTC_CRY', extra: null });
    expect(read('BTC_CRY')?.entry_id).not.toBe(read('ETH_CRY')?.entry_id);
  });

  test('is the series if one ticker was asked for', () => {
    const { row } = tickerEventMetrics.reader().read(aMetric({ ticker_id: 'BTC_CRY' }));
    expect(row).not.toHaveProperty('ticker');
    expect(row?.extra).toBe(JSON.stringify({ ticker_id: 'BTC_CRY' }));
  });
});
