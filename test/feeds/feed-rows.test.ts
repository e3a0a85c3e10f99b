import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { catalog, feedNamed } from '../../src/feeds/catalog.ts';
import { eventMetricsQuery, tickerEventMetrics } from '../../src/feeds/event-metrics.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { gmsiIndex } from '../../src/feeds/gmsi-index.ts';
import { regionalIndex } from '../../src/feeds/macro-indices.ts';
import { tickerEventHeadlines } from '../../src/feeds/ticker-event-headlines.ts';
import { tickerEvents } from '../../src/feeds/ticker-events.ts';
import { tickerHeadlines } from '../../src/feeds/ticker-headlines.ts';
import { tickerIndex } from '../../src/feeds/ticker-index.ts';
import { aRecord } from './a-record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What becomes of the records of a feed. Changes are made to the first one. */
interface Case {
  readonly feed: Feed;
  /** A record with every known field, and its row: docs/service.md, or the names of other feeds where nothing is documented. */
  readonly becomes: readonly [record: Fields, row: Fields];
  /** Others, whole. */
  readonly others?: readonly (readonly [record: Fields, row: Fields])[];
  readonly changed?: readonly (readonly [changes: Fields, row: Fields])[];
  readonly rejected: readonly (readonly [record: unknown, reason: string])[];
  /** Changes that leave the record the same one, as the service would send it later. */
  readonly same: readonly Fields[];
  /** Changes that make another one of it. */
  readonly another: readonly Fields[];
}

const aMetric = {
  publication_time: '2026-09-01T13:00:00Z',
  event_type: 'Combined',
  event_count: 3,
  sentiment_sum: 1.5,
  sentiment_abs_sum: 1.5,
  sentiment_std: 0.1,
};
const { publication_time: _, ...metrics } = aMetric;

/** The metrics of both feeds. */
const ofMetrics: Omit<Case, 'feed'> = {
  becomes: [aMetric, { published_at: '2026-09-01T13:00:00Z', ...metrics, extra: null }],
  others: [
    [
      { event_date: '2026-09-01', strength: 'High' },
      { published_at: '2026-09-01T00:00:00Z', event_count: null, extra: '{"strength":"High"}' },
    ],
  ],
  rejected: [[{ strength: 'High' }, 'no readable time']],
  same: [{ event_count: 4, sentiment_sum: 0 }],
  another: [{ event_type: 'Realised' }],
};

const components = { headline_count: 4, sentiment_sum: -1.5, sentiment_abs_sum: 2.5, sentiment_std: 0.25 };
const anHour = { publication_time: '2026-09-01T13:00:00', topic_name: 'Inflation-Food', ...components };
const none = { headline_count: null, sentiment_sum: null, sentiment_abs_sum: null };
const noNumbers = { sentiment_sum: 'NaN', headline_count: 'nan' };

/** The hours of an index. */
function ofHours(own: Fields, row: Fields, another: readonly Fields[] = []): Omit<Case, 'feed'> {
  return {
    becomes: [
      { ...anHour, ...own },
      { published_at: '2026-09-01T13:00:00Z', ...components, ...row, extra: null },
    ],
    changed: [
      [{ sentiment_std: 'NaN' }, { sentiment_std: null }],
      [{ ticker: 'BTC_CRY' }, { extra: '{"ticker":"BTC_CRY"}' }],
      [{ ticker_id: 'BTC_CRY' }, { extra: '{"ticker_id":"BTC_CRY"}' }],
      [{ headline_count: 1.5 }, { headline_count: null, extra: '{"headline_count":1.5}' }],
      [{ ...none, headline_count: 0 }, { headline_count: 0 }],
    ],
    rejected: [
      [{ ...anHour, ...own, ...none }, 'no sentiment components'],
      [{ ...anHour, ...own, ...noNumbers }, 'no readable headline_count, sentiment_sum'],
    ],
    same: [
      { headline_count: 5, sentiment_sum: 0, sentiment_std: null, added: 1 },
      { publication_time: '2026-09-01T13:00:00+00:00' },
      { ticker: 'BTC_CRY' },
    ],
    another: [
      { publication_time: '2026-09-01T14:00:00' },
      { topic_name: 'Wars' },
      { topic_name: null },
      ...another,
    ],
  };
}

