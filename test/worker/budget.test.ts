import { expect, vi } from 'vitest';
import type { Sandbox } from '#sandbox';
import { jobFor } from '../cli/jobs.ts';
import { aRound, aWorker, loadsEnded, pausedJob, registered } from '../support/a-worker.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-10-30' };
const service = { end_date: 'inclusive', page_size: 10, concurrency: 2 };
const budget = { requests_per_month: 40, reserve: 25 };
const share = 15;

it('keeps the reserve for syncs, and goes on at the first of the month', async ({ warehouse, db }) => {
  let now = new Date('2026-11-20T12:00:00Z');
  const clock = () => now;
  await using sandbox = await aSandbox({ clock, volume: 0.2 });
  const historic = jobFor(scope, { service, budget, step: 'P10D', schedule: { backfill: '0 1 * * *' } });
  await registered(db, 'historic', historic, new Date('2026-11-19T12:00:00Z'));
  await using _one = aWorker({ warehouse, sandbox, clock });
  await using _two = aWorker({ warehouse, sandbox, clock });
  expect(await pausedJob(db)).toMatchObject({
    job: 'historic',
    command: 'backfill',
    paused_because: 'budget',
    resumes_at: new Date('2026-12-01T00:00:00Z'),
  });
  await spent(sandbox, share);

  // Days later it is still spent, however often the job is due; a sync may use the reserve.
  now = new Date('2026-11-25T12:00:00Z');
  const recent = { ...scope, countries: ['NO'], from: '2026-11-22', to: '2026-11-25' };
  const live = {
    ...jobFor(recent, { service, budget, schedule: { sync: '30 * * * *' } }),
    end_date: 'today',
  };
  await registered(db, 'recent', live, new Date('2026-11-25T11:00:00Z'));
  expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ job: 'recent', command: 'sync', outcome: 'done' });
  expect(await heldBy(db, recent)).toEqual(servedBy(sandbox, recent));
  const inNovember = sandbox.stats().requests;
  expect(inNovember).toBeGreaterThan(share);
  expect(inNovember).toBeLessThanOrEqual(budget.requests_per_month);
  await registered(db, 'recent', { ...live, schedule: undefined }, now);

  now = new Date('2026-11-30T23:59:59Z');
  await aRound(db);
  now = new Date('2026-12-01T00:00:00Z');
  await spent(sandbox, inNovember + share);
  const backfilled = (await windowsOf(db)).filter(({ first_day }) => first_day < '2026-11-01');
  expect(backfilled.some(({ state }) => state !== 'drained')).toBe(true);

  // Nor does it wait for January, once the job file allows more.
  const larger = { ...historic, budget: { requests_per_month: 1000 } };
  await pausedJob(db);
  await registered(db, 'historic', larger, now);
  now = new Date('2026-12-01T00:01:00Z');
  await vi.waitFor(
    async () => expect((await windowsOf(db)).every(({ state }) => state === 'drained')).toBe(true),
    { timeout: 40_000, interval: 300 },
  );
  expect((await loadsEnded(db)).at(-1)).toMatchObject({ job: 'historic', outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

/** Waits until exactly so many requests are spent. */
async function spent(sandbox: Sandbox, requests: number): Promise<void> {
  await vi.waitFor(() => expect(sandbox.stats().requests).toBe(requests), { timeout: 20_000, interval: 100 });
}
