import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { dueExports, takeJob } from '../../src/warehouse/tables/schedules.ts';
import { jobFor } from '../cli/jobs.ts';
import { aGate } from '../support/a-gate.ts';
import { listed } from '../support/a-process.ts';
import {
  aRound,
  aWorker,
  loadsBegun,
  loadsEnded,
  registered,
  type WorkerInTest,
} from '../support/a-worker.ts';
import { aJobFor, runSync, usualClock } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const beforeNoon = new Date('2026-11-20T11:00:00Z');
const scope = {
  countries: ['US', 'NO', 'DE'],
  topics: ['Inflation-Food', 'Policy Outlook'],
  from: '2026-11-17',
  to: '2026-11-20',
};
const service = { page_size: 1000 };
const schedule = { sync: '30 * * * *' };
const hourly = { ...jobFor(scope, { service, schedule }), end_date: 'today' };

const it = serving({ volume: 0.2 });

it('drains and reads each answer once, though there are two workers', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'hourly', hourly, beforeNoon);
  const requests = watchRequests(sandbox);
  await using _one = aWorker({ warehouse, sandbox });
  await using _two = aWorker({ warehouse, sandbox });
  expect(await loadsEnded(db)).toMatchObject([{ command: 'sync', outcome: 'done' }]);
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(1);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const live = requests.filter(({ path }) => path.includes('/live/'));
  expect(live).toHaveLength(6);
  expect(new Set(live.map(({ path, query }) => `${path} ${query.topic}`)).size).toBe(6);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

it('is left to the workers by gmsi sync while they are at it', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'test', hourly, beforeNoon);
  const { held, letGo } = aGate();
  await using _worker = aWorker({ warehouse, sandbox, aroundPage: (ask) => held.then(ask) });
  await loadsBegun(db);
  const { requests } = sandbox.stats();
  const job = aJobFor(scope, { end_date: 'today' });
  expect(await runSync({ job, db, sandbox })).toMatchObject({ isElsewhere: true });
  expect(sandbox.stats().requests).toBe(requests);
  letGo();
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'done' }]);
});

it('is left to gmsi sync while that runs, and then done', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'test', { ...hourly, exports: [{ to: '/nowhere' }] }, beforeNoon);
  await using worker = await startedMeanwhile(db, () => aWorker({ warehouse, sandbox }));
  const result = await runSync({
    job: aJobFor(scope, { end_date: 'today' }),
    db,
    sandbox,
    async aroundPage(ask) {
      await worker.start();
      expect(await db.selectFrom('gmsi.loads').select('load_id').execute()).toHaveLength(1);
      expect(await dueExports(db, usualClock()), 'nothing was loaded that could be exported').toEqual([]);
      return ask();
    },
  });
  expect(result).toMatchObject({ outcome: 'done', isElsewhere: false });
  expect(await loadsEnded(db, 2)).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
});

it('of a lost gmsi sync is continued after the lease', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'test', hourly, beforeNoon);
  const lost = { processId: 'lost', leaseSeconds: 10 };
  await listed(db, 'lost', 'sync');
  expect(await takeJob(db, { job: 'test', command: 'sync' }, lost)).toBe(true);
  await using _worker = aWorker({ warehouse, sandbox });
  await aRound(db);
  await aRound(db);
  expect(await db.selectFrom('gmsi.loads').select('load_id').execute(), 'while it is alive').toEqual([]);
  // No heartbeat comes any more, and nobody has closed its connections.
  await sqlIn(db)`update gmsi.processes set heartbeat_at = now() - interval '11 s' where process_id = 'lost'`;
  expect(await loadsEnded(db)).toMatchObject([{ command: 'sync', outcome: 'done' }]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

/** A worker that is started once, and has looked at the schedules then. */
async function startedMeanwhile(db: Warehouse, start: () => WorkerInTest) {
  let worker: WorkerInTest | undefined;
  let begun: Promise<void> | undefined;
  const begin = async () => {
    worker = start();
    await expect
      .poll(() =>
        db.selectFrom('gmsi.processes').select('process_id').where('command', '=', 'work').execute(),
      )
      .toHaveLength(1);
    await aRound(db);
  };
  return {
    start: () => (begun ??= begin()),
    [Symbol.asyncDispose]: async () => worker?.[Symbol.asyncDispose](),
  };
}
