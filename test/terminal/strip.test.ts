import { array, assert, integer, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { budgetBar, coverageStrip } from '../../src/terminal/strip.ts';

const january = { from: '2026-01-01', to: '2026-01-31' };
const days = (from: number, to: number, series = 1) => ({
  from: `2026-01-${String(from).padStart(2, '0')}`,
  to: `2026-01-${String(to).padStart(2, '0')}`,
  series,
});

it.each([
  ['nothing', [], 1, 31, '·'.repeat(31)],
  ['everything', [days(1, 31)], 1, 31, '█'.repeat(31)],
  ['a day each', [days(2, 2), days(31, 31)], 1, 31, `·█${'·'.repeat(28)}█`],
  ['more columns than days', [days(1, 1)], 1, 200, `█${'·'.repeat(30)}`],
  ['all but one of a hundred series', [days(1, 31, 99)], 100, 3, '▓▓▓'],
  ['one of a hundred series', [days(1, 31, 1)], 100, 3, '░░░'],
  ['half of them', [days(1, 31, 50)], 100, 1, '▒'],
  [
    'series that are covered at different times',
    [days(1, 31, 1), days(1, 10, 1)],
    2,
    31,
    `${'█'.repeat(10)}${'▒'.repeat(21)}`,
  ],
  ['columns that begin within a day', [days(1, 31)], 1, 7, '█'.repeat(7)],
] as const)('draws %s', (_, stretches, series, columns, strip) => {
  expect(coverageStrip(stretches, january, series, columns)).toBe(strip);
});

it('draws a full block only if nothing is missing, and a dot only if nothing is there', () => {
  const stretch = record({ from: integer({ min: 1, max: 31 }), length: integer({ min: 1, max: 31 }) });
  assert(
    property(array(stretch, { maxLength: 4 }), integer({ min: 1, max: 40 }), (stretches, columns) => {
      const covered = new Set(
        stretches.flatMap(({ from, length }) => Array.from({ length }, (_, at) => from + at)),
      );
      const alone = [...covered].filter((day) => day <= 31).map((day) => days(day, day));
      const strip = coverageStrip(alone, january, 1, columns);
      expect(strip).toHaveLength(Math.min(31, columns));
      expect(/^█+$/.test(strip)).toBe(alone.length === 31);
      expect(/^·+$/.test(strip)).toBe(alone.length === 0);
    }),
  );
});

it.each([
  [{ used: 0, limit: 100, reserve: 0 }, '░░░░░░░░░░'],
  [{ used: 1, limit: 100_000, reserve: 0 }, '▏░░░░░░░░░'],
  [{ used: 50, limit: 100, reserve: 20 }, '█████░░░▒▒'],
  [{ used: 99_999, limit: 100_000, reserve: 0 }, '█████████░'],
  [{ used: 90, limit: 100, reserve: 20 }, '█████████▒'],
  [{ used: 100, limit: 100, reserve: 20 }, '██████████'],
  [{ used: 250, limit: 100, reserve: 20 }, '██████████'],
  [{ used: 0, limit: 0, reserve: 0 }, '██████████'],
])('draws a budget: %o', (budget, bar) => {
  expect(budgetBar(budget, 10)).toBe(bar);
});
