import { expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aWorker, registered, tickNow, told, type WorkerInTest } from '../support/a-worker.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';

const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
const lastNight = new Date('2026-11-19T20:00:00Z');

it('begins a job once, though two workers find it due, and catches up what was missed once', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
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
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
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
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
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
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  const schedule = { backfill: '0 * * * *' };
  await registered(db, 'far', jobFor({ ...scope, countries: ['US'] }, { schedule }), lastNight);
  await registered(db, 'far', jobFor(scope, { schedule }), lastNight);
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ job: 'far', outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await heldBy(db, { ...scope, countries: ['US'] })).toEqual([]);
});

/** Lets the schedules be looked at, and waits until they have been. */
async function ticked(db: Warehouse, workers: readonly WorkerInTest[]): Promise<void> {
  const key = await tickNow(db);
  const events = () => workers.flatMap((worker) => worker.events);
  await vi.waitFor(
    () => expect(events()).toContainEqual(expect.objectContaining({ type: 'task finished', key })),
    { timeout: 20_000, interval: 20 },
  );
}
