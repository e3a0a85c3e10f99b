import { expect, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import {
  endDue,
  forgetJob,
  markDue,
  pauseJob,
  resumeJob,
  stopJob,
  takeDueJobs,
} from '../../src/warehouse/tables/schedules.ts';
import { jobFor } from '../cli/jobs.ts';
import { aGate } from '../support/a-gate.ts';
import { aLog } from '../support/a-log.ts';
import { listed } from '../support/a-process.ts';
import { aRound, aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn, windowsOf } from '../support/warehouse-state.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-31' };
/** Some eight windows of several pages, one at a time. */
const paged = { step: 'P4D', service: { page_size: 10, concurrency: 1 } };
const hourly = jobFor(scope, { ...paged, schedule: { backfill: '0 * * * *' } });
const of = { job: 'slow', command: 'backfill' } as const;

const it = serving({ volume: 0.2 });

/** Holds back the nth page until `letGo`. */
function holdingPage(nth: number) {
  const { held, letGo } = aGate();
  const asked = aGate();
  let pages = 0;
  return {
    isAsked: asked.held,
    letGo,
    /** So that a worker ends, too, if the test has failed meanwhile. */
    [Symbol.dispose]: letGo,
    async aroundPage<Page>(ask: () => Promise<Page>): Promise<Page> {
      // The answer is under way: it counts, and must be committed.
      const page = await ask();
      if (++pages === nth) {
        asked.letGo();
        await held;
      }
      return page;
    },
  };
}

async function endsALoad(lines: readonly { msg: string }[], times = 1): Promise<void> {
  const ends = () => lines.filter(({ msg }) => msg.startsWith('a load ends'));
  await vi.waitFor(() => expect(ends()).toHaveLength(times), 20_000);
}

const scheduleOf = async (db: Warehouse) =>
  (
    await sqlIn(db)<{ due_at: Date | null; paused_because: string | null; process_id: string | null }>`
      select due_at, paused_because, process_id from gmsi.schedules where job = 'slow' and command = 'backfill'`
  )[0]!;

it('ends a load that is stopped at its checkpoint, and loads the rest when it is next due', async ({
  warehouse,
  db,
  sandbox,
}) => {
  let now = new Date('2026-11-20T08:10:00Z');
  await registered(db, 'slow', hourly, lastNight);
  const page = holdingPage(2);
  const { log, lines } = aLog();
  await using _worker = aWorker({ warehouse, sandbox, log, clock: () => now, ...page });
  using _held = page;
  await page.isAsked;
  // The load has run for hours, and its schedule was due twice meanwhile.
  now = new Date('2026-11-20T10:30:00Z');
  await stopJob(db, 'slow', now);
  await endsALoad(lines);
  page.letGo();
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'interrupted' }]);
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(1);
  const left = await windowsOf(db);
  expect(left.every(({ state }) => state === 'pending')).toBe(true);
  expect(left.reduce((pages, window) => pages + window.pages, 0)).toBe(2);

  now = new Date('2026-11-20T11:00:00Z');
  expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

it('does nothing of a paused job by any worker until it is resumed, and then continues', async ({
  warehouse,
  db,
  sandbox,
}) => {
  let now = new Date('2026-11-20T08:10:00Z');
  const clock = () => now;
  await registered(db, 'slow', hourly, lastNight);
  const page = holdingPage(2);
  const { log, lines } = aLog();
  {
    await using _one = aWorker({ warehouse, sandbox, log, clock, ...page });
    await using _two = aWorker({ warehouse, sandbox, log, clock, ...page });
    using _held = page;
    await page.isAsked;
    await pauseJob(db, 'slow', now);
    await pauseJob(db, 'slow', now);
    await endsALoad(lines);
    page.letGo();
    expect(await loadsEnded(db)).toMatchObject([{ outcome: 'interrupted' }]);
    await aRound(db);
  }
  // A worker that starts, a changed file, another schedule and --enqueue do not end it.
  const synced = jobFor(scope, { ...paged, schedule: { backfill: '0 * * * *', sync: '5 * * * *' } });
  await using _three = aWorker({ warehouse, sandbox, log, clock });
  await registered(db, 'slow', synced, now);
  await markDue(db, of, now);
  now = new Date('2026-11-20T12:30:00Z');
  await aRound(db);
  expect(await loadsEnded(db)).toHaveLength(1);
  expect(await scheduleOf(db)).toMatchObject({ paused_because: 'operator', process_id: null });
  const due = await sqlIn(db)`select command from gmsi.schedules where due_at is not null`;
  expect(due, 'not the sync of 12:05').toEqual([{ command: 'backfill' }]);

  await resumeJob(db, 'slow');
  expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ command: 'backfill', outcome: 'done' });
  expect(await scheduleOf(db)).toMatchObject({ paused_because: null });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
});

