import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aWorker, registered, tickNow, told } from '../support/a-worker.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const schedule = { backfill: '0 1 * * *' };
const service = { max_attempts: 1 };

it('tries a window that failed again in the same run, from its last good page on', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  await registered(db, 'flaky', jobFor(quarter, { schedule, service }), lastNight);
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
  expect(await heldBy(db, quarter)).toEqual(servedBy(sandbox, quarter));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
});

it('does not ask for a window again that was refused; the next run does', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'refused', jobFor(quarter, { schedule, service }), lastNight);
  const inNorway = ({ path }: { path: string }) => path.endsWith('/NO');
  const requests = watchRequests(sandbox, [
    { kind: 'refuse', status: 422, detail: 'not today', match: inNorway, times: 4 },
  ]);
  await using worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'incomplete' }]);
  expect(requests.filter(inNorway)).toHaveLength(4);
  expect((await windowsOf(db)).filter(({ state }) => state === 'failed')).toHaveLength(4);

  now = new Date('2026-11-21T08:00:00Z');
  await tickNow(db);
  expect(await told(worker, 'run finished', 2)).toMatchObject([{}, { outcome: 'done' }]);
  expect(await heldBy(db, quarter)).toEqual(servedBy(sandbox, quarter));
});

it('pauses a job whose windows fail one after the other, and goes on by itself', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  const job = jobFor(quarter, { schedule, step: 'P5D', service: { ...service, concurrency: 2 } });
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
  expect(await heldBy(db, quarter)).toEqual(servedBy(sandbox, quarter));
});
