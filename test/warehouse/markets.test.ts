import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { closesOfNewYork } from '../docs/prices.ts';
import { it } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

async function closesOf(db: Warehouse, market: string, from: string, to: string): Promise<string[]> {
  const rows = await sqlIn(db)<{ at: Date }>`
    select at from gmsi.market_closes where market = ${market} and day between ${from} and ${to} order by at`;
  return rows.map(({ at }) => at.toISOString().slice(0, 16));
}

it('knows when markets closed, by their hours, holidays and half days', async ({ db }) => {
  const known = closesOfNewYork().map(({ at }) => new Date(at).toISOString().slice(0, 16));
  expect(await closesOf(db, 'New York', '2025-08-29', '2026-03-06')).toEqual(known);
  // From Good Friday to Easter Monday, and at Christmas.
  expect(await closesOf(db, 'London', '2025-04-17', '2025-04-22')).toEqual([
    '2025-04-17T15:30',
    '2025-04-22T15:30',
  ]);
  expect(await closesOf(db, 'London', '2025-12-24', '2025-12-28')).toEqual(['2025-12-24T12:30']);
  // Tokyo has traded half an hour longer since 5 November 2024, the day after a holiday.
  expect(await closesOf(db, 'Tokyo', '2024-11-01', '2024-11-05')).toEqual([
    '2024-11-01T06:00',
    '2024-11-05T06:30',
  ]);
  // From Sunday to Thursday until 2025, then from Monday to Friday.
  expect((await closesOf(db, 'Tel Aviv', '2025-12-21', '2025-12-27')).map((at) => at.slice(0, 10))).toEqual(
    ['21', '22', '23', '24', '25'].map((day) => `2025-12-${day}`),
  );
  expect((await closesOf(db, 'Tel Aviv', '2026-01-11', '2026-01-17')).map((at) => at.slice(0, 10))).toEqual(
    ['12', '13', '14', '15', '16'].map((day) => `2026-01-${day}`),
  );
});

it('prefers the closes that a user has inserted', async ({ db }) => {
  await sqlIn(db)`
    insert into gmsi.closes (market, day, at) values
      ('Vienna', '2025-06-03', '2025-06-03 10:00+00'), ('Vienna', '2025-06-04', null), ('Mars', '2025-06-04', '2025-06-04 12:00+00')`;
  expect(await closesOf(db, 'Vienna', '2025-06-02', '2025-06-05')).toEqual([
    '2025-06-02T15:30',
    '2025-06-03T10:00',
    '2025-06-05T15:30',
  ]);
  expect(await closesOf(db, 'Mars', '2025-06-02', '2025-06-05')).toEqual(['2025-06-04T12:00']);
});

it('has one market for a country, and each day once', async ({ db }) => {
  const rows = await sqlIn(db)`
    select count(*)::int as markets, count(distinct market)::int as names, count(distinct country)::int as countries,
           (select count(*)::int from (select market, day from gmsi.market_closes group by 1, 2 having count(*) > 1 or min(at) is null) as twice) as wrong
    from gmsi.markets`;
  expect(rows).toEqual([{ markets: 57, names: 57, countries: 57, wrong: 0 }]);
});
