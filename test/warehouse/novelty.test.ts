import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { empty } from './a-history.ts';
import { aRow, idOf, upsert } from './a-row.ts';

const hour = 3_600_000;
const begin = Date.UTC(2026, 2, 1, 0, 30);
const stories = ['Prices of food rise again', 'Wages fall in all trades', 'Banks close early today', null];

it('says of each headline what was known of its story when it came, whatever comes later', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  let tellings = 0;
  const aHeadline = fc.record({ at: fc.nat(24 * 12), story: fc.nat(3), isLoud: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(aHeadline, { minLength: 12, maxLength: 25 }), async (headlines) => {
      await empty(db);
      const all = headlines.map(({ at, story, isLoud }, n) => {
        const text = stories[story]!;
        return {
          id: idOf(n),
          at: begin + at * hour,
          text: isLoud && text ? `${text.toUpperCase()} - Reuters` : text,
          story,
        };
      });
      await upsert(
        db,
        all.map(({ id, at, text }) =>
          aRow({ headline_id: id, published_at: new Date(at).toISOString(), headline: text }),
        ),
      );
      const rows = await sqlIn(db)<Record<string, unknown>>`
        select headline_id as id, tellings, days_since as "daysSince"
        from gmsi.novelty('US', 'Inflation-Food', '2026-03-05', '2026-03-09', '3 days')`;
      const expected = all
        .filter(({ at }) => at >= Date.UTC(2026, 2, 5) && at < Date.UTC(2026, 2, 10))
        .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
        .map(({ id, at, story, text }) => {
          const before = all.filter(
            (other) =>
              (other.id === id || (text !== null && other.story === story)) &&
              other.at <= at &&
              other.at >= at - 72 * hour,
          );
          tellings += before.length - 1;
          return {
            id,
            tellings: before.length,
            daysSince: (at - Math.min(...before.map((one) => one.at))) / hour / 24,
          };
        });
      expect(rows).toEqual(expected);
    }),
    { numRuns: 30 },
  );
  expect(tellings).toBeGreaterThan(50);
});

it('keeps what it said of a day, whatever becomes of its headlines', async ({ db }) => {
  const of = (n: number, headline: string, day: number) =>
    aRow({ headline_id: idOf(n), published_at: `2026-03-0${day}T12:30:00Z`, headline });
  const asked = sql`select * from gmsi.novelty('US', 'Inflation-Food', '2026-03-02', '2026-03-03')`;
  await upsert(db, [of(1, 'Prices of food rise again', 2), of(2, 'Prices of food rise again', 3)]);
  const { rows: before } = await asked.execute(db);
  expect(before).toMatchObject([{ tellings: 1 }, { tellings: 2, days_since: 1 }]);
  await upsert(db, [of(1, 'Prices of food fall again', 2)]);
  await sqlIn(db)`
    update gmsi.headlines set retracted_at = now(), changed_at = clock_timestamp() where headline_id = ${idOf(2)}::uuid`;
  await upsert(db, [of(3, 'Prices of food rise again', 3)], { isBackfilled: false });
  expect((await asked.execute(db)).rows).toEqual(before);
});

it.for([
  [sql`'2026-03-05', '2026-03-04'`, 'no days from 2026-03-05 to 2026-03-04'],
  [sql`null, '2026-03-04'`, 'no days from null to 2026-03-04'],
  [sql`'2026-03-01', '2026-03-04', '0 days'`, 'lookback is not positive: 00:00:00'],
] as const)('fails for days and times that there are not: %#', async ([given, message], { db }) => {
  await expect(sql`select * from gmsi.novelty('US', 'Inflation-Food', ${given})`.execute(db)).rejects.toThrow(
    message,
  );
});
