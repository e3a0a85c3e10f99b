import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aLog } from '../support/a-log.ts';
import {
  aWarehouseWithQueue,
  aWorker,
  registered,
  tickNow,
  told,
  type WorkerInTest,
} from '../support/a-worker.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, windowsOf } from '../support/warehouse-state.ts';

const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
const lastNight = new Date('2026-11-19T20:00:00Z');

it('begins a job once, though two workers find it due, and catches up what was missed once', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  const clock = () => now;
  await registered(db, 'hourly', jobFor(scope, { schedule: { backfill: '15 * * * *' } }), lastNight);
  await using one = aWorker({ warehouse, sandbox, clock });
  await using two = aWorker({ warehouse, sandbox, clock });
  const workers = [one, two];
  await told(workers, 'run finished');
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));

  await ticked(db, workers);
  now = new Date('2026-11-20T08:14:59Z');
  await ticked(db, workers);
  expect(await told(workers, 'job begun')).toEqual([
    { type: 'job begun', job: 'hourly', command: 'backfill', dueAt: new Date('2026-11-19T20:15:00Z') },
  ]);

  now = new Date('2026-11-20T08:15:00Z');
  await ticked(db, workers);
  await told(workers, 'run finished', 2);
  expect((await told(workers, 'job begun')).map(({ dueAt }) => dueAt.toISOString()).toSorted()).toEqual([
    '2026-11-19T20:15:00.000Z',
    '2026-11-20T08:15:00.000Z',
  ]);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

it('leaves a job that is still under way to go on, and begins it again once it is through', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  await registered(db, 'hourly', jobFor(scope, { schedule: { backfill: '0 * * * *' } }), lastNight);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await using worker = aWorker({
    ...{ warehouse, sandbox, clock: () => now },
    aroundPage: (ask) => held.then(ask),
  });
  await told(worker, 'load opened');
  now = new Date('2026-11-20T10:00:00Z');
  await ticked(db, [worker]);
  expect(await told(worker, 'job begun')).toHaveLength(1);

  letGo();
  await told(worker, 'run finished');
  await ticked(db, [worker]);
  expect((await told(worker, 'job begun', 2))[1]).toMatchObject({ dueAt: new Date('2026-11-20T09:00:00Z') });
  await told(worker, 'run finished', 2);
});

it('does not begin what was due before it was scheduled, nor what is no longer scheduled', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  const hourly = jobFor(scope, { schedule: { backfill: '0 * * * *', sync: '30 * * * *' } });
  await registered(db, 'new', hourly, now);
  await registered(db, 'gone', hourly, now);
  await registered(db, 'gone', jobFor(scope), now);
  await using worker = aWorker({ warehouse, sandbox, clock: () => now });
  await told(worker, 'worker started');
  await ticked(db, [worker]);
  expect(worker.events.filter(({ type }) => type === 'job begun')).toEqual([]);
  now = new Date('2026-11-20T09:00:00Z');
  await ticked(db, [worker]);
  expect(await told(worker, 'job begun')).toMatchObject([
    { job: 'new', command: 'backfill' },
    { job: 'new', command: 'sync' },
  ]);
});

it('runs a job that only another machine has the file of, as it was read last', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const schedule = { backfill: '0 * * * *' };
  await registered(db, 'far', jobFor({ ...scope, countries: ['US'] }, { schedule }), lastNight);
  await registered(db, 'far', jobFor(scope, { schedule }), lastNight);
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ job: 'far', outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await heldBy(db, { ...scope, countries: ['US'] })).toEqual([]);
});

it('begins the other jobs, too, if one that is paused cannot be read by this version', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const job = jobFor(scope, { schedule: { backfill: '15 * * * *' } });
  await registered(db, 'a newer one', { ...job, schedule: undefined }, lastNight);
  await sql`update gmsi.jobs set definition = definition || '{"unheard_of": 1}'`.execute(db);
  await sql`update gmsi.schedules set resumes_at = '2026-12-01', paused_because = 'budget'`.execute(db);
  await registered(db, 'plain', job, lastNight);
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ job: 'plain', outcome: 'done' }]);
});

