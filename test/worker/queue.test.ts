import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { planWindows } from '../../src/plan/plan-windows.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { queueWindows, unlockAbandoned } from '../../src/warehouse/tables/queue.ts';
import type { WindowScope } from '../../src/warehouse/tables/series.ts';
import { drainTasks } from '../../src/worker/queue.ts';
import { jobFor } from '../cli/jobs.ts';
import { aWarehouseWithQueue, aWorker, registered, told } from '../support/a-worker.ts';
import { aJobFor } from '../support/run-backfill.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const january = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-30' };
const scopeOf = (countries: string[]): WindowScope => ({
  ...{ feed: 'gmsi-headlines', countries, topics: ['Inflation-Food'], tickers: [''], matchType: 'COMBINED' },
  ...{ variants: [''], from: '2024-01-01', to: '2024-12-31' },
});
const since = { startedAt: new Date('2100-01-01T00:00:00Z'), newestFirst: true, leaseSeconds: 30 };

it('queues each window once, half-drained ones first, then the newest days, all series in turn', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const { db } = warehouse;
  const scope = scopeOf(['NO', 'US']);
  await plan(db, scope, 'P90D');
  await sql`update gmsi.windows set next_token = 'half' where country = 'NO' and first_day = '2024-01-01'`.execute(
    db,
  );
  expect(await queueWindows(db, scope, since, drainTasks(1, 'backfill'), 7)).toBe(7);
  expect(await queueWindows(db, scope, since, drainTasks(1, 'backfill'), 500)).toBe(3);
  expect(await queueWindows(db, scope, since, drainTasks(2, 'sync'), 500)).toBe(0);

  const windows = new Map((await windowsOf(db)).map((w) => [`window:${w.window_id}`, w]));
  const order = (await queued(db)).map(({ key }) => windows.get(key!)!);
  expect(order.map(({ country, last_day }) => `${country} ${last_day}`)).toEqual([
    'NO 2024-01-06',
    ...['US 2024-12-31', 'NO 2024-12-31', 'US 2024-10-02', 'NO 2024-10-02', 'US 2024-07-04', 'NO 2024-07-04'],
    ...['US 2024-04-05', 'NO 2024-04-05', 'US 2024-01-06'],
  ]);
});

it('queues a window again whose task was tried in vain too often, in a run that is over', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const { db } = warehouse;
  const scope = scopeOf(['NO']);
  await plan(db, scope, 'P90D');
  await queueWindows(db, scope, since, drainTasks(1, 'backfill'), 500);
  await sql`update graphile_worker._private_jobs set attempts = max_attempts`.execute(db);
  expect(await queueWindows(db, scope, since, drainTasks(2, 'backfill'), 500)).toBe(5);
  expect((await queued(db)).filter(({ key }) => key !== null)).toMatchObject(
    Array(5).fill({ run: 2, attempts: 0 }),
  );
});

it('drains what two jobs have in common once, and the one that finds it queued already waits for it', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const clock = () => new Date('2026-11-20T12:00:00Z');
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
  const { db } = warehouse;
  const job = jobFor(january, { step: 'P6D', schedule: { backfill: '30 * * * *' } });
  for (const name of ['one', 'two']) await registered(db, name, job, new Date('2026-11-20T11:00:00Z'));
  await using worker = aWorker({ warehouse, sandbox, clock, concurrency: 1 });
  expect(await told(worker, 'run finished', 2)).toMatchObject(Array(2).fill({ outcome: 'done' }));
  expect(await told(worker, 'window settled')).toHaveLength(10);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
});

it('lets backfills take turns: of a large one only so much is queued that a small one comes next', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const { db } = warehouse;
  await plan(db, scopeOf(['NO', 'US']), 'P1D');
  await plan(db, scopeOf(['DE']), 'P90D');
  await queueWindows(db, scopeOf(['NO', 'US']), since, drainTasks(1, 'backfill'), 500);
  await queueWindows(db, scopeOf(['DE']), since, drainTasks(2, 'backfill'), 500);
  const runs = (await queued(db)).map(({ run }) => run);
  expect(runs).toEqual([...Array(500).fill(1), ...Array(5).fill(2)]);
});

