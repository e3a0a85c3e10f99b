import { expect, it } from 'vitest';
import { barOf, cellsOf, inWords, isComplete, statesIn } from '../src/draw/cells.ts';

const none = { covered: 0, settling: 0, running: 0, pending: 0, failed: 0, refused: 0 };

function aSeries(country: string, topic: string, days: Partial<typeof none>, timeline = '') {
  return { country, topic, ticker: '', variant: '', timeline, ...none, ...days };
}

it('has each series where its row and column meet, by category, with the names that the service lists', () => {
  const found = [aSeries('US', 'Stress', { covered: 7 }), aSeries('GB', 'Fuel', { covered: 1 })];
  const listed = [
    { kind: 'country' as const, code: 'US', name: 'United States' },
    { kind: 'topic' as const, code: 'Fuel', name: 'Prices' },
    { kind: 'topic' as const, code: 'Stress', name: 'Markets' },
  ];
  const { by, rows, columns, at } = cellsOf(found, listed);
  expect(by).toBe('country');
  expect(rows).toEqual([
    { code: 'GB', name: null },
    { code: 'US', name: 'United States' },
  ]);
  expect(columns.map(({ title }) => title)).toEqual(['Stress', 'Fuel']);
  expect([at(1, 0), at(0, 1), at(0, 0)]).toEqual([found[0], found[1], undefined]);
});

it('has a row for each ticker, and a column for each variant', () => {
  const found = ['a=1', 'a=2'].map((variant) => ({
    ...aSeries('', '', { covered: 1 }),
    ticker: 'AAPL',
    variant,
  }));
  const { by, rows, columns } = cellsOf(found, []);
  expect([by, rows.map(({ code }) => code), columns.map(({ title }) => title)]).toEqual([
    'ticker',
    ['AAPL'],
    ['a=1', 'a=2'],
  ]);
});

it('says how many days are loaded, and never rounds up to all of them', () => {
  expect(inWords(undefined, 10)).toBe('never requested');
  expect(inWords(aSeries('US', 'Stress', { covered: 1 }), 1)).toBe('1 of 1 days covered (100%)');
  const almost = aSeries('US', 'Stress', { covered: 3652, failed: 1 });
  expect(inWords(almost, 3653)).toBe('3,652 of 3,653 days covered (99.9%), 1 failed');
  expect([isComplete(almost), isComplete(aSeries('US', 'Stress', { settling: 2 }))]).toEqual([false, true]);
});

it('draws a series from its first day to its last, with a frame if one failed', () => {
  const days = { covered: 70, failed: 20, settling: 1 };
  const one = aSeries('US', 'Stress', days, 'covered 30, failed 20, covered 40, settling 1, never 9');
  const bar =
    'covered 0% 29.7%, failed 29.7% 49.5%, covered 49.5% 89.1%, settling 89.1% 91.1%, never 91.1% 100%';
  expect(barOf(one)).toEqual({
    background: `linear-gradient(to right, ${bar.replace(/[a-z]+/g, 'var(--$&)')})`,
    isFailed: true,
  });
  expect(statesIn([one])).toEqual(['covered', 'settling', 'failed', 'never']);
});
