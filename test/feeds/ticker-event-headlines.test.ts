import { describe, expect, test } from 'vitest';
import { tickerEventHeadlines } from '../../src/feeds/ticker-event-headlines.ts';

const read = (record: unknown) => tickerEventHeadlines.reader().read(record);

/** Nobody says which fields there are; these are the other feeds' names. */
const aHeadline = (changes: Record<string, unknown> = {}) => ({
  publication_time: '2026-09-01T13:00:00Z',
  headline: 'Reward halves',
  event_name: 'Halving',
  ...changes,
});

describe('a headline behind an event', () => {
  test('is read from the names that other feeds use', () => {
    const { row } = read(
      aHeadline({ event_date: '2026-09-02', event_type: 'Realised', topic_name: 'Supply' }),
    );
    expect(row).toMatchObject({
      published_at: '2026-09-01T13:00:00Z',
      headline: 'Reward halves',
      event_name: 'Halving',
      event_at: '2026-09-02T00:00:00Z',
      event_type: 'Realised',
      topic: 'Supply',
      extra: null,
    });
    expect(Object.keys(row!)).toEqual(Object.keys(tickerEventHeadlines.table.columns));
  });

  test('is read with its event in an object of its own', () => {
    const event = { id: 'e1', name: 'Halving', date: '2026-09-02', type: 'Realised', score: 1 };
    expect(read({ publication_time: '2026-09-01', title: 'Reward halves', event }).row).toMatchObject({
      headline: 'Reward halves',
      event_id: 'e1',
      event_name: 'Halving',
      event_at: '2026-09-02T00:00:00Z',
      event_type: 'Realised',
      extra: JSON.stringify({ event: { score: 1 } }),
    });
  });

  test('needs no score and no event', () => {
    expect(read({ publication_time: '2026-09-01', anything: [1] }).row).toMatchObject({
      sentiment_score: null,
      event_name: null,
      extra: JSON.stringify({ anything: [1] }),
    });
  });

  test('is another one behind another event', () => {
    const id = (changes = {}) => read(aHeadline(changes)).row?.entry_id;
    for (const sent of [{}, { id: 'n1' }]) {
      expect(id({ ...sent, sentiment_score: 0.5 })).toBe(id(sent));
      expect(id({ ...sent, event_name: 'Fork' })).not.toBe(id(sent));
      expect(id({ ...sent, event_id: 'e2' })).not.toBe(id(sent));
    }
  });

  test('is rejected without a time of its own', () => {
    expect(read({ headline: 'x', event_date: '2026-09-02' }).rejected).toBe('no readable publication time');
  });
});
