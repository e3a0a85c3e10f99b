import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FeedTable } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { remembered, rememberRows } from '../../src/load/met-rows.ts';
import { CursorWithoutEnd } from '../../src/service/cursor.ts';
import { sortedRows } from '../../src/warehouse/arrays.ts';
import { idOf } from '../warehouse/a-row.ts';

const window = { first_day: '2026-09-01', last_day: '2026-09-03' };
const table: FeedTable = {
  ...gmsiHeadlines.table,
  columns: { published_at: 'timestamptz', headline_id: 'uuid' },
  key: ['published_at', 'headline_id'],
};
const pageOf = (keys: readonly { time: string; id: string }[]) => ({
  rows: sortedRows(
    table,
    keys.map(({ time, id }) => ({ published_at: time, headline_id: id })),
  ),
  rejected: [],
  rejectedCount: 0,
  nextToken: 'more',
});
const page = (from: number, to: number, time = '2026-09-02T09:00:00Z') =>
  pageOf(Array.from({ length: to - from }, (_, n) => ({ time, id: idOf(from + n) })));

it('tells all rows apart whose times or ids differ, however little', () => {
  const time = fc
    .integer({ min: 0, max: 86_400 })
    .map((ms) => `2026-09-02T09:00:00.${String(ms).padStart(6, '0')}Z`);
  // Ids as they are counted up, drawn, or made from a clock, of which only the beginning or the end changes.
  const counted = fc.nat({ max: 1e9 }).map(idOf);
  const clocked = fc
    .nat({ max: 0xffffffff })
    .map((n) => `${n.toString(16).padStart(8, '0')}-1111-1111-8111-0242ac120002`);
  const key = fc.record({ time, id: fc.oneof(counted, clocked, fc.uuid()) });
  const nameOf = (one: { time: string; id: string }) => `${one.time} ${one.id}`;
  fc.assert(
    fc.property(fc.uniqueArray(key, { selector: nameOf, minLength: 500, maxLength: 1000 }), (keys) => {
      const met = rememberRows(window, 10);
      met.take(pageOf(keys));
      expect(met.perDay).toEqual([0, keys.length, 0]);
    }),
    { numRuns: 20 },
  );
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
