import { array, assert, integer, property, string, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import { withoutMarks } from '../../src/terminal/style.ts';
import { table } from '../../src/terminal/table.ts';
import { columnsOf, cutToFit } from '../../src/terminal/text.ts';

const progress = 'job  12/1,234 windows  3 failed  2 min 5 s left  12,345 records  24.9 requests/s';

it.each([
  [80, progress],
  [79, 'job  12/1,234 windows  3 failed  2 min 5 s left  12,345 records'],
  [60, 'job  12/1,234 windows  3 failed  2 min 5 s left'],
  [45, 'job  12/1,234 windows  3 failed'],
  [20, 'job'],
  [2, '…'],
])('leaves out the least important parts in %i columns', (columns, line) => {
  expect(cutToFit(progress, columns)).toBe(line);
});

it('fits, with whole words from its beginning, whatever the parts', () => {
  const part = integer({ min: 0, max: 1e9 }).map((many) => `${many} things`);
  assert(
    property(array(part), integer({ min: 1, max: 200 }), (parts, columns) => {
      const line = parts.join('  ');
      const fits = cutToFit(line, columns);
      expect(columnsOf(fits)).toBeLessThanOrEqual(columns);
      if (fits !== '…') expect(`${line} `.startsWith(`${fits} `)).toBe(true);
    }),
  );
});

it('leaves out columns one by one until a table fits', () => {
  const show = (columns: number) =>
    withoutMarks(table(['job', 'run', 'done'], [['x', 12, 1234]], { columns, least: ['run', 'done'] }));
  expect(show(14)).toBe('job   done\nx    1,234');
  expect(show(15)).toBe('job  run   done\nx     12  1,234');
  expect(show(9)).toBe('job\nx');
});

it('folds texts at their spaces, the longest first, and breaks only words that are longer than a column', () => {
  const rows = [
    ['lost-rows', 'failed', 'rows that were loaded before and are gone'],
    ['a-very-long-name-indeed', 'ok', 'x'],
  ];
  const show = (columns: number) => withoutMarks(table(['check', 'result', 'why'], rows, { columns }));
  expect(show(60).split('\n')).toEqual([
    'check                    result  why',
    'lost-rows                failed  rows that were loaded',
    '                                 before and are gone',
    'a-very-long-name-indeed  ok      x',
  ]);
  expect(show(42).split('\n').slice(0, 4)).toEqual([
    'check                    result  why',
    'lost-rows                failed  rows that',
    '                                 were',
    '                                 loaded',
  ]);
  expect(show(36).split('\n').slice(-2)).toEqual(['a-very-long-name-   ok      x', 'indeed']);
  assert(
    property(array(tuple(string(), string())), integer({ min: 20, max: 200 }), (cells, columns) => {
      for (const line of table(['a', 'b'], cells, { columns }).split('\n'))
        expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    }),
  );
});
