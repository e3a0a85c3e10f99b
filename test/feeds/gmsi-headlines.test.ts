import { describe, expect, test } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { aRecord } from './a-record.ts';

const read = (record: unknown) => gmsiHeadlines.reader().read(record);

describe('the path of historical GMSI headlines', () => {
  test('holds the country, encoded', () => {
    const of = { feed: 'gmsi-headlines', topic: 'Tension', ticker: '', match_type: 'COMBINED', variant: '' };
    const path = '/headlines/feed/historical/gmsi';
    expect(gmsiHeadlines.path({ ...of, country: 'US' })).toBe(`${path}/US`);
    expect(gmsiHeadlines.path({ ...of, country: 'a/b?' })).toBe(`${path}/a%2Fb%3F`);
  });
});

describe('a GMSI headline', () => {
  test('becomes a row of the table, column by column', () => {
    const { row } = read(aRecord());
    expect(row).toMatchObject({
      headline_id: '0a1b2c3d-0000-4000-8000-00000000000f',
      published_at: '2026-05-21T13:00:00Z',
      headline: 'Food prices ease',
      language: 'en',
      source: 'Reuters',
      url: 'https://example.com/1',
      topic_probability: 0.91,
      directional_positive: 0.7,
      directional_neutral: 0.2,
      directional_negative: 0.1,
      directional_score: 0.7 - 0.1,
      semantic_positive: 0.5,
      semantic_neutral: 0.25,
      semantic_negative: 0.25,
      semantic_score: 0.25,
      extra: null,
    });
    expect(Object.keys(row!)).toEqual(Object.keys(gmsiHeadlines.table.columns));
  });

  test('is read from as little as a time and one score', () => {
    const { row } = read({ publication_time: '2026-05-21', semantic_neutral: 0 });
    expect(row).toMatchObject({
      semantic_neutral: 0,
      semantic_score: null,
      directional_score: null,
      extra: null,
    });
  });

  test.each([
    ['flat', { semantic_positive: 0.5, semantic_negative: 0.2 }],
    [
      'flat, by the model’s full name',
      { semantic_sentiment_positive: 0.5, semantic_sentiment_negative: 0.2 },
    ],
    ['nested', { semantic: { positive: 0.5, negative: 0.2 } }],
    ['nested twice', { sentiment: { semantic: { positive: '0.5', negative: '0.2' } } }],
  ])('has its semantic scores read where they are %s', (_shape, scores) => {
    const { row } = read({ publication_time: '2026-05-21T13:00:00', ...scores });
    expect(row).toMatchObject({
      semantic_positive: 0.5,
      semantic_negative: 0.2,
      semantic_score: 0.3,
      extra: null,
    });
  });

  test.each([
    [{ model_version: '3.2' }],
    [{ model_version: 3.2 }],
    [{ model: { version: '3.2' } }],
    [{ sentiment_model_version: '3.2' }],
  ])('has the version of the model read from %j', (sent) => {
    expect(read(aRecord(sent)).row).toMatchObject({ model_version: '3.2', extra: null });
  });

  test('has the version of the model read from the field that a job names', () => {
    const { row } = gmsiHeadlines.reader({ model_version: ['engine'] }).read(aRecord({ engine: 'v4' }));
    expect(row).toMatchObject({ model_version: 'v4', extra: null });
  });

  test('keeps the score that the service sends rather than the difference', () => {
    expect(read(aRecord({ directional_score: -0.4 })).row).toMatchObject({
      directional_score: -0.4,
      extra: null,
    });
    expect(read(aRecord({ sentiment: { semantic: 0.9 } })).row).toMatchObject({
      semantic_score: 0.9,
      extra: null,
    });
  });

  test('keeps what was sent of the series in extra, since the columns say what was asked for', () => {
    expect(JSON.parse(String(read(aRecord({ country: 'US', topic: 'Tension' })).row?.extra))).toEqual({
      country: 'US',
      topic: 'Tension',
    });
  });

  test.each([[null], [undefined], ['text'], [7], [[aRecord()]]])('is not read from %j', (record) => {
    expect(read(record)).toEqual({ rejected: 'not a JSON object' });
  });
});