const regional = ofHours(
  { country: 'Japan', sentiment_avg: -0.375 },
  { topic: 'Inflation-Food', country_name: 'Japan', sentiment_avg: -0.375 },
  [{ country: 'France' }],
);

const probabilities = { bearish_probability: 0.6, neutral_probability: 0.2, bullish_probability: 0.2 };
const ofTicker = {
  ...{ ticker: 'BTC_CRY', ticker_name: 'Bitcoin', publication_time: '2026-09-01T13:00:00+00:00' },
  ...{ topic_name: 'Regulation', topic_probability: 0.9, sentiment_score: -0.4, ...probabilities },
  ...{ match_type: 'EXPLICIT', language: 'en', countries: ['US', 'SG'] },
};
const { sentiment_score: __, ...withoutScore } = ofTicker;

const anEvent = {
  ...{ event_date: '2026-09-01T00:00:00+00:00', event_name: 'Halving', summary: 'The reward halves.' },
  ...{ event_type: 'Realised', direction: 'Bullish', impact: '0.9', topic_name: 'Supply' },
};
const behindAnEvent = {
  ...{ publication_time: '2026-09-01T13:00:00Z', headline: 'Reward halves', event_name: 'Halving' },
  ...{ event_date: '2026-09-02', event_type: 'Realised', topic_name: 'Supply' },
};

const scores = {
  ...{ directional_positive: 0.7, directional_neutral: 0.2, directional_negative: 0.1 },
  ...{ semantic_positive: 0.5, semantic_neutral: 0.25, semantic_negative: 0.25 },
};
const semantic = (sent: Fields) =>
  [
    { publication_time: '2026-05-21T13:00:00', ...sent },
    { semantic_positive: 0.5, semantic_negative: 0.2, semantic_score: 0.3, extra: null },
  ] as const;

