import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { type SeenRequest, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { jobFor } from '../cli/jobs.ts';
import { aLog } from '../support/a-log.ts';
import { aWarehouseWithQueue, aWorker, registered, tickNow, told } from '../support/a-worker.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const scope = {
  ...{ countries: ['US', 'NO'], topics: ['Inflation-Food'] },
  ...{ from: '2024-01-01', to: '2024-01-31' },
};
const schedule = { backfill: '0 1 * * *' };
const service = { max_attempts: 1 };

it('tries a window that failed again in the same run, from its last good page on', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  const { db } = warehouse;
  const inPages = jobFor(scope, { schedule, service: { ...service, page_size: 30 } });
  await registered(db, 'flaky', inPages, lastNight);
  const match = ({ token, path }: { token: string | null; path: string }) =>
    token !== null && path.endsWith('/NO');
  sandbox.script([{ kind: 'server-error', match }]);
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);

  const settled = await told(worker, 'window settled');
  const [failed] = settled.filter(({ as }) => as === 'failed');
  const ofIt = settled.filter(({ windowId }) => windowId === failed!.windowId);
  expect(ofIt.map(({ as }) => as)).toEqual(['failed', 'drained']);
  expect(await told(worker, 'task failed')).toMatchObject([
    { key: `window:${failed!.windowId}`, isLast: false },
  ]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
});

it('does not ask for a window again that was refused; the next run does', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'refused', jobFor(scope, { schedule, service }), lastNight);
  const inNorway = ({ path }: { path: string }) => path.endsWith('/NO');
  const requests = watchRequests(sandbox, [
    { kind: 'refuse', status: 422, detail: 'not today', match: inNorway, times: 1 },
  ]);
  await using worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'incomplete' }]);
  const [refused, ...others] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
  expect(others).toEqual([]);
  const isIt = ({ path, query }: SeenRequest) =>
    inNorway({ path }) && query.topic === refused!.topic && query.start_date === refused!.first_day;
  expect(requests.filter(isIt)).toHaveLength(1);

  now = new Date('2026-11-21T08:00:00Z');
  await tickNow(db);
  expect(await told(worker, 'run finished', 2)).toMatchObject([{}, { outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('pauses a job whose windows fail one after the other, and goes on by itself', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  const job = jobFor(scope, { schedule, step: 'P3D', service: { ...service, concurrency: 2 } });
  await registered(db, 'hopeless', job, lastNight);
  const isPage = ({ path }: { path: string }) => path.includes('/feed/');
  const requests = watchRequests(sandbox, [{ kind: 'server-error', times: 1000, match: isPage }]);
  await using worker = aWorker({ warehouse, sandbox, clock: () => now, concurrency: 2 });
  expect(await told(worker, 'job paused')).toMatchObject([
    { because: 'failures', resumesAt: new Date('2026-11-20T08:01:00Z') },
  ]);
  await told(worker, 'load closed');
  // Ten in a row, and those that were under way meanwhile; what waits is not tried.
  expect(requests.length).toBeLessThanOrEqual(10 + 2 + 2);

  sandbox.script([]);
  now = new Date('2026-11-20T08:00:59Z');
  await tickNow(db);
  now = new Date('2026-11-20T08:01:00Z');
  await tickNow(db);
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const { rows } = await sql`
    select pauses, resumes_at, paused_because from gmsi.schedules where command = 'backfill'`.execute(db);
  expect(rows, 'its next pause is a short one again').toEqual([
    { pauses: 0, resumes_at: null, paused_because: null },
  ]);
});

it('ends if it cannot be listed, instead of working unseen', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  await sql`drop table gmsi.workers`.execute(warehouse.db);
  await using worker = aWorker({ warehouse, sandbox });
  await expect(worker.ended).rejects.toThrow('gmsi.workers');
});

it('ends the run of a job whose budget is spent, also if the job was taken out of the schedule meanwhile', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const budget = { requests_per_month: 12, reserve: 0 };
  await registered(db, 'short', jobFor(scope, { schedule, budget, step: 'P3D' }), lastNight);
  let asked = 0;
  await using worker = aWorker({
    ...{ warehouse, sandbox },
    async aroundPage(ask) {
      if (asked++ === 0) await sql`delete from gmsi.schedules`.execute(db);
      return ask();
    },
  });
  expect(await told(worker, 'load closed')).toMatchObject([{ outcome: 'budget' }]);
});

it('pauses a job that could not be planned in any try, and goes on by itself', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'unplanned', jobFor(scope, { schedule, service }), lastNight);
  sandbox.script([{ kind: 'server-error', times: 1000 }]);
  await using worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await told(worker, 'task failed')).toMatchObject([{ task: 'gmsi.plan', isLast: false }]);
  await leaveOneTry(db, 'plan:backfill:unplanned');
  const resumesAt = new Date('2026-11-20T08:01:00Z');
  expect(await told(worker, 'job paused')).toMatchObject([
    { job: 'unplanned', command: 'backfill', because: 'failures', resumesAt },
  ]);

  sandbox.script([]);
  now = resumesAt;
  await vi.waitFor(
    async () => {
      await tickNow(db);
      expect(worker.events.filter(({ type }) => type === 'job begun')).toHaveLength(2);
    },
    { timeout: 20_000, interval: 300 },
  );
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('warns of a task that is not tried again, and of no other', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.2 });
  const { db } = warehouse;
  const one = { ...scope, countries: ['NO'] };
  await registered(db, 'in vain', jobFor(one, { schedule, service }), lastNight);
  const isPage = ({ path }: { path: string }) => path.includes('/feed/');
  sandbox.script([{ kind: 'server-error', times: 1000, match: isPage }]);
  const { log, lines } = aLog();
  await using worker = aWorker({ warehouse, sandbox, log });
  const { key } = (await told(worker, 'task failed'))[0]!;
  await leaveOneTry(db, key!);
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'incomplete' }]);
  const failed = lines.filter(({ msg }) => msg.startsWith('a task failed'));
  expect(failed).toMatchObject([
    { level: 20, key, attempt: 1 },
    { level: 40, key, attempt: 5, of: 5, msg: 'a task failed, and is not tried again' },
  ]);
});

/** Once a task has failed for the first time, lets it be tried at once and for the last time. */
async function leaveOneTry(db: Warehouse, key: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const { numAffectedRows } = await sql`
        update graphile_worker._private_jobs set attempts = max_attempts - 1, run_at = now()
        where key = ${key} and attempts = 1 and locked_at is null
      `.execute(db);
      expect(numAffectedRows).toBe(1n);
    },
    { timeout: 20_000, interval: 20 },
  );
}
