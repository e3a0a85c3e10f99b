import { describe, expect, it } from 'vitest';
import {
  barOf,
  cellsOf,
  daysOf,
  failures,
  inWords,
  type Shown,
  seriesIn,
  shownOf,
} from '../src/draw/cells.ts';

const feed = 'gmsi-headlines';
const none = { covered: 0, settling: 0, running: 0, pending: 0, failed: 0, refused: 0 };

function aSeries(country: string, topic: string, days: Partial<typeof none>) {
  return { country, topic, ticker: '', variant: '', timeline: '', ...none, ...days };
}

const country = (code: string) => ({ kind: 'country' as const, code, name: `Land ${code}` });
const topic = (code: string) => ({ kind: 'topic' as const, code, name: null });
const listed = [
  country('US'),
  country('GB'),
  topic('Inflation-Food'),
  topic('Inflation-Fuel'),
  topic('Stress'),
];

const titles = ({ columns }: Pick<Shown, 'columns'>) => columns.map(({ title }) => title);
const at = (shown: Shown, row: number, column: number) => daysOf(shown, [row], [column]);
const unfolded = new Set<string>();

describe('the cells', () => {
  it('have each series where its row and column meet, and no days elsewhere', () => {
    const cells = cellsOf(feed, 10, [aSeries('US', 'Inflation-Fuel', { covered: 7, failed: 2 })], listed);
    expect(cells.rows.map(({ code }) => code)).toEqual(['GB', 'US']);
    const shown = shownOf(cells, false, unfolded);
    expect(titles(shown)).toEqual(['Inflation-Food', 'Inflation-Fuel', 'Stress']);
    expect(at(shown, 1, 1)).toEqual({ ...none, covered: 7, failed: 2, never: 1, all: 10 });
    for (const [row, column] of [
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 0],
      [1, 2],
    ] as const)
      expect(inWords(at(shown, row, column))).toBe('never requested');
    expect(seriesIn(cells)).toEqual({ asked: 1, complete: 0 });
    expect(failures(cells)).toEqual([{ row: 1, column: 1 }]);
  });

  it('of tickers have a row for each that was requested, with its name if the service lists one', () => {
    const ticker = (code: string) => ({ kind: 'ticker' as const, code, name: `Asset ${code}` });
    const found = ['BZ_COM', 'GC_COM'].map((ticker) => ({ ...aSeries('', '', { covered: 1 }), ticker }));
    const { rows, columns } = cellsOf('ticker-events', 1, found, [...listed, ticker('GC_COM'), ticker('SI')]);
    expect(rows).toEqual([
      { code: 'BZ_COM', name: null },
      { code: 'GC_COM', name: 'Asset GC_COM' },
    ]);
    expect(columns).toHaveLength(1);
  });

  it('are none if nothing is listed and nothing found, and one if there is one', () => {
    const empty = cellsOf(feed, 1, [], []);
    expect([empty.rows, empty.columns, seriesIn(empty).asked]).toEqual([[], [], 0]);
    expect(inWords(daysOf(shownOf(empty, false, unfolded), [], []))).toBe('never requested');
    const one = cellsOf(feed, 1, [aSeries('US', 'Stress', { covered: 1 })], []);
    expect([one.rows.length, one.columns.length, seriesIn(one)]).toEqual([1, 1, { asked: 1, complete: 1 }]);
    expect(inWords(at(shownOf(one, true, unfolded), 0, 0))).toBe('1 of 1 days covered (100%)');
  });

  it('of tickers are by ticker, and by variant where there are several', () => {
    const found = ['a=1', 'a=2'].map((variant, index) => ({
      ...aSeries('', '', { covered: index + 1 }),
      ticker: 'AAPL',
      variant,
    }));
    const cells = cellsOf('ticker-index', 5, found, listed);
    expect([cells.by, cells.rows.map(({ code }) => code)]).toEqual(['ticker', ['AAPL']]);
    const shown = shownOf(cells, false, unfolded);
    expect(titles(shown)).toEqual(['a=1', 'a=2']);
    expect([at(shown, 0, 0).covered, at(shown, 0, 1).covered]).toEqual([1, 2]);
  });
});

describe('what is shown of them', () => {
  const cells = cellsOf(
    feed,
    10,
    [
      aSeries('US', 'Inflation-Food', { covered: 10 }),
      aSeries('US', 'Inflation-Fuel', { covered: 4, failed: 6 }),
      aSeries('FR', 'Stress', { refused: 10 }),
    ],
    listed,
  );

  it('leaves out rows and columns that nothing was asked of', () => {
    const shown = shownOf(cells, true, unfolded);
    expect(shown.rows.map(({ code }) => code)).toEqual(['FR', 'US']);
    expect(at(shown, 0, 2)).toMatchObject({ refused: 10, never: 0 });
    const lonely = shownOf(
      cellsOf(feed, 10, [aSeries('US', 'Stress', { covered: 1 })], listed),
      true,
      unfolded,
    );
    expect([lonely.rows.length, titles(lonely), at(lonely, 0, 0).covered]).toEqual([1, ['Stress'], 1]);
  });

  it('sums up a folded group, of as many days as its topics have together', () => {
    const shown = shownOf(cells, false, new Set(['Inflation']));
    expect(titles(shown)).toEqual(['Inflation', 'Stress']);
    expect(at(shown, 2, 0)).toMatchObject({ covered: 14, failed: 6, never: 0, all: 20 });
    expect(inWords(at(shown, 2, 0))).toBe('14 of 20 days covered (70.0%), 6 failed');
    expect(at(shown, 0, 1)).toMatchObject({ refused: 10, all: 10 });
    expect(failures(cells)).toEqual([{ row: 2, column: 1 }]);
  });

  it('never rounds up to all of it', () => {
    const almost = cellsOf(feed, 3653, [aSeries('US', 'Stress', { covered: 3652, failed: 1 })], []);
    expect(inWords(at(shownOf(almost, false, unfolded), 0, 0))).toBe(
      '3,652 of 3,653 days covered (99.9%), 1 failed',
    );
  });
});

describe('the bar of a cell', () => {
  const barWith = (days: Partial<typeof none>) =>
    barOf(shownOf(cellsOf(feed, 100, [aSeries('US', 'Stress', days)], []), false, unfolded), 0, 0);

  it('has the shares of its states in their order, and what was never requested at the end', () => {
    expect(barWith({ covered: 50, failed: 20 })).toEqual({
      parts: [
        ['var(--covered)', 0.5],
        ['var(--failed)', 0.2],
        ['var(--never)', expect.closeTo(0.3)],
      ],
      mark: 'frame',
    });
  });

  it('goes from the first day to the last', () => {
    const timeline = 'covered 30, failed 20, covered 40, settling 3, never 7';
    const days = { covered: 70, failed: 20, settling: 3 };
    const one = { ...aSeries('US', 'Stress', days), timeline };
    expect(barOf(shownOf(cellsOf(feed, 100, [one], []), false, unfolded), 0, 0)).toEqual({
      parts: [
        ['var(--covered)', 0.3],
        ['var(--failed)', 0.2],
        ['var(--covered)', 0.4],
        ['var(--settling)', 0.03],
        ['var(--never)', 0.07],
      ],
      mark: 'frame',
    });
  });
});