it('commits the last page of a load that is paused meanwhile, and requests it once', async ({
  warehouse,
  db,
  sandbox,
}) => {
  const now = new Date('2026-11-20T08:10:00Z');
  await registered(db, 'slow', jobFor(scope, { service: { page_size: 1000 } }), lastNight);
  await markDue(db, of, now);
  const page = holdingPage(1);
  const { log, lines } = aLog();
  await using _worker = aWorker({ warehouse, sandbox, log, clock: () => now, ...page });
  using _held = page;
  await page.isAsked;
  await pauseJob(db, 'slow', now);
  await endsALoad(lines);
  page.letGo();
  await loadsEnded(db);
  expect((await windowsOf(db)).map(({ state }) => state)).toEqual(['drained']);
  await aRound(db);
  const { requests } = sandbox.stats();
  await resumeJob(db, 'slow');
  await vi.waitFor(async () => expect(await scheduleOf(db)).toMatchObject({ due_at: null }), 20_000);
  expect(sandbox.stats().requests).toBe(requests);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('ends the load of a removed job, unless another worker has its file', async ({
  warehouse,
  db,
  sandbox,
}) => {
  await registered(db, 'slow', hourly, lastNight);
  const page = holdingPage(2);
  const { log, lines } = aLog();
  await using _worker = aWorker({ warehouse, sandbox, log, ...page });
  using _held = page;
  await page.isAsked;
  await listed(db, 'other', 'test');
  await sqlIn(db)`update gmsi.processes set jobs = '{slow}' where process_id = 'other'`;
  const by = { processId: 'none', leaseSeconds: 30 };
  expect(await forgetJob(db, 'slow', by)).toBe(false);
  await aRound(db);
  await endsALoad(lines, 0);
  // The worker of this test runs every stored job; neither has the file now.
  await sqlIn(db)`update gmsi.processes set jobs = '{}' where process_id = 'other'`;
  expect(await forgetJob(db, 'slow', by)).toBe(true);
  await endsALoad(lines);
  page.letGo();
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'interrupted' }]);
  const { requests } = sandbox.stats();
  await aRound(db);
  expect(sandbox.stats().requests).toBe(requests);
});

const failed = { because: 'failures', error: 'no answer' } as const;

it('ends a turn as an operator wants who was faster, also if that is repeated', async ({ db }) => {
  const now = new Date('2026-11-20T08:10:00Z');
  await registered(db, 'slow', hourly, lastNight);
  await listed(db, 'w');
  const mine = { processId: 'w', leaseSeconds: 30, atMost: 1, now };
  const take = async () => {
    await sqlIn(db)`update gmsi.schedules set ended_at = null`;
    await markDue(db, of, now);
    const [due] = await takeDueJobs(db, 'backfill', mine);
    return due!;
  };
  const nothing = { due_at: null, paused_because: null, process_id: null };

  // Stopped: a pause for failures would begin it again.
  let due = await take();
  await stopJob(db, 'slow', now);
  expect(await endDue(db, due, 'w', { now, pause: failed })).toBeUndefined();
  expect(await scheduleOf(db)).toEqual(nothing);

  // Paused: it stays due if it failed, and is over if it was loaded.
  due = await take();
  await pauseJob(db, 'slow', now);
  for (const _ of ['sent', 'sent again after a lost reply']) {
    expect(await endDue(db, due, 'w', { now, pause: failed })).toBeUndefined();
    expect(await scheduleOf(db)).toEqual({ due_at: now, paused_because: 'operator', process_id: null });
  }
  expect(await takeDueJobs(db, 'backfill', mine)).toEqual([]);
  await resumeJob(db, 'slow');
  due = await take();
  await pauseJob(db, 'slow', now);
  await endDue(db, due, 'w', { now, pause: undefined });
  expect(await scheduleOf(db)).toEqual({ ...nothing, paused_because: 'operator' });
  await resumeJob(db, 'slow');
  expect(await scheduleOf(db)).toEqual(nothing);

  // A pause for failures is over once an operator has stopped the job, and after theirs it is due.
  due = await take();
  expect(await endDue(db, due, 'w', { now, pause: failed })).toEqual(expect.any(Date));
  await pauseJob(db, 'slow', now);
  expect(await scheduleOf(db)).toEqual({ due_at: now, paused_because: 'operator', process_id: null });
  await resumeJob(db, 'slow');
  await stopJob(db, 'slow', now);
  expect(await scheduleOf(db)).toEqual(nothing);
  expect(await endDue(db, due, 'gone', { now, pause: failed }), 'taken over').toBeUndefined();
});

it('keeps the pause of a job whose file goes and comes back', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'slow', hourly, lastNight);
  await pauseJob(db, 'slow', lastNight);
  expect(await forgetJob(db, 'slow', { processId: 'none', leaseSeconds: 30 })).toBe(true);
  await registered(db, 'slow', hourly, lastNight);
  await using _worker = aWorker({ warehouse, sandbox });
  await aRound(db);
  expect(sandbox.stats().requests).toBe(0);
  expect(await scheduleOf(db)).toMatchObject({ paused_because: 'operator' });
});
