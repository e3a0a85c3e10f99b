import { expect, test } from 'vitest';
import { aSandbox } from './client.ts';

const WEEK = { from: '2026-11-09', to: '2026-11-15' };
const BRENT = { ticker: 'BZ_COM' };
const MACRO = { model: 'macro_1', country_preset: 'japan' };

type Scored = { readonly hour: string; readonly topic: string; readonly score: number };

test.each(['COMBINED', 'EXPLICIT', 'IMPLICIT'])(
  'the index of a ticker (%s) is what its headlines add up to',
  async (type) => {
    const sandbox = await aSandbox({ records: { missingScores: 0 } });
    const headlines = sandbox.truthOf('ticker-headlines', { ...BRENT, match_type: type, ...WEEK });
    const index = sandbox.truthOf('ticker-index', { ...BRENT, index_type: type, ...WEEK });
    expectToAddUp(
      index,
      headlines.map(({ publishedAt, wire }) =>
        aScore(publishedAt, String(wire.topic_name), Number(wire.sentiment_score)),
      ),
    );
  },
);

test('the regional index of a country is what its headlines add up to, by topic', async () => {
  const sandbox = await aSandbox({ records: { missingScores: 0.3 } });
  const index = sandbox.truthOf('regional-index', { ...MACRO, index_type: 'EXPLICIT', ...WEEK });
  const topics = [...new Set(index.map(({ wire }) => String(wire.topic_name)))];
  expect(topics).toHaveLength(8);
  const country = { country: 'JP', matchType: 'DOMESTIC', ...WEEK };
  const scored = topics.flatMap((topic) =>
    sandbox
      .truth({ ...country, topic })
      .map(({ publishedAt, directional: { positive, negative } }) =>
        aScore(publishedAt, topic, positive - negative),
      ),
  );
  expect(index.every(({ wire }) => wire.country === 'Japan')).toBe(true);
  for (const { wire } of index)
    expect(wire.sentiment_avg).toBeCloseTo(Number(wire.sentiment_sum) / Number(wire.headline_count), 7);
  expectToAddUp(index, scored);
});

test('the metrics of events are what the events add up to, words for impact included', async () => {
  const sandbox = await aSandbox();
  const size = { High: 0.9, Medium: 0.6, Low: 0.3 } as Record<string, number>;
  const month = { from: '2026-10-01', to: '2026-10-31' };
  const scored = sandbox.truthOf('ticker-events', { ...BRENT, ...month }).map(({ publishedAt, wire }) => {
    const impact = size[String(wire.impact)] ?? Number(wire.impact);
    return aScore(publishedAt, 'Combined', wire.direction === 'Bullish' ? impact : -impact);
  });
  const metrics = sandbox.truthOf('ticker-event-metrics', { ...BRENT, ...month });
  expectToAddUp(
    metrics.map(({ publishedAt, wire: { event_count, event_type, ...rest } }) => ({
      publishedAt,
      wire: { ...rest, headline_count: event_count, topic_name: event_type },
    })),
    scored,
  );
});

function aScore(publishedAt: string, topic: string, score: number): Scored {
  return { hour: `${publishedAt.slice(0, 13)}:00:00.000Z`, topic, score };
}

/** Adds up the scores in the plainest way and compares, hour by hour and topic by topic. */
function expectToAddUp(
  index: readonly { readonly publishedAt: string; readonly wire: Record<string, unknown> }[],
  scored: readonly Scored[],
): void {
  const expected = new Map<string, number[]>();
  for (const { hour, topic, score } of scored) {
    expected.set(`${hour} ${topic}`, [...(expected.get(`${hour} ${topic}`) ?? []), score]);
  }
  expect(index.map(({ publishedAt, wire }) => `${publishedAt} ${wire.topic_name}`).sort()).toEqual(
    [...expected.keys()].sort(),
  );
  expect(index.some(({ wire }) => Number(wire.headline_count) > 1)).toBe(true);
  for (const { publishedAt, wire } of index) {
    const scores = expected.get(`${publishedAt} ${wire.topic_name}`)!;
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
    expect(wire.headline_count).toBe(scores.length);
    expect(wire.sentiment_sum).toBeCloseTo(mean * scores.length, 9);
    if (wire.country === undefined)
      expect(wire.sentiment_abs_sum).toBeCloseTo(
        scores.reduce((sum, score) => sum + Math.abs(score), 0),
        9,
      );
    expect(wire.sentiment_std).toBeCloseTo(Math.sqrt(squares / scores.length), 7);
  }
}
