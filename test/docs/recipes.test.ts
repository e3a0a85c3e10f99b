import { expect, test } from 'vitest';
import type { TruthRecord } from '../../src/sandbox/index.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { demo, later, printedUnder } from './analysis-page.ts';

/**
 * What recipes of docs/analysis.md print, computed again from the records that the service sends. That they print it is
 * tested in analysis.test.ts.
 */
const sandbox = await aSandboxForAll({ ...demo, clock: later });

const scoreOf = ({ directional }: TruthRecord) => directional.positive - directional.negative;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const mean = (numbers: readonly number[]) => (numbers.length === 0 ? null : sum(numbers) / numbers.length);
const conviction = (scores: readonly number[]) => sum(scores) / sum(scores.map(Math.abs));

/** A number as it is printed with so many decimals, or an empty cell. */
const printed = (number: number | null, decimals: number) =>
  number === null ? null : expect.closeTo(number, decimals);

test('conviction divides sums of the whole period', () => {
  const rows = ['US', 'GB', 'DE', 'NO', 'JP', 'BR'].map((country) => {
    const topic = 'Policy Tools-Interest Rates';
    const scores = sandbox.truth({ country, topic, from: '2025-12-01', to: '2025-12-31' }).map(scoreOf);
    return { country, scores, conviction: conviction(scores) };
  });
  expect(printedUnder('Conviction')).toEqual(
    rows
      .sort((a, b) => b.conviction - a.conviction)
      .map((row) => ({
        country: row.country,
        headlines: row.scores.length,
        mean: printed(mean(row.scores), 3),
        strength: printed(mean(row.scores.map(Math.abs)), 3),
        conviction: printed(row.conviction, 3),
      })),
  );
});

const firstLoaded = '2025-09-01';

function dayAfter(day: string, days = 1): string {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}

function daysFrom(from: string, to: string): string[] {
  return from > to ? [] : [from, ...daysFrom(dayAfter(from), to)];
}

/** The mean of each day that has news. */
function dailyMeans(country: string, topic: string): Map<string, number> {
  const means = new Map<string, number>();
  for (const day of daysFrom(firstLoaded, '2025-12-31')) {
    const ofDay = mean(sandbox.truth({ country, topic, from: day, to: day }).map(scoreOf));
    if (ofDay !== null) means.set(day, ofDay);
  }
  return means;
}

/** The means of the days before, without those that had no news. */
function before(means: ReadonlyMap<string, number>, day: string, days: number): number[] {
  return daysFrom(dayAfter(day, -days), dayAfter(day, -1)).flatMap((earlier) => means.get(earlier) ?? []);
}

function zScore(means: ReadonlyMap<string, number>, day: string, days: number): number | null {
  const own = means.get(day);
  if (own === undefined || dayAfter(day, -days) < firstLoaded) return null;
  const earlier = before(means, day, days);
  const centre = mean(earlier)!;
  return (own - centre) / Math.sqrt(sum(earlier.map((it) => (it - centre) ** 2)) / (earlier.length - 1));
}

test('z-scores compare a day with loaded days before it alone', () => {
  const means = dailyMeans('NO', 'Inflation-Food');
  const rows = printedUnder('Z-scores of the daily mean');
  expect(rows).toEqual(
    daysFrom('2025-10-30', '2025-11-08').map((day) => ({
      day,
      state: 'assumed',
      mean: printed(means.get(day) ?? null, 3),
      z_10: printed(zScore(means, day, 10), 2),
      z_21: printed(zScore(means, day, 21), 2),
      z_63: printed(zScore(means, day, 63), 2),
      news_days_of_63: before(means, day, 63).length,
    })),
  );
  // The page shows a window that is not loaded, one that is, and a day without news.
  expect(rows.map(({ z_63 }) => z_63 === null)).toEqual([
    ...Array(4).fill(true),
    ...Array(5).fill(false),
    true,
  ]);
  expect(rows.at(-1)).toMatchObject({ mean: null, z_10: null });
});

test('the event study buys after the first day of unusual news', () => {
  const means = dailyMeans('US', 'Market Stress');
  const scored = daysFrom(firstLoaded, '2025-12-31').flatMap((day) => {
    const z = zScore(means, day, 21);
    return z === null ? [] : { day, news: z >= 1 ? 'better' : z <= -1 ? 'worse' : 'neither' };
  });
  const events = scored.filter(({ news }, n) => news === 'neither' || news !== scored[n - 1]?.news);

  const prices = daysFrom('2025-09-01', '2026-04-30')
    .map((day, n) => ({ day, price: 100 + 4 * Math.sin((n + 1) / 9) + Math.sin((n + 1) * 1.7) }))
    .filter(({ day }) => ![0, 6].includes(new Date(day).getUTCDay()));
  const returnAfter = (day: string, held: number) => {
    const bought = prices.findIndex((price) => price.day > day);
    const sold = prices[bought + held];
    return sold === undefined ? [] : 100 * (sold.price / prices[bought]!.price - 1);
  };
  expect(printedUnder('An event study')).toEqual(
    ['better', 'neither', 'worse'].map((news) => {
      const days = events.filter((event) => event.news === news).map(({ day }) => day);
      const after = (held: number) => printed(mean(days.flatMap((day) => returnAfter(day, held))), 2);
      return {
        news,
        events: days.length,
        after_1: after(1),
        after_5: after(5),
        after_20: after(20),
        after_60: after(60),
      };
    }),
  );
  expect(events.length).toBeLessThan(scored.length);
});

test('15-minute bins begin on the quarter, with or without news', () => {
  const records = sandbox.truth({
    country: 'US',
    topic: 'Market Stress',
    from: '2025-12-17',
    to: '2025-12-17',
  });
  const quarter = 15 * 60_000;
  const rows = Array.from({ length: 10 }, (_, n) => {
    const from = Date.parse('2025-12-17T10:00:00Z') + n * quarter;
    const scores = records
      .filter(({ publishedAt }) => Math.floor(Date.parse(publishedAt) / quarter) * quarter === from)
      .map(scoreOf);
    const from_utc = new Date(from).toISOString().slice(0, 19).replace('T', ' ');
    return { from_utc, headlines: scores.length, mean: printed(mean(scores), 3) };
  });
  expect(printedUnder('15-minute bins')).toEqual(rows);
  expect(rows.map(({ headlines }) => headlines)).toContain(0);
});

test('filters by topic_probability and |score| keep what reaches both bounds', () => {
  const records = sandbox.truth({
    country: 'US',
    topic: 'Policy Tools-Interest Rates',
    from: '2025-12-01',
    to: '2025-12-31',
  });
  const row = (kept: string, probability: number, score: number) => {
    const scores = records
      .filter((record) => record.topicProbability >= probability && Math.abs(scoreOf(record)) >= score)
      .map(scoreOf);
    return {
      kept,
      headlines: scores.length,
      percent: printed((100 * scores.length) / records.length, 1),
      mean: printed(mean(scores), 3),
      conviction: printed(conviction(scores), 3),
    };
  };
  expect(printedUnder('Filters on probability and score')).toEqual([
    row('all', 0, 0),
    row('topic_probability >= 0.1', 0.1, 0),
    row('topic_probability >= 0.8', 0.8, 0),
    row('|score| >= 0.1', 0, 0.1),
    row('topic_probability >= 0.8, |score| >= 0.1', 0.8, 0.1),
  ]);
});
