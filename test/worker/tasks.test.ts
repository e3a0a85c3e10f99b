import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { BudgetSpent } from '../../src/service/errors.ts';
import { countLabelled, isQueued } from '../../src/warehouse/tables/queue.ts';
import { runsUnderWay } from '../../src/warehouse/tables/runs.ts';
import { keepParts } from '../../src/worker/parts.ts';
import { pauseJob } from '../../src/worker/pause.ts';
import { plan } from '../../src/worker/plan.ts';
import { planTask, runLabel } from '../../src/worker/queue.ts';
import { tend } from '../../src/worker/tend.ts';
import { tick } from '../../src/worker/tick.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import {
  aPlannedRun,
  aWarehouseWithQueue,
  aWorker,
  aWorkerContext,
  registered,
  told,
} from '../support/a-worker.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { watchRequests } from '../support/watch-requests.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const schedule = { backfill: '0 1 * * *' };

it('a job whose planning waits in the queue is not begun again, however often it is due meanwhile', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  let now = new Date('2026-11-20T08:00:00Z');
  const context = aWorkerContext({ warehouse, sandbox, clock: () => now });
  await registered(db, 'nightly', jobFor(quarter, { schedule }), lastNight);
  await tick(context);
  const begun = [{ type: 'job begun', job: 'nightly', dueAt: new Date('2026-11-20T01:00:00Z') }];
  expect(context.emitted).toMatchObject(begun);
  for (const day of ['21', '22']) {
    now = new Date(`2026-11-${day}T08:00:00Z`);
    await tick(context);
  }
  expect(context.emitted).toMatchObject(begun);
  const { rows } = await sql`select fired_at from gmsi.schedules where command = 'backfill'`.execute(db);
  expect(rows).toEqual([{ fired_at: new Date('2026-11-20T08:00:00Z') }]);
});

it('each pause for failures is twice as long as the one before, up to an hour', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const now = new Date('2026-11-20T08:00:00Z');
  const context = aWorkerContext({ warehouse, sandbox, clock: () => now });
  await registered(warehouse.db, 'hopeless', jobFor(quarter, { schedule }), lastNight);
  const about = { job: 'hopeless', command: 'backfill' } as const;
  // One for the budget does not count among them.
  const spent = new BudgetSpent({ used: 1, limit: 1, resumesAt: new Date('2026-12-01T00:00:00Z') });
  await pauseJob(context, about, undefined, spent);
  for (let pause = 0; pause < 8; pause++) await pauseJob(context, about, undefined, new Error('no'));
  const minutes = context.emitted.slice(1).map((event) => {
    if (event.type !== 'job paused') throw new Error(`not expected: ${event.type}`);
    return (event.resumesAt.getTime() - now.getTime()) / 60_000;
  });
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

it('a job whose budget is spent before it is planned waits for the first of the month, and the worker goes on', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const context = aWorkerContext({ warehouse, sandbox });
  const budget = { requests_per_month: 1, reserve: 0 };
  await registered(warehouse.db, 'poor', jobFor(quarter, { schedule, budget }), lastNight);
  await plan(context, { job: 'poor', command: 'backfill' }, false);
  expect(context.emitted).toMatchObject([
    { type: 'job paused', because: 'budget', resumesAt: new Date('2026-12-01T00:00:00Z') },
  ]);
});

it('two workers that give up a run at the same time pause its job once, and take back what is queued of it', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  const { context, runId } = await aPlannedRun(
    { warehouse, sandbox },
    'hopeless',
    jobFor(quarter, { schedule }),
  );
  const about = { job: 'hopeless', command: 'backfill' } as const;
  await tend(context, keepParts(context), { run: runId });
  expect(await countLabelled(db, runLabel(runId))).toBeGreaterThan(0);
  await Promise.all([1, 2].map(() => pauseJob(context, about, runId, new Error('no'))));
  expect(context.emitted.filter(({ type }) => type === 'job paused')).toHaveLength(1);
  expect(await countLabelled(db, runLabel(runId))).toBe(0);
  const { rows } = await sql`select pauses from gmsi.schedules where command = 'backfill'`.execute(db);
  expect(rows).toEqual([{ pauses: 1 }]);

  // A task that a third worker had taken by then.
  const tasks: number[] = [];
  await keepParts(context).within(runId, async ({ load }) => void tasks.push(load.loadId));
  expect(tasks).toEqual([]);
});

it('a job that is removed while it runs has its run ended and nothing left in the queue', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  const { context, runId } = await aPlannedRun(
    { warehouse, sandbox },
    'removed',
    jobFor(quarter, { schedule }),
  );
  const parts = keepParts(context);
  await tend(context, parts, { run: runId });
  await sql`delete from gmsi.jobs`.execute(db);
  await tend(context, parts, { run: runId });
  expect(await runsUnderWay(db)).toEqual([]);
  expect(await countLabelled(db, runLabel(runId))).toBe(0);
});

it('a worker that stops while it plans a job leaves that to the next one', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  const stop = new AbortController();
  const context = aWorkerContext({ warehouse, sandbox }, stop.signal);
  await registered(db, 'planned', jobFor(quarter, { schedule }), lastNight);
  const due = { job: 'planned', command: 'backfill' } as const;
  const match = () => {
    stop.abort();
    return true;
  };
  sandbox.script([{ kind: 'server-error', times: 1000, match }]);
  await plan(context, due, false);
  expect(await isQueued(db, planTask(due).key)).toBe(true);
  expect(await runsUnderWay(db)).toEqual([]);
});

