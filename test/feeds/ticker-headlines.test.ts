import { describe, expect, test } from 'vitest';
import { tickerHeadlines } from '../../src/feeds/ticker-headlines.ts';
import { without } from './a-record.ts';

const read = (record: unknown) => tickerHeadlines.reader().read(record);

/** As docs/service.md has them ("Asset feeds"); neither an id nor a text is among the fields. */
const aTickerRecord = (changes: Record<string, unknown> = {}) => ({
  ticker: 'BTC_CRY',
  ticker_name: 'Bitcoin',
  publication_time: '2026-09-01T13:00:00+00:00',
  topic_name: 'Regulation',
  sentiment_score: -0.4,
  bearish_probability: 0.6,
  neutral_probability: 0.2,
  bullish_probability: 0.2,
  topic_probability: 0.9,
  match_type: 'EXPLICIT',
  language: 'en',
  countries: ['US', 'SG'],
  ...changes,
});

describe('a headline of a ticker', () => {
  test('becomes a row, and what has no column is kept', () => {
    const { row } = read(aTickerRecord());
    expect(row).toMatchObject({
      entry_id: expect.any(String),
      headline_id: expect.any(String),
      published_at: '2026-09-01T13:00:00Z',
      ticker_name: 'Bitcoin',
      headline: null,
      language: 'en',
      source: null,
      url: null,
      topic: 'Regulation',
      topic_probability: 0.9,
      record_match_type: 'EXPLICIT',
      sentiment_score: -0.4,
      bearish_probability: 0.6,
      neutral_probability: 0.2,
      bullish_probability: 0.2,
      extra: JSON.stringify({ ticker: 'BTC_CRY', countries: ['US', 'SG'] }),
    });
    expect(Object.keys(row!)).toEqual(Object.keys(tickerHeadlines.table.columns));
  });

  test.each([{ id: 'n1' }, { headline: 'Bitcoin falls' }])(
    'about two topics is two rows of one headline: %o',
    (of) => {
      const [one, same, other] = ['Regulation', 'Regulation', 'Adoption'].map(
        (topic_name, n) => read(aTickerRecord({ ...of, topic_name, sentiment_score: n / 10 })).row!,
      );
      expect(same!.entry_id).toBe(one!.entry_id);
      expect(other!.entry_id).not.toBe(one!.entry_id);
      expect(other!.headline_id).toBe(one!.headline_id);
    },
  );

  test('without a score has that of its probabilities', () => {
    expect(read(aTickerRecord({ sentiment_score: null })).row?.sentiment_score).toBe(0.2 - 0.6);
    expect(read(without(aTickerRecord(), 'sentiment_score')).row?.sentiment_score).toBe(0.2 - 0.6);
  });

  test('is rejected without any score or a time', () => {
    const { rejected } = read({ publication_time: '2026-09-01', ticker: 'BTC_CRY', topic_probability: 1 });
    expect(rejected).toBe('no sentiment score');
    expect(read(aTickerRecord({ publication_time: 'soon' })).rejected).toBe('no readable publication time');
  });

  test('is asked for by its ticker, encoded', () => {
    const series = {
      feed: 'ticker-headlines',
      country: '',
      topic: '',
      ticker: 'A/B',
      match_type: 'COMBINED',
      variant: '',
    };
    expect(tickerHeadlines.path(series)).toBe('/headlines/feed/historical/ticker/A%2FB');
    expect(tickerHeadlines.live?.path(series)).toBe('/headlines/feed/live/ticker/A%2FB');
  });
});
