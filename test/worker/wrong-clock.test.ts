import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { endDue, markDue, takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aLog } from '../support/a-log.ts';
import { listed } from '../support/a-process.ts';
import { aRound, aWorker, dueIn, loadsEnded, registered } from '../support/a-worker.ts';
import { serving } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
const hourly = jobFor(scope, { schedule: { backfill: '0 * * * *' } });
const of = { job: 'hourly', command: 'backfill' } as const;

const it = serving({ volume: 0.1 });

const ahead = [
  ['a day', new Date('2026-11-21T08:30:00Z')],
  ['400 days', new Date('2027-12-25T08:30:00Z')],
] as const;

it.for(ahead)(
  'a job last due %s ahead is due at its next time, logged once',
  async ([_, later], { warehouse, db, sandbox }) => {
    let now = new Date('2026-11-20T08:30:00Z');
    const { log, lines } = aLog();
    await registered(db, 'hourly', hourly, later);
    await using _one = aWorker({ warehouse, sandbox, clock: () => now, log });
    await using _two = aWorker({ warehouse, sandbox, clock: () => now, log });
    await aRound(db);
    await aRound(db);
    expect(dueIn(lines)).toEqual([]);
    now = new Date('2026-11-20T09:00:00Z');
    await loadsEnded(db);
    expect(dueIn(lines)).toEqual([{ ...of, since: now.toISOString() }]);
    const warned = lines.filter(({ msg }) => msg.includes('a time in the future'));
    // The three commands of a job have a row each; only one has a schedule.
    expect(warned.filter(({ command }) => command === 'backfill')).toMatchObject([
      { ...of, fired_at: later.toISOString() },
    ]);
  },
);

it('a clock that is seconds ahead makes no job due twice', async ({ warehouse, db, sandbox }) => {
  let now = new Date('2026-11-20T08:59:58Z');
  const { log, lines } = aLog();
  // The server before this one has already begun the load of nine o'clock.
  await registered(db, 'hourly', hourly, new Date('2026-11-20T09:00:01Z'));
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now, log });
  await aRound(db);
  now = new Date('2026-11-20T09:00:05Z');
  await aRound(db);
  await aRound(db);
  expect(dueIn(lines)).toEqual([]);
});

it.for(ahead)('a pause that began %s ahead is over', async ([_, later], { warehouse, db, sandbox }) => {
  const now = new Date('2026-11-20T08:30:00Z');
  const { log, lines } = aLog();
  await registered(db, 'hourly', hourly, now);
  await paused(db, later);
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now, log });
  expect(await loadsEnded(db)).toMatchObject([{ job: 'hourly', outcome: 'done' }]);
  expect(lines.filter(({ msg }) => msg.includes('a time in the future'))).toHaveLength(1);
});

it('a pause for the budget ends when requests are left', async ({ warehouse, db, sandbox }) => {
  const now = new Date('2026-11-20T08:30:00Z');
  await registered(db, 'hourly', hourly, now);
  await sqlIn(db)`
    update gmsi.schedules set resumes_at = '2029-01-01', paused_because = 'budget' where command = 'backfill'`;
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await loadsEnded(db)).toMatchObject([{ job: 'hourly', outcome: 'done' }]);
});

it('a job of a dead worker is taken, whose heartbeat is 400 days ahead', async ({ db }) => {
  const now = new Date('2026-11-20T08:30:00Z');
  await registered(db, 'hourly', hourly, now);
  await markDue(db, of, now);
  expect(await taken(db, 'dead')).toHaveLength(1);
  await sqlIn(db)`update gmsi.processes set heartbeat_at = now() + interval '400 days'`;
  expect(await taken(db, 'alive')).toHaveLength(1);
});

/** Pauses the job for a failure, by a worker whose clock shows this. */
async function paused(db: Warehouse, at: Date): Promise<void> {
  await markDue(db, of, new Date('2026-11-20T08:00:00Z'));
  const [due] = await taken(db, 'paused');
  await endDue(db, due!, 'paused', { now: at, pause: { because: 'failures', error: 'no' } });
}

async function taken(db: Warehouse, processId: string) {
  await listed(db, processId);
  return takeDueJobs(db, 'backfill', { processId, leaseSeconds: 30, atMost: 1, now: new Date() });
}
