import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { jobFor } from '../cli/jobs.ts';
import { aRound, aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { aSandbox, it } from '../support/serving.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-06-30' };
const service = { end_date: 'inclusive' };
const night = (day: string) => new Date(`${day}T03:00:00Z`);

/** Windows of a refresh begin on the same days in every month. */
const firstTwo = ['2024-01-01 2024-01-17', '2024-01-18 2024-03-17'];

/** The windows, the last drained first. */
async function drained(db: Warehouse) {
  const rows = await sqlIn(db)<{ days: string; state: string }>`
    select first_day || ' ' || last_day as days from gmsi.windows where state = 'drained'
    order by finished_at desc, first_day`;
  return rows.map(({ days }) => days);
}

async function refreshes(db: Warehouse) {
  const rows = await sqlIn(db)`select command, pages from gmsi.loads where reason = 'refresh'`;
  return rows;
}

/** The months with scores that the service has revised since they were loaded. */
async function stale(db: Warehouse) {
  const rows = await sqlIn(db)<{ month: string }>`
    select distinct to_char(published_at at time zone 'UTC', 'YYYY-MM') as month from gmsi.headlines
    where directional_score = 0.99 order by 1`;
  return rows.map(({ month }) => month);
}

it('a refresh loads what was drained longest ago, within its share', async ({ warehouse, db }) => {
  await using sandbox = await aSandbox({ volume: 0.05 });
  const budget = { requests_per_month: 1_000, refresh_percent: 0.2 };
  const schedule = { backfill: '0 20 31 10 *', refresh: '0 3 1 * *' };
  const job = jobFor(scope, { schedule, budget, service: { ...service, page_size: 1000 } });
  let now = new Date('2026-10-31T20:30:00Z');
  await registered(db, 'healing', job, new Date('2026-10-31T19:00:00Z'));
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  await loadsEnded(db);
  // As if each had been drained a day after the one before it, and the service had revised two months since.
  await sqlIn(db)`update gmsi.windows set finished_at = '2025-01-01'::date + (first_day - '2024-01-01')`;
  await sqlIn(db)`
    update gmsi.headlines set directional_score = 0.99, changed_at = clock_timestamp()
    where published_at < '2024-02-01' or published_at >= '2024-06-01'`;
  expect(await stale(db)).toEqual(['2024-01', '2024-06']);
  const revised = await countRows(db, 'headline_revisions');

  now = night('2026-11-01');
  expect((await loadsEnded(db, 2))[1]).toMatchObject({ command: 'backfill', outcome: 'done' });
  expect((await drained(db)).slice(0, 2).toSorted()).toEqual(firstTwo);
  expect(await refreshes(db)).toEqual([{ command: 'backfill', pages: 2 }]);
  expect(await countRows(db, 'headline_revisions')).toBeGreaterThan(revised);
  expect(await stale(db)).toEqual(['2024-06']);

  // A second one in the same month finds its share spent. The month is the database's, as the times of loads are.
  now = night('2026-11-01');
  await sqlIn(db)`update gmsi.schedules set fired_at = '2026-10-31' where command = 'refresh'`;
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(2);

  for (const day of ['2026-12-01', '2027-01-01']) {
    await sqlIn(db)`
      update gmsi.loads set started_at = started_at - interval '1 month' where reason = 'refresh'`;
    now = night(day);
    await loadsEnded(db, day === '2026-12-01' ? 3 : 4);
  }
  expect(await stale(db)).toEqual([]);
  // There are four of them, so the third refresh has begun again with the first two.
  expect((await drained(db)).slice(0, 2).toSorted()).toEqual(firstTwo);
  expect(await refreshes(db)).toEqual(Array(3).fill({ command: 'backfill', pages: 2 }));
});
