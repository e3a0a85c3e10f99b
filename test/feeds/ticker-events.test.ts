import { describe, expect, test } from 'vitest';
import { tickerEvents } from '../../src/feeds/ticker-events.ts';

const read = (record: unknown) => tickerEvents.reader().read(record);

/** As docs/service.md has them ("Asset feeds"). */
const anEvent = (changes: Record<string, unknown> = {}) => ({
  event_date: '2026-09-01T00:00:00+00:00',
  event_name: 'Halving',
  summary: 'The reward halves.',
  event_type: 'Realised',
  direction: 'Bullish',
  impact: '0.9',
  topic_name: 'Supply',
  ...changes,
});

describe('an event of a ticker', () => {
  test('becomes a row, column by column', () => {
    const { row } = read(anEvent());
    expect(row).toMatchObject({
      event_id: expect.any(String),
      event_at: '2026-09-01T00:00:00Z',
      event_name: 'Halving',
      summary: 'The reward halves.',
      event_type: 'Realised',
      direction: 'Bullish',
      impact: '0.9',
      topic: 'Supply',
      extra: null,
    });
    expect(Object.keys(row!)).toEqual(Object.keys(tickerEvents.table.columns));
  });

  test.each([
    ['0.9', '0.9'],
    [0.9, '0.9'],
    ['High', 'High'],
    [null, null],
  ])('keeps an impact of %j as %j', (impact, kept) => {
    expect(read(anEvent({ impact })).row).toMatchObject({ impact: kept, extra: null });
  });

  test('may have nothing but a date, of the day', () => {
    expect(read({ event_date: '2026-09-01' }).row).toMatchObject({
      event_at: '2026-09-01T00:00:00Z',
      event_name: null,
      impact: null,
    });
  });

  test('is rejected without a date', () => {
    expect(read(anEvent({ event_date: null })).rejected).toBe('no readable event date');
  });

  test('is the same when its summary, direction or impact change, another of another name, type or topic', () => {
    const id = (changes = {}) => read(anEvent(changes)).row?.event_id;
    expect(id({ summary: 'More.', direction: 'Bearish', impact: 'High' })).toBe(id());
    for (const changes of [{ event_name: 'Fork' }, { event_type: 'Anticipated' }, { topic_name: 'Demand' }]) {
      expect(id(changes)).not.toBe(id());
    }
  });
});
