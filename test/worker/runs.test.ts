import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { saveLearnedFacts } from '../../src/warehouse/tables/learned.ts';
import { startLoad } from '../../src/warehouse/tables/loads.ts';
import { isQueued } from '../../src/warehouse/tables/queue.ts';
import { runsUnderWay } from '../../src/warehouse/tables/runs.ts';
import { claimOne, leaveWindow } from '../../src/warehouse/tables/windows.ts';
import { keepParts } from '../../src/worker/parts.ts';
import { plan } from '../../src/worker/plan.ts';
import { tendTask } from '../../src/worker/queue.ts';
import { tend } from '../../src/worker/tend.ts';
import { tick } from '../../src/worker/tick.ts';
import { jobFor, scope as year } from '../cli/jobs.ts';
import { aPlannedRun, aWarehouseWithQueue, aWorker, registered, told } from '../support/a-worker.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const scope = { ...year, topics: ['Inflation-Food'], to: '2024-01-20' };
const schedule = { backfill: '0 1 * * *' };
const lastNight = new Date('2026-11-19T20:00:00Z');
const due = { job: 'job', command: 'backfill' } as const;

it('a run that is begun again while it is under way tries the windows again that had failed by then', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const twoWindows = jobFor(scope, { schedule, step: 'P10D' });
  const { context, runId } = await aPlannedRun({ warehouse, sandbox }, 'job', twoWindows);
  const parts = keepParts(context);
  onTestFinished(() => parts.closeAll({ outcome: 'interrupted', error: undefined }));
  const [bad, held] = await windowsOf(db);
  const loadId = await startLoad(db, {
    ...{ command: 'backfill', job: 'job', feed: 'gmsi-headlines', run_by: 'another worker' },
  });
  // One has failed, and the other keeps the run from its end.
  for (const { window_id } of [bad!, held!]) await claimOne(db, window_id, { loadId, leaseSeconds: 30 });
  await leaveWindow(db, { windowId: bad!.window_id, loadId }, { state: 'failed', error: 'broken' });
  const key = `window:${bad!.window_id}`;

  await tend(context, parts, { run: runId });
  expect(await isQueued(db, key), 'in the run in which it has failed').toBe(false);
  await plan(context, due, false);
  expect(await runsUnderWay(db), 'the same run').toMatchObject([{ run_id: runId }]);
  await tend(context, parts, { run: runId });
  expect(await isQueued(db, key), 'in the run that was begun again').toBe(true);
});

it('asks the service for days as a probe has learned that it reads them', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1, endDate: 'inclusive' });
  const { db } = warehouse;
  await saveLearnedFacts(db, 'gmsi-headlines', [{ fact: 'end_date', value: 'inclusive', evidence: 'seen' }]);
  await aPlannedRun({ warehouse, sandbox }, 'job', jobFor(scope, { schedule }));
  const requests = watchRequests(sandbox);
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  expect(new Set(firstPages(requests).map(({ query }) => query.end_date))).toEqual(new Set([scope.to]));
});

it('looks for the first day that the service answers, also by a worker that has drained nothing of the run', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const { context, runId } = await aPlannedRun({ warehouse, sandbox }, 'job', jobFor(scope, { schedule }));
  await sql`update gmsi.windows set state = 'refused', refused_with = 422, finished_at = now()`.execute(db);
  await tend(context, keepParts(context), { run: runId });
  expect(await runsUnderWay(db)).toMatchObject([{ run_id: runId }]);
  // The younger half of a window, for one series may show the day of the others.
  const pending = (await windowsOf(db)).filter(({ state }) => state === 'pending');
  expect(pending).toMatchObject([{ first_day: '2024-01-11', last_day: '2024-01-20' }]);
});

const waysToLoseIt: [string, (db: Warehouse, key: string) => Promise<unknown>][] = [
  ['is gone', (db, key) => sql`delete from graphile_worker._private_jobs where key = ${key}`.execute(db)],
  [
    'was tried in vain too often',
    (db, key) =>
      sql`update graphile_worker._private_jobs set attempts = max_attempts where key = ${key}`.execute(db),
  ],
];
it('a run whose task that tends it is lost is tended again within the minute, also one that was only queued by hand', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const { db } = warehouse;
  const byHand = jobFor(scope);
  const { context, runId } = await aPlannedRun({ warehouse, sandbox }, 'job', byHand);
  const { key } = tendTask(runId);
  for (const definition of [byHand, jobFor(scope, { schedule })]) {
    await registered(db, 'job', definition, lastNight);
    for (const [how, lose] of waysToLoseIt) {
      expect(await isQueued(db, key), how).toBe(true);
      await lose(db, key);
      expect(await isQueued(db, key), how).toBe(false);
      await tick(context);
    }
  }
  await using worker = aWorker({ warehouse, sandbox });
  expect(await told(worker, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});
