import { expect, test } from 'vitest';
import type { TruthRecord } from '#sandbox';
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

test('conviction and the weighted mean divide sums of the whole period', () => {
  const rows = ['US', 'GB', 'DE', 'NO', 'JP', 'BR'].map((country) => {
    const topic = 'Policy Tools-Interest Rates';
    const records = sandbox.truth({ country, topic, from: '2025-12-01', to: '2025-12-31' });
    const scores = records.map(scoreOf);
    const weights = records.map((record) => record.topicProbability);
    const weighted = sum(scores.map((score, n) => score * weights[n]!)) / sum(weights);
    return { country, scores, weighted, conviction: conviction(scores) };
  });
  expect(printedUnder('Conviction')).toEqual(
    rows
      .sort((a, b) => b.conviction - a.conviction)
      .map((row) => ({
        country: row.country,
        headlines: row.scores.length,
        mean: printed(mean(row.scores), 3),
        weighted: printed(row.weighted, 3),
        strength: printed(mean(row.scores.map(Math.abs)), 3),
        conviction: printed(row.conviction, 3),
      })),
  );
});
