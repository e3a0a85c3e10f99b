import { describe, expect, onTestFinished, vi } from 'vitest';
import type { SeenRequest } from '#sandbox';
import type { LoadResult } from '../../src/load/load.ts';
import type { Page } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { expectNothingLost, lostRows } from '../support/lost-rows.ts';
import { aJobFor, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { changeWindowsIn, countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';
import { breakAt } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const service = { end_date: 'inclusive', page_size: 16 };
const job = aJobFor(scope, { step: 'P5D', service });
const covered = {
  'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
  'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
};

const it = serving({ volume: 0.3 });

describe('runs of one job at once', () => {
  it('do not hand a window that fails back and forth, and neither ends as if it were loaded', async () => {
    await using warehouse = await aWarehouse({ connections: 8 });
    await using sandbox = await aSandbox({ volume: 0.3 });
    const { db } = warehouse;
    const match = ({ path, query }: SeenRequest) => path.endsWith('/US') && query.start_date === '2026-09-11';
    sandbox.script([{ kind: 'refuse', status: 422, detail: 'broken', times: 1e6, match }]);
    const results = await Promise.all([1, 2].map(() => runBackfill({ job, db, sandbox })));
    expect(results.map(({ outcome }) => outcome)).toEqual(['incomplete', 'incomplete']);
    expect(sandbox.stats().faults.refuse).toBe(1);
    // The next run takes it up.
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('incomplete');
    expect(sandbox.stats().faults.refuse).toBe(2);
  });

  it('share the work, and all end when all of it is done', async () => {
    await using warehouse = await aWarehouse({ connections: 8 });
    await using sandbox = await aSandbox({ volume: 0.3 });
    const { db } = warehouse;
    const results = await Promise.all([1, 2, 3].map(() => runBackfill({ job, db, sandbox })));
    expect(results).toMatchObject([1, 2, 3].map(() => ({ outcome: 'done' })));
    expect(sum(results.map(({ totals }) => totals.windows_drained))).toBe(12);
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    expect(sum(results.map(({ totals }) => totals.pages))).toBe(sandbox.stats().pages);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(await coverageOf(db)).toEqual(covered);
  });
});

describe('a load that falls silent', () => {
  const one = { ...scope, countries: ['US'] };
  const oneJob = aJobFor(one, { service: { ...service, concurrency: 1 } });

  it.for([
    { seenBy: 'none of its clocks', asked: 2 },
    // As while the machine sleeps: its monotonic clock stands still.
    { seenBy: 'the wall clock alone', asked: 1, sleep: () => jump(Date) },
    // As after the wall clock was set back.
    { seenBy: 'the monotonic clock alone', asked: 1, sleep: () => jump(performance) },
  ])('loses its window and its late page, seen by $seenBy', async (silence, { db, sandbox }) => {
    const { log, lines } = aLog();
    let asked = 0;
    const silent = await runBackfill({
      job: oneJob,
      db,
      sandbox,
      log,
      aroundPage: async (ask) => {
        const page = await ask();
        if (++asked === 3) {
          // The page before is committed. This one is there, but before it is committed an hour goes by, as far as others
          // can see.
          await untilWindowIs(db, { pages: 2 });
          await sqlIn(db)`update gmsi.processes set heartbeat_at = now() - interval '1 hour'`;
          const other = await runBackfill({ job: oneJob, db, sandbox });
          expect(other).toMatchObject({ outcome: 'done', totals: { windows_drained: 1 } });
          silence.sleep?.();
        }
        return page;
      },
    });
    expect(silent).toMatchObject({ outcome: 'done', totals: { pages: 2, windows_drained: 0 } });
    expect(lines.map(({ msg }) => msg)).toContain('another load has taken this window over');
    // The page that the silent run had in hand and, unless a clock told it, the one that it asked for meanwhile.
    expect(sandbox.stats().pagesServedTwice).toBe(silence.asked);
    expect((await windowsOf(db))[0]).toMatchObject({ state: 'drained', load_id: 2 });
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
    expect((await windowsOf(db))[0]!.records).toBe(await countRows(db, 'headlines'));
  });

  it.for([
    ['before its heart beats again', false],
    // As after SIGCONT: its timers run before the page that it waits for arrives.
    ['although its heart has beaten again', true],
  ] as const)('for its lease asks before it reads on, %s', async ([, hasBeaten], { db, sandbox }) => {
    const leaseSeconds = 2;
    const reads: string[] = [];
    const noted = (name: string) => (ask: () => Promise<Page>) => {
      reads.push(name);
      return ask();
    };
    let other: Promise<unknown> | undefined;
    const silent = await runBackfill({
      job: oneJob,
      db,
      sandbox,
      leaseSeconds,
      aroundPage: async (ask) => {
        const page = await noted('silent')(ask);
        if (reads.length === 2) {
          // Whoever holds the row of the process keeps its heart from beating.
          await db.transaction().execute(async (trx) => {
            await sqlIn(trx)`select from gmsi.processes for update`;
            const run = { job: oneJob, db, sandbox, leaseSeconds };
            other = runBackfill({ ...run, aroundPage: noted('other') });
            await untilWindowIs(db, { load_id: 2 });
          });
          if (hasBeaten) await untilBeaten(db);
        }
        return page;
      },
    });
    await other;
    expect(silent.outcome).toBe('done');
    expect(reads.slice(0, 3)).toEqual(['silent', 'silent', 'other']);
    expect(reads.slice(3)).not.toContain('silent');
    expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });
});

/** Lets a clock be an hour ahead until the test is over. */
function jump(clock: { now(): number }): void {
  const now = clock.now.bind(clock);
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => now() + 3_600_000);
  onTestFinished(() => spy.mockRestore());
}

/** Waits until the process of the first load has sent two heartbeats. */
async function untilBeaten(db: Warehouse): Promise<void> {
  const last = async () => {
    const rows = await sqlIn(db)<{ at: string }>`
      select heartbeat_at::text as at from gmsi.processes join gmsi.loads using (process_id) where load_id = 1`;
    return rows[0]!.at;
  };
  for (let beat = 0; beat < 2; beat++) {
    const before = await last();
    await vi.waitFor(async () => expect(await last()).not.toBe(before), { timeout: 20_000, interval: 20 });
  }
}

/** Waits until the only window is so. */
async function untilWindowIs(db: Warehouse, so: object): Promise<void> {
  await vi.waitFor(async () => expect(await windowsOf(db)).toMatchObject([so]), { interval: 10 });
}

describe('a checkpoint', () => {
  const job = aJobFor(scope, {
    step: 'P15D',
    service: { end_date: 'inclusive', page_size: 10, concurrency: 3 },
  });

  describe('a run that is stopped and taken up again', () => {
    it('spends no request twice and goes on with the very token it had kept', async ({ db, sandbox }) => {
      const first = await runBackfill({ job, db, sandbox, ...stoppedAt(8) });
      expect(first).toMatchObject({ outcome: 'interrupted', windows: { draining: 0, failed: 0 } });
      expect(first.totals.pages).toBeLessThan(sandbox.stats().pages + 1);

      const kept = (await windowsOf(db)).filter(({ next_token }) => next_token !== null);
      const committed = await countRows(db, 'headlines');
      expect(committed).toBe(sum((await windowsOf(db)).map(({ records }) => records)));

      const requests = watchRequests(sandbox);
      const second = await runBackfill({ job, db, sandbox });
      expect(second.outcome).toBe('done');
      const firstOfEach = new Map<string, string | null>();
      for (const { path, query, token } of requests) {
        const window = `${path} ${query.start_date}`;
        if (!firstOfEach.has(window)) firstOfEach.set(window, token);
      }
      for (const { country, first_day, next_token } of kept) {
        const window = `/v1/headlines/feed/historical/gmsi/${country} ${first_day}`;
        expect(firstOfEach.get(window)).toBe(next_token);
      }
      expect(sandbox.stats().pagesServedTwice).toBe(0);
      expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
      expect(first.totals.pages + second.totals.pages).toBe(sandbox.stats().pages);
      expect(Number(second.totals.requests)).toBe(second.totals.pages);
      // By which the check lost-rows finds what is gone: of pages before the stop as of those after it.
      expect(sum((await windowsOf(db)).flatMap(({ rows_met }) => rows_met ?? []))).toBe(
        await countRows(db, 'headlines'),
      );
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    });

    it('on every page, has asked for each page once in the end, and counts each row once', async ({ db }) => {
      await using sandbox = await aSandbox({ volume: 0.08 });
      sandbox.script([{ kind: 'duplicate-record', times: 1e6 }]);
      const outcomes: string[] = [];
      while (outcomes.at(-1) !== 'done' && outcomes.length < 60) {
        outcomes.push((await runBackfill({ job, db, sandbox, ...stoppedAt(1) })).outcome);
        expect(await lostRows(db)).toEqual([]);
      }
      expect(outcomes.length).toBeGreaterThan(5);
      expect(outcomes.at(-1)).toBe('done');
      await expectNothingLost(db);
      expect(sandbox.stats().pagesServedTwice).toBe(0);
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    });
  });

  describe('a page whose claim is lost', () => {
    it.for([
      ['another load has taken the window', { load_id: 1000 }, 'first'],
      ['another load has taken the window by the second try', { load_id: 1000 }, 'second'],
      ['the window was given back', { state: 'pending' }, 'second'],
      ['somebody has moved its checkpoint', { pages: 3 }, 'first'],
      ['somebody has changed its token', { next_token: 'another' }, 'first'],
    ] as const)('because %s, is rolled back whole', async ([_, change, which], { db, sandbox }) => {
      const one = { ...scope, countries: ['US'] };
      const stop = new AbortController();
      const slow = aJobFor(one, { service: { end_date: 'inclusive', page_size: 8, concurrency: 1 } });
      let asked = 0;
      const result = await runBackfill({
        job: slow,
        db,
        sandbox,
        stop: stop.signal,
        aroundPage: async (ask) => {
          const page = await ask();
          if (++asked === 3) {
            await untilWindowIs(db, { pages: 2 });
            if (which === 'second') await breakAt(db, undefined, 1);
            await changeWindowsIn(db, change);
            stop.abort();
          }
          return page;
        },
      });
      expect(result.outcome).toBe('interrupted');
      expect(result.totals.pages).toBe(2);
      expect(await countRows(db, 'headlines')).toBe(16);
      expect((await windowsOf(db))[0]).toMatchObject({ records: 16, rows_inserted: 16 });
      expect(await coverageOf(db)).toEqual({});
    });
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

describe('two plans at once', () => {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-11-16' };

  it.each([
    ['backfills', runBackfill, {}],
    ['syncs', runSync, { end_date: 'today' }],
  ] as const)('%s of two jobs that overlap plan each day once between them', async (_, runJob, end) => {
    await using warehouse = await aWarehouse({ connections: 12 });
    await using sandbox = await aSandbox({ volume: 0.3 });
    const { db } = warehouse;
    const service = { page_size: 1000, end_date: 'inclusive' };
    const covered = aJobFor({ ...scope, to: '2026-10-15' }, { service });
    expect(await runBackfill({ job: covered, db, sandbox })).toMatchObject({ outcome: 'done' });
    const jobs = [
      aJobFor(scope, { ...end, step: 'P7D', service }),
      aJobFor({ ...scope, from: '2026-10-02' }, { ...end, step: 'P9D', service }),
    ];
    // What was found to be missing waits for this lock before it is written down as windows.
    await sqlIn(db)`
    create function gmsi.hold_planning() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock_shared(4711); return null; end'
  `;
    await sqlIn(db)`
    create trigger hold_planning before insert on gmsi.queue for each statement execute function gmsi.hold_planning()
  `;
    const held = await db.startTransaction().execute();
    await sqlIn(held)`select pg_advisory_xact_lock(4711)`;
    const named = jobs.map((job, index) => ({ ...job, name: `job ${index}` }));
    const running = Promise.all(named.map((job) => runJob({ job, db, sandbox })));
    let ended: readonly LoadResult[];
    try {
      await vi.waitFor(
        async () => {
          // One waits for the lock above; the other asks for the turn to plan, or else waits for the one above as well.
          const rows = await sqlIn(db)`
          select from pg_stat_activity
          where datname = current_database() and state <> 'idle' and (wait_event = 'advisory' or query like '%gmsi.turns%')
            and pid <> pg_backend_pid()
        `;
          expect(rows).toHaveLength(2);
        },
        { timeout: 20_000, interval: 20 },
      );
    } finally {
      await held.rollback().execute();
      ended = await running;
    }
    expect(ended.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    // Settling days may be loaded again, by a plan that comes later.
    const doubled = await sqlIn(db)`
    select a.first_day, a.last_day, b.first_day as other_first, b.last_day as other_last
    from gmsi.windows a join gmsi.windows b on a.window_id < b.window_id and a.days * b.days && daterange(null, '2026-11-17')
  `;
    expect(doubled).toEqual([]);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});