it('a job is synced when that is due, though its backfill is under way', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { db } = warehouse;
  const context = aWorkerContext({ warehouse, sandbox });
  const both = { ...schedule, sync: '30 * * * *' };
  await registered(db, 'busy', jobFor(quarter, { schedule: both }), lastNight);
  await plan(context, { job: 'busy', command: 'backfill' }, false);
  await tick(context);
  expect(context.emitted.filter(({ type }) => type === 'job begun')).toMatchObject([
    { job: 'busy', command: 'sync' },
  ]);
});

it('a task of a run that a worker could not take part in is tried again, by the next one', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { context, runId } = await aPlannedRun(
    { warehouse, sandbox },
    'unlucky',
    jobFor(quarter, { schedule }),
  );
  let opened = 0;
  const parts = keepParts({
    ...context,
    openService(...of) {
      if (++opened === 1) throw new Error('no connection');
      return context.openService(...of);
    },
  });
  onTestFinished(() => parts.closeAll({ outcome: 'interrupted', error: undefined }));
  const tasks: string[] = [];
  await expect(parts.within(runId, async () => void tasks.push('first'))).rejects.toThrow('no connection');
  await parts.within(runId, async () => void tasks.push('second'));
  expect(tasks).toEqual(['second']);
});

it('a worker that has left a run does nothing for it any more, though a task of it was handed out', async () => {
  await using warehouse = await aWarehouseWithQueue();
  await using sandbox = await startSandbox({ limits: null });
  const { context, runId } = await aPlannedRun({ warehouse, sandbox }, 'left', jobFor(quarter, { schedule }));
  const parts = keepParts(context);
  onTestFinished(() => parts.closeAll({ outcome: 'interrupted', error: undefined }));
  const tasks: string[] = [];
  await parts.within(runId, async () => void tasks.push('before'));
  parts.leave(runId);
  await parts.within(runId, async () => void tasks.push('after'));
  expect(tasks).toEqual(['before']);
});

it('a worker that stops in the middle of live answers leaves only the rest to others', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const clock = () => new Date('2026-11-20T12:00:00Z');
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
  const { db } = warehouse;
  const scope = {
    countries: ['US', 'NO', 'DE'],
    topics: ['Inflation-Food', 'Policy Outlook'],
    from: '2026-11-19',
    to: '2026-11-20',
  };
  const job = jobFor(scope, { schedule: { sync: '30 * * * *' }, service: { concurrency: 1 } });
  await registered(db, 'hourly', { ...job, end_date: 'today' }, new Date('2026-11-20T11:00:00Z'));
  const requests = watchRequests(sandbox);
  const live = () => requests.filter(({ path }) => path.includes('/live/'));
  let stopped: Promise<void> | undefined;
  await using one = aWorker({
    ...{ warehouse, sandbox, clock },
    async aroundPage(ask) {
      const page = await ask();
      if (live().length === 2) stopped ??= one.stop();
      return page;
    },
  });
  await told(one, 'worker stopped');
  await stopped;
  expect(live().length).toBeLessThan(6);

  await using two = aWorker({ warehouse, sandbox, clock });
  expect(await told(two, 'run finished')).toMatchObject([{ outcome: 'done' }]);
  expect(live()).toHaveLength(6);
  expect(new Set(live().map(({ path, query }) => `${path} ${query.topic}`)).size).toBe(6);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('a run that was planned before a probe learned that end_date is ignored is planned again, in windows to today', async () => {
  await using warehouse = await aWarehouseWithQueue();
  const clock = () => new Date('2026-11-20T12:00:00Z');
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1, endDate: 'ignored' });
  const { db } = warehouse;
  const autumn = { ...quarter, from: '2026-09-01', to: '2026-10-31' };
  await registered(db, 'nightly', jobFor(autumn, { schedule }), lastNight);
  await plan(aWorkerContext({ warehouse, sandbox, clock }), { job: 'nightly', command: 'backfill' }, false);
  const fact = { feed: 'gmsi-headlines', fact: 'end_date', value: '"ignored"', evidence: 'a test' };
  await db.insertInto('gmsi.learned_facts').values(fact).execute();

  const requests = watchRequests(sandbox);
  await using worker = aWorker({ warehouse, sandbox, clock });
  const [ended] = await told(worker, 'run finished');
  expect(ended).toMatchObject({ outcome: 'done' });
  const runs = await db.selectFrom('gmsi.runs').select('outcome').orderBy('run_id').execute();
  expect(runs).toEqual([{ outcome: 'failed' }, { outcome: 'done' }]);
  expect(requests.some(({ query }) => 'end_date' in query)).toBe(false);
  const windows = await db.selectFrom('gmsi.windows').select(['state', 'first_day', 'last_day']).execute();
  const one = { state: 'drained', first_day: autumn.from, last_day: '2026-11-20' };
  expect(windows).toEqual(autumn.countries.flatMap(() => autumn.topics.map(() => one)));
  const all = { ...autumn, to: '2026-11-20' };
  expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
});