const cases: readonly Case[] = [
  { feed: tickerEventMetrics, ...ofMetrics, changed: [[{ ticker_id: 'X' }, { extra: '{"ticker_id":"X"}' }]] },
  {
    ...{ feed: eventMetricsQuery, ...ofMetrics },
    changed: [
      [{ ticker: 'BTC_CRY' }, { ticker: 'BTC_CRY', extra: null }],
      [{ ticker_id: 'BTC_CRY' }, { ticker: 'BTC_CRY', extra: null }],
    ],
    another: [...ofMetrics.another, { ticker: 'BTC_CRY' }, { ticker_id: 'ETH_CRY' }],
  },
  { feed: gmsiIndex, ...ofHours({}, { topic_name: 'Inflation-Food' }) },
  {
    feed: tickerIndex,
    ...ofHours({ index_type: 'COMBINED' }, { topic: 'Inflation-Food', record_match_type: 'COMBINED' }, [
      { index_type: 'EXPLICIT' },
    ]),
  },
  { feed: regionalIndex, ...regional, rejected: [...regional.rejected, [anHour, 'no country']] },
  {
    feed: tickerHeadlines,
    becomes: [
      ofTicker,
      {
        ...{ published_at: '2026-09-01T13:00:00Z', ticker_name: 'Bitcoin', headline: null, language: 'en' },
        ...{ source: null, url: null, topic: 'Regulation', topic_probability: 0.9, sentiment_score: -0.4 },
        ...{ record_match_type: 'EXPLICIT', ...probabilities },
        extra: '{"ticker":"BTC_CRY","countries":["US","SG"]}',
      },
    ],
    others: [[withoutScore, { sentiment_score: 0.2 - 0.6 }]],
    changed: [[{ sentiment_score: null }, { sentiment_score: 0.2 - 0.6 }]],
    rejected: [
      [{ publication_time: '2026-09-01', ticker: 'BTC_CRY', topic_probability: 1 }, 'no sentiment score'],
      [{ ...ofTicker, publication_time: 'soon' }, 'no readable publication time'],
    ],
    same: [],
    another: [],
  },
  {
    feed: tickerEvents,
    becomes: [
      anEvent,
      {
        ...{ event_at: '2026-09-01T00:00:00Z', event_name: 'Halving', summary: 'The reward halves.' },
        ...{ event_type: 'Realised', direction: 'Bullish', impact: '0.9', topic: 'Supply', extra: null },
      },
    ],
    others: [
      [{ event_date: '2026-09-01' }, { event_at: '2026-09-01T00:00:00Z', event_name: null, impact: null }],
    ],
    changed: [
      [{ impact: 0.9 }, { impact: '0.9', extra: null }],
      [{ impact: 'High' }, { impact: 'High', extra: null }],
      [{ impact: null }, { impact: null, extra: null }],
    ],
    rejected: [[{ ...anEvent, event_date: null }, 'no readable event date']],
    same: [{ summary: 'More.', direction: 'Bearish', impact: 'High' }],
    another: [{ event_name: 'Fork' }, { event_type: 'Anticipated' }, { topic_name: 'Demand' }],
  },
  {
    feed: tickerEventHeadlines,
    becomes: [
      behindAnEvent,
      {
        ...{ published_at: '2026-09-01T13:00:00Z', headline: 'Reward halves', event_name: 'Halving' },
        ...{ event_at: '2026-09-02T00:00:00Z', event_type: 'Realised', topic: 'Supply', extra: null },
      },
    ],
    others: [
      [
        {
          ...{ publication_time: '2026-09-01', title: 'Reward halves' },
          event: { id: 'e1', name: 'Halving', date: '2026-09-02', type: 'Realised', score: 1 },
        },
        {
          ...{ headline: 'Reward halves', event_id: 'e1', event_name: 'Halving', event_type: 'Realised' },
          ...{ event_at: '2026-09-02T00:00:00Z', extra: '{"event":{"score":1}}' },
        },
      ],
      [
        { publication_time: '2026-09-01', anything: [1] },
        { sentiment_score: null, event_name: null, extra: '{"anything":[1]}' },
      ],
    ],
    rejected: [[{ headline: 'x', event_date: '2026-09-02' }, 'no readable publication time']],
    same: [{ sentiment_score: 0.5 }],
    another: [{ event_name: 'Fork' }, { event_id: 'e2' }, { id: 'n1' }],
  },
  {
    feed: gmsiHeadlines,
    becomes: [
      aRecord(),
      {
        headline_id: '0a1b2c3d-0000-4000-8000-00000000000f',
        ...{ published_at: '2026-05-21T13:00:00Z', headline: 'Food prices ease', language: 'en' },
        ...{ source: 'Reuters', url: 'https://example.com/1', topic_probability: 0.91, ...scores },
        ...{ directional_score: 0.7 - 0.1, semantic_score: 0.25, extra: null },
      },
    ],
    others: [
      [
        { publication_time: '2026-05-21', semantic_neutral: 0 },
        { semantic_neutral: 0, semantic_score: null, directional_score: null, extra: null },
      ],
      semantic({ semantic_positive: 0.5, semantic_negative: 0.2 }),
      semantic({ semantic_sentiment_positive: 0.5, semantic_sentiment_negative: 0.2 }),
      semantic({ semantic: { positive: 0.5, negative: 0.2 } }),
      semantic({ sentiment: { semantic: { positive: '0.5', negative: '0.2' } } }),
    ],
    changed: [
      [{ model_version: '3.2' }, { model_version: '3.2', extra: null }],
      [{ model_version: 3.2 }, { model_version: '3.2', extra: null }],
      [{ model: { version: '3.2' } }, { model_version: '3.2', extra: null }],
      [{ sentiment_model_version: '3.2' }, { model_version: '3.2', extra: null }],
      // A score that is sent is kept rather than the difference.
      [{ directional_score: -0.4 }, { directional_score: -0.4, extra: null }],
      [{ sentiment: { semantic: 0.9 } }, { semantic_score: 0.9, extra: null }],
      // The columns of the series say what was requested.
      [{ country: 'US', topic: 'Tension' }, { extra: '{"country":"US","topic":"Tension"}' }],
    ],
    rejected: [null, undefined, 'text', 7, [aRecord()]].map((record) => [record, 'not a JSON object']),
    same: [],
    another: [],
  },
];