it('drains what a sync has queued before what a backfill has', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const clock = () => new Date('2026-11-20T12:00:00Z');
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
  const { db } = warehouse;
  const before = new Date('2026-11-20T11:00:00Z');
  await registered(
    db,
    'a backfill',
    jobFor(january, { step: 'P6D', schedule: { backfill: '30 * * * *' } }),
    before,
  );
  const recent = { ...january, from: '2026-11-17', to: '2026-11-20' };
  await registered(
    db,
    'some sync',
    { ...jobFor(recent, { schedule: { sync: '30 * * * *' } }), end_date: 'today' },
    before,
  );
  await using worker = aWorker({ warehouse, sandbox, clock, concurrency: 1 });
  await told(worker, 'run finished', 2);
  const jobs = (await told(worker, 'window settled')).map(({ job }) => job);
  expect(jobs.slice(0, 2)).toEqual(Array(2).fill('some sync'));
  expect(jobs.slice(2)).toEqual(Array(10).fill('a backfill'));
});

it('gives back the tasks that nobody works on any more, and the try that was cut short', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const { db } = warehouse;
  const scope = scopeOf(['NO']);
  await plan(db, scope, 'P60D');
  await queueWindows(db, scope, since, drainTasks(1, 'backfill'), 500);
  const worker = { run_by: 'test', version: 'test', key_fingerprint: 'k', concurrency: 1 };
  await db
    .insertInto('gmsi.workers')
    .values([
      { ...worker, worker_id: 'alive' },
      { ...worker, worker_id: 'silent', heartbeat_at: '2026-01-01T00:00:00Z' },
      { ...worker, worker_id: 'stopped', stopped_at: '2026-01-01T00:00:00Z' },
    ])
    .execute();
  const holders = ['alive', 'silent', 'stopped', 'unheard of', 'just begun', 'own', 'own'];
  const tasks = await queued(db);
  for (const [index, holder] of holders.entries()) {
    const lockedAt = holder === 'just begun' ? sql`now()` : sql`now() - interval '1 minute'`;
    await sql`
      update graphile_worker._private_jobs set locked_by = ${holder}, locked_at = ${lockedAt}, attempts = ${index + 1}
      where key = ${tasks[index]!.key}
    `.execute(db);
  }
  const own = { workerId: 'own', inHand: [tasks[5]!.id] };
  expect(await unlockAbandoned(db, own, 30)).toBe(4);
  expect(await unlockAbandoned(db, own, 30)).toBe(0);
  expect((await queued(db)).map(({ locked_by, attempts }) => [locked_by, attempts])).toEqual([
    ['alive', 1],
    [null, 1],
    [null, 2],
    [null, 3],
    ['just begun', 5],
    ['own', 6],
    [null, 6],
  ]);
});

it('has the heartbeat of a worker give back what another one left, and works it off', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const { db } = warehouse;
  const scope = scopeOf(['NO']);
  await plan(db, scope, 'P60D');
  const left = await queueWindows(db, scope, since, drainTasks(1, 'backfill'), 500);
  await sql`
    update graphile_worker._private_jobs set locked_by = 'killed', locked_at = now() - interval '1 minute'`.execute(
    db,
  );
  // Their run is unknown, so that nothing is asked for.
  await using worker = aWorker({ warehouse, sandbox: { url: 'http://localhost:9' } });
  expect(await told(worker, 'tasks recovered')).toMatchObject([{ tasks: left }]);
  await expect.poll(() => queued(db)).toEqual([]);
});

async function plan(db: Warehouse, scope: WindowScope, step: string): Promise<void> {
  const { countries, topics, from, to } = scope;
  const job = aJobFor({ countries, topics, from, to }, { step, service: { end_date: 'inclusive' } });
  await planWindows(db, job, scope, { fullRefresh: false, retryRefused: false }, '2026-11-20');
}

/** The queue in the order in which it is worked off. */
async function queued(db: Warehouse) {
  const { rows } = await sql<{
    id: string;
    key: string | null;
    run: number;
    locked_by: string | null;
    attempts: number;
  }>`
    select id, key, (select split_part(flag, ':', 2)::int from jsonb_object_keys(flags) as flag) as run, locked_by, attempts
    from graphile_worker.jobs order by priority, run_at
  `.execute(db);
  return rows;
}