it('does not drain what a run was planned for with what its job asks for by now, and plans that instead', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const job = jobFor(scope, { step: 'P5D', schedule: { backfill: '15 * * * *' } });
  await registered(db, 'edited', job, lastNight);
  const first: WorkerInTest = aWorker({
    ...{ warehouse, sandbox, concurrency: 1 },
    aroundPage(ask) {
      void first.stop();
      return ask();
    },
  });
  await first.ended;
  const left = await openWindows(db);
  expect(left.length).toBeGreaterThan(1);

  await registered(db, 'edited', { ...job, feed: 'gmsi-index' }, lastNight);
  await using second = aWorker({ warehouse, sandbox });
  expect(await told(second, 'run finished')).toMatchObject([{ job: 'edited', outcome: 'done' }]);
  expect(await openWindows(db)).toEqual(left);
  expect(await countRows(db, 'gmsi_index')).toBeGreaterThan(0);
});

it('ends a run whose job turns unreadable under way, and leaves the job until it is due again', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const job = jobFor(scope, { step: 'P5D', schedule: { backfill: '0 1 * * *' } });
  await registered(db, 'garbled', job, lastNight);
  const first: WorkerInTest = aWorker({
    ...{ warehouse, sandbox, concurrency: 1 },
    aroundPage(ask) {
      void first.stop();
      return ask();
    },
  });
  await first.ended;
  const left = await openWindows(db);
  expect(left.length).toBeGreaterThan(1);
  expect((await drainTasksOf(db)).length).toBeGreaterThan(1);

  await sql`update gmsi.jobs set definition = definition || '{"unheard_of": 1}'`.execute(db);
  const { log, lines } = aLog();
  let now = new Date('2026-11-20T12:00:00Z');
  await using second = aWorker({ warehouse, sandbox, log, clock: () => now });
  expect(await told(second, 'job refused')).toMatchObject([{ job: 'garbled', command: 'backfill' }]);
  expect(lines.filter(({ level }) => level >= 50)).toMatchObject([
    { job: 'garbled', why: expect.stringContaining('unheard_of') },
  ]);
  await vi.waitFor(async () => expect(await drainTasksOf(db)).toEqual([]), { timeout: 20_000 });
  expect(await db.selectFrom('gmsi.runs').select(['outcome', 'error']).execute()).toEqual([
    { outcome: 'failed', error: expect.stringContaining('unheard_of') },
  ]);
  expect(await openWindows(db)).toEqual(left);
  expect(second.events.filter(({ type }) => type === 'task failed')).toEqual([]);

  await registered(db, 'garbled', job, lastNight);
  await ticked(db, [second]);
  expect(second.events.filter(({ type }) => type === 'job begun')).toEqual([]);
  now = new Date('2026-11-21T01:00:00Z');
  await ticked(db, [second]);
  expect(await told(second, 'run finished')).toMatchObject([{ job: 'garbled', outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it.each([
  ['cron', '61 * * * *', { cron: '61 * * * *' }],
  ['timezone', 'Mars/Olympus', { timezone: 'Mars/Olympus' }],
] as const)(
  'begins the other jobs, too, where this machine does not know the %s of one (%s)',
  async (_, __, foreign) => {
    await using warehouse = await aWarehouseWithQueue();
    await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
    const { db } = warehouse;
    const job = jobFor(scope, { schedule: { backfill: '15 * * * *' } });
    await registered(db, 'a foreign one', job, lastNight);
    await db.updateTable('gmsi.schedules').set(foreign).where('command', '=', 'backfill').execute();
    await registered(db, 'plain', job, lastNight);
    const { log, lines } = aLog();
    await using worker = aWorker({ warehouse, sandbox, log });
    expect(await told(worker, 'run finished')).toMatchObject([{ job: 'plain', outcome: 'done' }]);
    expect(await told(worker, 'job begun')).toMatchObject([{ job: 'plain' }]);
    expect(lines.filter(({ level }) => level >= 50)[0]).toMatchObject({
      ...{ job: 'a foreign one', command: 'backfill' },
      ...foreign,
    });
  },
);

async function drainTasksOf(db: Warehouse) {
  const { rows } = await sql`select from graphile_worker.jobs where task_identifier = 'gmsi.drain'`.execute(
    db,
  );
  return rows;
}

async function openWindows(db: Warehouse) {
  const open = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
  return open.map(({ window_id }) => window_id);
}

/** Lets the schedules be looked at, and waits until they have been. */
async function ticked(db: Warehouse, workers: readonly WorkerInTest[]): Promise<void> {
  const key = await tickNow(db);
  const events = () => workers.flatMap((worker) => worker.events);
  await vi.waitFor(
    () => expect(events()).toContainEqual(expect.objectContaining({ type: 'task finished', key })),
    { timeout: 20_000, interval: 20 },
  );
}
