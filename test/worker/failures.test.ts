import { describe, expect, vi } from 'vitest';
import type { Sandbox } from '#sandbox';
import { endDue, markDue, takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { jobFor } from '../cli/jobs.ts';
import { listed } from '../support/a-process.ts';
import { aRound, aWorker, loadsEnded, pausedJob, registered } from '../support/a-worker.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { ageWindowsIn, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-31' };
const schedule = { backfill: '0 1 * * *' };
const service = { max_attempts: 1 };

const it = serving({ volume: 0.2 });

it('pauses a job whose windows all fail, and goes on by itself', async ({ warehouse, db, sandbox }) => {
  let now = new Date('2026-11-20T08:00:00Z');
  const job = jobFor(scope, { schedule, step: 'P3D', service: { ...service, concurrency: 2 } });
  await registered(db, 'hopeless', job, lastNight);
  const isPage = ({ path }: { path: string }) => path.includes('/feed/');
  const requests = watchRequests(sandbox, [{ kind: 'server-error', times: 1000, match: isPage }]);
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await pausedJob(db)).toMatchObject({
    paused_because: 'failures',
    resumes_at: new Date('2026-11-20T08:01:00Z'),
    pauses: 1,
  });
  await loadsEnded(db);
  // Ten in a row, and those that were under way meanwhile; what waits is not tried.
  expect(requests.length).toBeLessThanOrEqual(10 + 2 + 2);

  sandbox.script([]);
  now = new Date('2026-11-20T08:00:59Z');
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(1);
  now = new Date('2026-11-20T08:01:00Z');
  expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const rows = await sqlIn(db)`
    select pauses, resumes_at, paused_because from gmsi.schedules where command = 'backfill'`;
  expect(rows, 'its next pause is a short one again').toEqual([
    { pauses: 0, resumes_at: null, paused_because: null },
  ]);
});

it('loads the rest of a job if a name has left the lists', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'left', jobFor(scope, { schedule }), lastNight);
  await runBackfill({ job: aJobFor({ ...scope, to: '2024-01-02' }), db, sandbox });
  await sqlIn(db)`update gmsi.countries set listed = false where country = 'NO'`;
  await using _worker = aWorker({ warehouse, sandbox });
  expect(await loadsEnded(db, 2)).toContainEqual(
    expect.objectContaining({ job: 'left', outcome: 'incomplete' }),
  );
  const us = { ...scope, countries: ['US'] };
  expect(await heldBy(db, us)).toEqual(servedBy(sandbox, us));
  await aRound(db);
  expect(await sqlIn(db)`select from gmsi.schedules where paused_because is not null`).toEqual([]);
});

it('ends if it cannot be listed, instead of working unseen', async ({ warehouse, db, sandbox }) => {
  await sqlIn(db)`drop table gmsi.processes cascade`;
  await using worker = aWorker({ warehouse, sandbox });
  await expect(worker.ended).rejects.toThrow('gmsi.processes');
});

it('pauses a job whose load cannot begin', async ({ warehouse, db, sandbox }) => {
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'unplanned', jobFor(scope, { schedule, service }), lastNight);
  sandbox.script([{ kind: 'server-error', times: 1000 }]);
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  const resumes_at = new Date('2026-11-20T08:01:00Z');
  expect(await pausedJob(db)).toMatchObject({ job: 'unplanned', paused_because: 'failures', resumes_at });
  sandbox.script([]);
  now = resumes_at;
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('pauses for failures for an hour at most', async ({ db }) => {
  await registered(db, 'hopeless', jobFor(scope, { schedule }), lastNight);
  const now = new Date('2026-11-20T08:00:00Z');
  const of = { job: 'hopeless', command: 'backfill' } as const;
  await listed(db, 'w');
  const minutes = [];
  for (let pause = 0; pause < 8; pause++) {
    await markDue(db, of, now);
    const later = new Date(now.getTime() + 60_000);
    const [due] = await takeDueJobs(db, 'backfill', {
      processId: 'w',
      leaseSeconds: 30,
      atMost: 1,
      now: later,
    });
    const until = await endDue(db, due!, 'w', { now, pause: { because: 'failures', error: 'no' } });
    minutes.push((until!.getTime() - now.getTime()) / 60_000);
  }
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

describe('the budget of a worker', () => {
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
    expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({
      job: 'recent',
      command: 'sync',
      outcome: 'done',
    });
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

  async function spent(sandbox: Sandbox, requests: number): Promise<void> {
    await vi.waitFor(() => expect(sandbox.stats().requests).toBe(requests), {
      timeout: 20_000,
      interval: 100,
    });
  }
});

it('refreshes what was drained longest ago, within its share of the month', async ({ warehouse, db }) => {
  await using sandbox = await aSandbox({ volume: 0.05 });
  const half = { countries: ['NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-06-30' };
  const job = jobFor(half, {
    schedule: { backfill: '0 20 31 10 *', refresh: '0 3 1 * *' },
    budget: { requests_per_month: 1_000, refresh_percent: 0.2 },
    service: { end_date: 'inclusive', page_size: 1000 },
  });
  let now = new Date('2026-10-31T20:30:00Z');
  await registered(db, 'healing', job, new Date('2026-10-31T19:00:00Z'));
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  await loadsEnded(db);
  // As if each had been drained a day after the one before it, and the service had revised two months since.
  for (const { window_id, first_day } of await windowsOf(db))
    await ageWindowsIn(db, `${Date.parse('2026-01-01') - Date.parse(first_day)} milliseconds`, { window_id });
  await sqlIn(db)`
    update gmsi.headlines set directional_score = 0.99, changed_at = clock_timestamp()
    where published_at < '2024-02-01' or published_at >= '2024-06-01'`;
  const stale = () => sqlIn(db)`
    select distinct to_char(published_at at time zone 'UTC', 'YYYY-MM') as month from gmsi.headlines
    where directional_score = 0.99 order by 1`;
  const refreshes = () => sqlIn(db)`select command, pages from gmsi.loads where reason = 'refresh'`;
  expect(await stale()).toEqual([{ month: '2024-01' }, { month: '2024-06' }]);
  now = new Date('2026-11-01T03:00:00Z');
  expect((await loadsEnded(db, 2))[1]).toMatchObject({ command: 'backfill', outcome: 'done' });
  expect(await stale()).toEqual([{ month: '2024-06' }]);
  expect(await refreshes()).toEqual([{ command: 'backfill', pages: 2 }]);

  // A second one in the same month finds its share spent. The month is the database's, as the times of loads are.
  await sqlIn(db)`update gmsi.schedules set fired_at = '2026-10-31' where command = 'refresh'`;
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(2);
  await sqlIn(
    db,
  )`update gmsi.loads set started_at = started_at - interval '1 month' where reason = 'refresh'`;
  now = new Date('2026-12-01T03:00:00Z');
  await loadsEnded(db, 3);
  expect(await stale()).toEqual([]);
});
