import { expect, it } from 'vitest';
import { remembered, rememberRows } from '../../src/load/met-rows.ts';
import { CursorWithoutEnd } from '../../src/service/cursor.ts';

const window = { first_day: '2026-09-01', last_day: '2026-09-03' };
const page = (from: number, to: number, time = '2026-09-02T09:00:00Z') => ({
  rows: {
    length: to - from,
    times: Array.from({ length: to - from }, () => time),
    ids: Array.from({ length: to - from }, (_, n) => `id ${from + n}`),
    columns: [],
  },
  rejected: [],
  nextToken: 'more',
});

it('counts a row once, on the day (UTC) that it is of, and none beyond the window', () => {
  const met = rememberRows(window, 10);
  met.take(page(0, 5));
  met.take(page(3, 7));
  met.take(page(0, 2, '2026-09-01T00:00:00Z'));
  met.take(page(0, 3, '2026-09-03T23:59:59.999999Z'));
  met.take(page(0, 9, '2026-08-31T23:59:59.999999Z'));
  met.take(page(0, 9, '2026-09-04T00:00:00Z'));
  expect(met.perDay).toEqual([2, 7, 3]);
});

it('goes on from what was met before, in the form in which the warehouse writes times', () => {
  const rows = [{ time: '2026-09-02T09:00:00.000000Z', id: 'id 0' }];
  const met = rememberRows(window, 10, { rows, perDay: [0, 1, 0] });
  met.take(page(0, 3));
  expect(met.perDay).toEqual([0, 3, 0]);
  const unknown = rememberRows(window, 10, { rows, perDay: null });
  unknown.take(page(0, 3));
  expect(unknown.perDay).toBeNull();
});

it('counts no row twice if there are more than it remembers, and still finds a circle that begins late', () => {
  const met = rememberRows(window, 3);
  const size = 10_000;
  for (let from = 0; from < 1.5 * remembered; from += size) met.take(page(from, from + size));
  expect(met.perDay).toEqual([0, remembered, 0]);
  const pages = [2, 3, 4].map((nth) => page(nth * remembered, nth * remembered + size));
  const circle = () => {
    for (let round = 0; round < 20; round++) for (const one of pages) met.take(one);
  };
  expect(circle).toThrow(CursorWithoutEnd);
  expect(met.perDay).toEqual([0, remembered, 0]);
});
