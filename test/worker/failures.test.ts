import { expect, vi } from 'vitest';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { endDue, markDue, takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { jobFor } from '../cli/jobs.ts';
import { aRound, aWorker, loadsEnded, pausedJob, registered } from '../support/a-worker.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const scope = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food'],
  from: '2024-01-01',
  to: '2024-01-31',
};
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

it('ends the load of a spent budget, also if its job was unscheduled', async ({ warehouse, db }) => {
  await using sandbox = await aSandbox({ volume: 0.1 });
  const budget = { requests_per_month: 12, reserve: 0 };
  await registered(db, 'short', jobFor(scope, { schedule, budget, step: 'P3D' }), lastNight);
  let asked = 0;
  await using _worker = aWorker({
    warehouse,
    sandbox,
    async aroundPage(ask) {
      if (asked++ === 0) await sqlIn(db)`delete from gmsi.schedules`;
      return ask();
    },
  });
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'budget' }]);
});

it('pauses a job whose load cannot begin, twice as long each time', async ({ warehouse, db, sandbox }) => {
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'unplanned', jobFor(scope, { schedule, service }), lastNight);
  sandbox.script([{ kind: 'server-error', times: 1000 }]);
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  for (const [pauses, minutes] of [1, 2, 4].entries()) {
    const paused = await vi.waitFor(
      async () => {
        const one = await pausedJob(db);
        expect(one.pauses).toBe(pauses + 1);
        return one;
      },
      { timeout: 20_000, interval: 50 },
    );
    const resumesAt = new Date(now.getTime() + minutes * 60_000);
    expect(paused).toMatchObject({ job: 'unplanned', paused_because: 'failures', resumes_at: resumesAt });
    if (pauses === 2) sandbox.script([]);
    now = resumesAt;
  }
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('pauses for failures for an hour at most', async ({ db }) => {
  await registered(db, 'hopeless', jobFor(scope, { schedule }), lastNight);
  const now = new Date('2026-11-20T08:00:00Z');
  const of = { job: 'hopeless', command: 'backfill' } as const;
  const identity = {
    command: 'work',
    run_by: 'test',
    version: 'test',
    concurrency: 1,
  };
  await registerProcess(db, { process_id: 'w', ...identity });
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
