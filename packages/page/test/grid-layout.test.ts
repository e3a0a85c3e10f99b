import { describe, expect, it } from 'vitest';
import { boxOf, type Cell, layoutOf, pathsOf, placeAt } from '../src/grid-layout.ts';

const rows = ['DE', 'US', 'GB'];
const columns = ['Prices', 'Prices', 'Work'].map((group, index) => ({ title: `topic ${index}`, group }));
const sizes = { widest: 100, down: () => 20 };
const full: Cell = { parts: [['blue', 1]] };

describe('the layout of a grid', () => {
  it('fills the width, with one head for neighbours of a group', () => {
    const layout = layoutOf(rows, columns, 150, sizes);
    expect(layout).toMatchObject({ lefts: [0, 50, 100], width: 150, height: 60 });
    expect(layout.groups.map(({ title, left, width }) => [title, left, width])).toEqual([
      ['Prices', 0, 100],
      ['Work', 100, 50],
    ]);
  });

  it('turns titles that do not fit, and drops those of narrow columns', () => {
    const titlesAt = (width: number) => layoutOf(rows, columns, width, sizes).titles;
    expect([300, 90, 20].map(titlesAt)).toEqual(['level', 'upright', 'none']);
  });

  it.each([20, 155, 900])('finds each cell where it is drawn, at %d px', (width) => {
    const layout = layoutOf(rows, columns, width, sizes);
    for (const row of rows.keys())
      for (const column of columns.keys()) {
        const box = boxOf(layout, { row, column });
        const place = placeAt(layout, box.left + box.width / 2, box.top + box.height / 2);
        expect(place).toEqual({ row, column });
      }
    expect(placeAt(layout, layout.width + 1, 30)).toBeUndefined();
    expect(placeAt(layout, 1, layout.height + 1)).toBeUndefined();
  });
});

describe('the drawing of cells', () => {
  const drawn = (cell: Cell, wide = 21) => {
    const layout = layoutOf([''], [{ title: '', group: '' }], wide, { ...sizes, widest: wide });
    return pathsOf(layout, () => cell).map(({ mark, colour, path }) => [mark, colour, path]);
  };

  it('shares a cell out among its parts, and leaves room for the shortest', () => {
    const parts = [
      ['green', 0.999],
      ['red', 0.001],
    ] as const;
    expect(drawn({ parts })).toEqual([
      ['fill', 'green', 'M0 0h18v19h-18z'],
      ['fill', 'red', 'M18 0h2v19h-2z'],
    ]);
    expect(drawn({ parts: [['green', 0.5]] })).toEqual([['fill', 'green', 'M0 0h10v19h-10z']]);
  });

  it('puts marks above colours, and draws the same looks as one path', () => {
    const layout = layoutOf(rows, columns, 155, sizes);
    const paths = pathsOf(layout, (row) => (row > 0 ? { ...full, mark: 'frame' } : { parts: [] }));
    expect(paths.map(({ mark }) => mark)).toEqual(['fill', 'frame']);
    expect(paths.map(({ path }) => path.split('M').length - 1)).toEqual([6, 6]);
  });
});