describe.each(cases)('a record of $feed.name', ({ feed, becomes, ...one }) => {
  const read = (record: unknown) => feed.reader().read(record);
  const [record, row] = becomes;
  const idOf = (changes: Fields) => read({ ...record, ...changes }).row![feed.table.key[1]];

  test('becomes a row, column by column', () => {
    expect(read(record)).toEqual({ row: expect.objectContaining(row) });
    expect(Object.keys(read(record).row!).toSorted()).toEqual(Object.keys(feed.table.columns).toSorted());
  });

  test('is read with more, fewer or other fields, too, and what has no column is kept', () => {
    const changed = (one.changed ?? []).map(([changes, row]) => [{ ...record, ...changes }, row] as const);
    for (const [sent, expected] of [...(one.others ?? []), ...changed])
      expect(read(sent).row, JSON.stringify(sent)).toMatchObject(expected);
  });

  test('is rejected with a reason', () => {
    for (const [sent, reason] of one.rejected) expect(read(sent).rejected).toBe(reason);
  });

  test('is known by what does not change', () => {
    for (const changes of one.same) expect(idOf(changes), JSON.stringify(changes)).toBe(idOf({}));
    const ids = [{}, ...one.another].map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test.each([gmsiIndex, tickerIndex])('an hour of $name without a deviation is not rejected', (feed) => {
  expect(feed.reader().read({ ...anHour, sentiment_std: 'NaN' })).toEqual({ row: expect.anything() });
});

test('a job names the field of the version of the model', () => {
  const { row } = gmsiHeadlines.reader({ model_version: ['engine'] }).read(aRecord({ engine: 'v4' }));
  expect(row).toMatchObject({ model_version: 'v4', extra: null });
});

test('a headline of a ticker with an id, or a headline behind an event, is known by it and by the topic or event', () => {
  const { entry_id } = tickerEventHeadlines.reader().read({ ...behindAnEvent, id: 'n1' }).row!;
  const other = tickerEventHeadlines.reader().read({ ...behindAnEvent, id: 'n1', event_name: 'Fork' }).row!;
  expect(other.entry_id).not.toBe(entry_id);
  for (const known of [{ id: 'n1' }, { headline: 'Bitcoin falls' }]) {
    const [one, same, another] = ['Regulation', 'Regulation', 'Adoption'].map((topic_name, n) => {
      const sent = { ...ofTicker, ...known, topic_name, sentiment_score: n / 10 };
      return tickerHeadlines.reader().read(sent).row!;
    });
    expect(same!.entry_id).toBe(one!.entry_id);
    expect(another!.entry_id).not.toBe(one!.entry_id);
    expect(another!.headline_id).toBe(one!.headline_id);
  }
});

test('the path of a series has its country or ticker, encoded', () => {
  const of = { feed: '', country: '', topic: '', ticker: 'A/B', match_type: 'COMBINED', variant: '' };
  expect(tickerHeadlines.path(of)).toBe('/headlines/feed/historical/ticker/A%2FB');
  expect(tickerHeadlines.live?.path(of)).toBe('/headlines/feed/live/ticker/A%2FB');
  const path = '/headlines/feed/historical/gmsi';
  expect(gmsiHeadlines.path({ ...of, country: 'US' })).toBe(`${path}/US`);
  expect(gmsiHeadlines.path({ ...of, country: 'a/b?' })).toBe(`${path}/a%2Fb%3F`);
});

describe('the catalog', () => {
  test.each([
    ['gmsi-headline', 'Did you mean gmsi-headlines?'],
    // Removed by the service.
    ['asset-headlines', 'ticker-headlines'],
  ])('has no %s, and says what to use', (name, hint) => {
    expect(feedNamed('gmsi-headlines')).toBe(gmsiHeadlines);
    expect(() => feedNamed(name)).toThrow(ConfigError);
    expect(() => feedNamed(name)).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
  });

  test.each([...catalog.values()])(
    '$name has aliases for every column but extra and an identity of its own making, none of them twice',
    (feed) => {
      expect(Object.keys(feed.fields)).toEqual(
        Object.keys(feed.table.columns).filter((column) => column !== 'extra' && column !== 'entry_id'),
      );
      const aliases = Object.values(feed.fields).flat();
      expect(aliases.filter((alias, index) => aliases.indexOf(alias) !== index)).toEqual([]);
    },
  );

  test.each([...catalog.values()])('$name has its key among its columns', (feed) => {
    expect(Object.keys(feed.table.columns)).toEqual(expect.arrayContaining([...feed.table.key]));
  });
});
