import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { markDue, takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { dueSince } from '../../src/worker/mark-due.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aGate } from '../support/a-gate.ts';
import { aLog } from '../support/a-log.ts';
import { listed } from '../support/a-process.ts';
import {
  aRound,
  aWorker,
  dueIn,
  loadsBegun,
  loadsEnded,
  registered,
  type WorkerInTest,
} from '../support/a-worker.ts';
import { cases } from '../support/cases.ts';
import { it, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, sqlIn, windowsOf } from '../support/warehouse-state.ts';

function due(cron: string | null, timezone: string, firedAt: string, now: string): string | undefined {
  return dueSince({ cron, timezone, fired_at: new Date(firedAt) }, new Date(now))?.toISOString();
}

describe('a schedule', () => {
  it.each(cases`
    not before its next time | 15 * * * * | UTC | 2026-11-20T11:15Z | 2026-11-20T12:14:59Z | -
    at its next time | 15 * * * * | UTC | 2026-11-20T11:15Z | 2026-11-20T12:15Z | 2026-11-20T12:15Z
    not before it in its own time zone | 30 9 * * * | Asia/Kolkata | 2026-11-19T12:00Z | 2026-11-20T03:59:59Z | -
    in its own time zone | 30 9 * * * | Asia/Kolkata | 2026-11-19T12:00Z | 2026-11-20T04:00Z | 2026-11-20T04:00Z
    since the first time that was missed | 0 1 * * * | UTC | 2026-11-01T01:00Z | 2026-11-20T12:00Z | 2026-11-02T01:00Z
    never on a day that there is not | 0 2 30 2 * | UTC | 2020-01-01T00:00Z | 2026-11-20T12:00Z | -
    at the end of a gap of the clocks | 30 2 * * * | Europe/Oslo | 2027-03-27T01:30Z | 2028-01-01T00:00Z | 2027-03-28T01:00Z
    after a gap at its usual time | 30 2 * * * | Europe/Oslo | 2027-03-28T01:00Z | 2028-01-01T00:00Z | 2027-03-29T00:30Z
    the first time that clocks show twice | 30 2 * * * | Europe/Oslo | 2026-10-24T00:30Z | 2028-01-01T00:00Z | 2026-10-25T00:30Z
    once at a time that clocks show twice | 30 2 * * * | Europe/Oslo | 2026-10-25T00:30Z | 2028-01-01T00:00Z | 2026-10-26T01:30Z
  `)('is due %s', (_, cron, timezone, firedAt, now, expected) => {
    expect(due(cron!, timezone!, firedAt!, now!)?.replace(':00.000Z', 'Z') ?? '-').toBe(expected);
  });

  it('is never due without a cron expression', () => {
    expect(due(null, 'UTC', '2020-01-01T00:00:00Z', '2026-11-20T12:00:00Z')).toBeUndefined();
  });

  it('that is hourly is due every hour that passes, whatever clocks show', () => {
    const times = [];
    let last = '2026-10-24T23:15:00.000Z';
    for (let hour = 0; hour < 4; hour++) {
      last = due('15 * * * *', 'Europe/Oslo', last, '2028-01-01T00:00:00Z')!;
      times.push(last.slice(11, 16));
    }
    expect(times).toEqual(['00:15', '01:15', '02:15', '03:15']);
  });
});

const now = new Date('2026-11-20T12:00:00Z');

it('gives each due job to one worker, however many workers take jobs at once', async ({ db }) => {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-10-30' };
  const jobs = Array.from({ length: 40 }, (_, number) => `job-${number}`);
  for (const job of jobs) {
    await registered(db, job, jobFor(scope), now);
    await markDue(db, { job, command: 'backfill' }, now);
  }
  const taken: string[] = [];
  const takeUntilNoneIsLeft = async () => {
    const processId = randomUUID();
    await listed(db, processId);
    for (let has = 0; ; has++) {
      const due = await takeDueJobs(db, 'backfill', { processId, leaseSeconds: 30, atMost: 1, now });
      if (due.length > has) continue;
      taken.push(...due.map(({ job }) => job));
      return;
    }
  };
  const nobody = { processId: 'not listed', leaseSeconds: 30, atMost: 1, now };
  expect(await takeDueJobs(db, 'backfill', nobody), 'before it is registered again').toEqual([]);
  await Promise.all(Array.from({ length: 5 }, takeUntilNoneIsLeft));
  expect(taken.toSorted()).toEqual(jobs.toSorted());
});

describe('schedules', () => {
  const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
  const lastNight = new Date('2026-11-19T20:00:00Z');

  const it = serving({ volume: 0.1 });

  it('does not begin a job that it is still loading, but afterwards', async ({ warehouse, db, sandbox }) => {
    let now = new Date('2026-11-20T08:00:00Z');
    const { log, lines } = aLog();
    await registered(db, 'hourly', jobFor(scope, { schedule: { backfill: '0 * * * *' } }), lastNight);
    const { held, letGo } = aGate();
    await using _worker = aWorker({
      warehouse,
      sandbox,
      clock: () => now,
      log,
      aroundPage: (ask) => held.then(ask),
    });
    await loadsBegun(db);
    now = new Date('2026-11-20T10:00:00Z');
    await aRound(db);
    expect(dueIn(lines)).toHaveLength(1);

    letGo();
    await loadsEnded(db);
    await aRound(db);
    expect(dueIn(lines)[1]).toMatchObject({ since: '2026-11-20T09:00:00.000Z' });
  });

  it('stays due if somebody queues it while it is being loaded', async ({ warehouse, db, sandbox }) => {
    await registered(db, 'queued', jobFor(scope), lastNight);
    const of = { job: 'queued', command: 'backfill' } as const;
    await markDue(db, of, new Date('2026-11-20T08:00:00Z'));
    const { log, lines } = aLog();
    let asked = 0;
    await using _worker = aWorker({
      warehouse,
      sandbox,
      log,
      clock: () => new Date(Date.parse('2026-11-20T12:00:00Z') + 60_000 * lines.length),
      async aroundPage(ask) {
        if (asked++ === 0) await markDue(db, of, new Date('2026-11-20T09:00:00Z'));
        return ask();
      },
    });
    await expect.poll(() => lines.filter(({ msg }) => msg === 'loaded').length, { timeout: 30_000 }).toBe(2);
    const rows = await sqlIn(db)`select due_at from gmsi.schedules where command = 'backfill'`;
    expect(rows).toEqual([{ due_at: null }]);
  });

  it('begins a job once for any stored time, and once a minute', async ({ warehouse, db, sandbox }) => {
    let now = new Date('2026-11-20T08:00:00Z');
    await registered(db, 'queued', jobFor(scope), lastNight);
    const { log, lines } = aLog();
    const loaded = () => lines.filter(({ msg }) => msg === 'loaded').length;
    await using _worker = aWorker({ warehouse, sandbox, log, clock: () => now });
    const makeDue = (at: string) =>
      sql`update gmsi.schedules set due_at = ${at}::timestamptz where command = 'backfill'`.execute(db);
    for (const at of ['2026-11-20 07:59:59.123456Z', 'infinity', '290000-01-01']) {
      const before = loaded();
      await makeDue(at);
      await expect.poll(loaded).toBe(before + 1);
      now = new Date(now.getTime() + 60_000);
      await aRound(db);
      expect(loaded(), at).toBe(before + 1);
    }
    await sqlIn(db)`
    create function gmsi.due_again() returns trigger language plpgsql as $$
    begin new.due_at = clock_timestamp(); return new; end $$;
    create trigger due_again before update on gmsi.schedules for each row when (new.due_at is null)
      execute function gmsi.due_again()`;
    await makeDue('2026-11-20 08:00:00Z');
    for (const minute of [4, 5]) {
      await expect.poll(loaded).toBe(minute);
      await aRound(db);
      expect(loaded()).toBe(minute);
      now = new Date(now.getTime() + 60_000);
    }
  });

  it('begins nothing due before it was scheduled, or unscheduled', async ({ warehouse, db, sandbox }) => {
    let now = new Date('2026-11-20T08:00:00Z');
    const { log, lines } = aLog();
    const hourly = jobFor(scope, { schedule: { backfill: '0 * * * *', sync: '30 * * * *' } });
    await registered(db, 'new', hourly, now);
    await registered(db, 'gone', hourly, now);
    await registered(db, 'gone', jobFor(scope), now);
    await using _worker = aWorker({ warehouse, sandbox, clock: () => now, log });
    await expect.poll(() => lines.some(({ msg }) => msg === 'working')).toBe(true);
    await aRound(db);
    expect(dueIn(lines)).toEqual([]);
    now = new Date('2026-11-20T09:00:00Z');
    await aRound(db);
    expect(dueIn(lines)).toMatchObject([
      { job: 'new', command: 'backfill' },
      { job: 'new', command: 'sync' },
    ]);
  });

  it('loads what its job asks for by now, and leaves other windows', async ({ warehouse, db, sandbox }) => {
    const job = jobFor(scope, { step: 'P5D', schedule: { backfill: '15 * * * *' } });
    await registered(db, 'edited', job, lastNight);
    await stoppedAtItsFirstPage({ warehouse, sandbox });
    const left = await openWindows(db);
    expect(left.length).toBeGreaterThan(1);

    await registered(db, 'edited', { ...job, feed: 'gmsi-index' }, lastNight);
    await using _second = aWorker({ warehouse, sandbox });
    expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ job: 'edited', outcome: 'done' });
    expect(await openWindows(db)).toEqual(left);
    expect(await countRows(db, 'gmsi_index')).toBeGreaterThan(0);
  });

  it('leaves a job that has become unreadable until it is due again', async ({ warehouse, db, sandbox }) => {
    const job = jobFor(scope, { step: 'P5D', schedule: { backfill: '0 1 * * *' } });
    await registered(db, 'garbled', job, lastNight);
    await stoppedAtItsFirstPage({ warehouse, sandbox });
    const left = await openWindows(db);
    expect(left.length).toBeGreaterThan(1);

    await sqlIn(db)`update gmsi.jobs set definition = definition || '{"unheard_of": 1}'`;
    const { log, lines } = aLog();
    let now = new Date('2026-11-20T12:00:00Z');
    await using _second = aWorker({ warehouse, sandbox, log, clock: () => now });
    await expect.poll(() => lines.filter(({ level }) => Number(level) >= 50)).toHaveLength(1);
    expect(lines.filter(({ level }) => Number(level) >= 50)).toMatchObject([
      { job: 'garbled', command: 'backfill', why: expect.stringContaining('unheard_of') },
    ]);
    expect(await openWindows(db)).toEqual(left);

    await registered(db, 'garbled', job, lastNight);
    await aRound(db);
    expect(dueIn(lines)).toEqual([]);
    now = new Date('2026-11-21T01:00:00Z');
    expect((await loadsEnded(db, 2)).at(-1)).toMatchObject({ job: 'garbled', outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it.for([
    ['cron', '61 * * * *', { cron: '61 * * * *' }],
    ['timezone', 'Mars/Olympus', { timezone: 'Mars/Olympus' }],
  ] as const)(
    'begins other jobs where the %s of one is unknown (%s)',
    async ([_, __, foreign], { warehouse, db, sandbox }) => {
      const job = jobFor(scope, { schedule: { backfill: '15 * * * *' } });
      await registered(db, 'a foreign one', job, lastNight);
      await db.updateTable('gmsi.schedules').set(foreign).where('command', '=', 'backfill').execute();
      await registered(db, 'plain', job, lastNight);
      const { log, lines } = aLog();
      await using _worker = aWorker({ warehouse, sandbox, log });
      expect(await loadsEnded(db)).toMatchObject([{ job: 'plain', outcome: 'done' }]);
      expect(dueIn(lines)).toMatchObject([{ job: 'plain' }]);
      await aRound(db);
      // Once, however often the schedules are looked at.
      expect(lines.filter(({ level }) => Number(level) >= 50)).toMatchObject([
        { job: 'a foreign one', command: 'backfill', ...foreign },
      ]);
    },
  );

  /** A worker that stops in order as soon as it asks for a page: all but that page is left. */
  async function stoppedAtItsFirstPage(
    setting: Pick<Parameters<typeof aWorker>[0], 'warehouse' | 'sandbox'>,
  ): Promise<void> {
    const worker: WorkerInTest = aWorker({
      ...setting,
      aroundPage(ask) {
        void worker.stop();
        return ask();
      },
    });
    await worker.ended;
  }

  async function openWindows(db: Warehouse) {
    const open = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
    return open.map(({ window_id }) => window_id);
  }
});
