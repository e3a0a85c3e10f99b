import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { plan } from '../../src/worker/plan.ts';
import { jobFor } from '../cli/jobs.ts';
import { aWarehouseWithQueue, aWorker, aWorkerContext, registered, told } from '../support/a-worker.ts';
import { aJobFor, runSync } from '../support/run-backfill.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const beforeNoon = new Date('2026-11-20T11:00:00Z');
const scope = {
  countries: ['US', 'NO', 'DE'],
  topics: ['Inflation-Food', 'Policy Outlook'],
  from: '2026-11-17',
  to: '2026-11-20',
};
const service = { page_size: 1000 };
const schedule = { sync: '30 * * * *' };

it('syncs a job between two workers: its days are drained, and each live answer is read once', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  await registered(db, 'hourly', { ...jobFor(scope, { service, schedule }), end_date: 'today' }, beforeNoon);
  const requests = watchRequests(sandbox);
  await using one = aWorker({ warehouse, sandbox, clock, concurrency: 2 });
  await using two = aWorker({ warehouse, sandbox, clock, concurrency: 2 });
  expect(await told([one, two], 'run finished')).toMatchObject([{ command: 'sync', outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const live = requests.filter(({ path }) => path.includes('/live/'));
  expect(live.map(({ path, query }) => `${path} ${query.topic}`).toSorted()).toHaveLength(6);
  expect(new Set(live.map(({ path, query }) => `${path} ${query.topic}`)).size).toBe(6);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

it('asks the historical feed for what a live answer may have left out', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 33 });
  const { db } = warehouse;
  const one = { ...scope, countries: ['US'], topics: ['Inflation-Food'], from: '2026-11-19' };
  await registered(db, 'busy', { ...jobFor(one, { service, schedule }), end_date: 'today' }, beforeNoon);
  const requests = watchRequests(sandbox);
  await using worker = aWorker({ warehouse, sandbox, clock });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  const paths = requests.map(({ path }) => (path.includes('/live/') ? 'live' : 'historical'));
  expect(paths.at(-1)).toBe('historical');
  expect(paths.filter((path) => path === 'live')).toHaveLength(1);
  expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
});

it('waits for the first of the month if its live answers spend the budget', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  // Two lists, the windows of two series, one live answer.
  const budget = { requests_per_month: 5, reserve: 0 };
  const job = jobFor({ ...scope, countries: ['US'] }, { service, schedule, budget });
  await registered(db, 'poor', { ...job, end_date: 'today' }, beforeNoon);
  await using worker = aWorker({ warehouse, sandbox, clock, concurrency: 1 });
  expect(await told(worker, 'job paused')).toMatchObject([
    { because: 'budget', resumesAt: new Date('2026-12-01T00:00:00Z') },
  ]);
  expect(await told(worker, 'load closed')).toMatchObject([{ outcome: 'budget' }]);
});

it('is incomplete if no live answer can be read, though all its days are drained', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  const job = jobFor(scope, { service: { ...service, max_attempts: 1 }, schedule });
  await registered(db, 'deaf', { ...job, end_date: 'today' }, beforeNoon);
  sandbox.script([{ kind: 'server-error', times: 100, match: ({ path }) => path.includes('/live/') }]);
  await using worker = aWorker({ warehouse, sandbox, clock });
  expect(await told(worker, 'run finished')).toMatchObject([{ command: 'sync', outcome: 'incomplete' }]);
  expect(await told(worker, 'load closed')).toMatchObject([{ outcome: 'incomplete' }]);
  const { rows } = await sql`select live_failed from gmsi.runs`.execute(db);
  expect(rows).toEqual([{ live_failed: 6 }]);
  expect((await windowsOf(db)).every(({ state }) => state === 'drained')).toBe(true);
});

it('is left to the workers by gmsi sync while they are at it', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  await registered(db, 'test', { ...jobFor(scope, { service, schedule }), end_date: 'today' }, beforeNoon);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await using worker = aWorker({ warehouse, sandbox, clock, aroundPage: (ask) => held.then(ask) });
  await told(worker, 'load opened');
  const { requests } = sandbox.stats();
  const job = aJobFor(scope, { end_date: 'today' });
  expect(await runSync({ job, db, sandbox, clock })).toMatchObject({ isElsewhere: true });
  expect(sandbox.stats().requests).toBe(requests);
  letGo();
  await told(worker, 'run finished');
});

it('is left to gmsi sync by the workers while that is at it', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  await registered(db, 'test', { ...jobFor(scope, { service, schedule }), end_date: 'today' }, beforeNoon);
  const context = aWorkerContext({ warehouse, sandbox, clock });
  let planned: Promise<void> | undefined;
  const result = await runSync({
    ...{ job: aJobFor(scope, { end_date: 'today' }), db, sandbox, clock },
    async aroundPage(ask) {
      planned ??= plan(context, { job: 'test', command: 'sync' }, true);
      await planned;
      return ask();
    },
  });
  expect(result).toMatchObject({ outcome: 'done', isElsewhere: false });
  expect(await countRows(db, 'runs')).toBe(0);
  expect(context.emitted).toEqual([]);
});

it('is left to a worker by gmsi sync from its planning on, until its run has begun', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.2 });
  const { db } = warehouse;
  await registered(db, 'test', { ...jobFor(scope, { service, schedule }), end_date: 'today' }, beforeNoon);
  const job = aJobFor(scope, { end_date: 'today' });
  const lock = await db.startTransaction().execute();
  // The run is planned, and cannot begin yet.
  await sql`lock table gmsi.runs in exclusive mode`.execute(lock);
  await using worker = aWorker({ warehouse, sandbox, clock });
  await vi.waitFor(
    async () => {
      const { rows } = await sql`
        select from pg_locks where relation = 'gmsi.runs'::regclass and not granted
      `.execute(db);
      expect(rows).toHaveLength(1);
    },
    { timeout: 20_000, interval: 20 },
  );
  const meanwhile = await runSync({ job, db, sandbox, clock });
  await lock.rollback().execute();
  expect(meanwhile).toMatchObject({ isElsewhere: true });
  expect(await told(worker, 'run finished')).toMatchObject([{ command: 'sync', outcome: 'done' }]);
});
