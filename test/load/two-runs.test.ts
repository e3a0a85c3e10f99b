import { describe, expect, onTestFinished, vi } from 'vitest';
import type { SeenRequest } from '#sandbox';
import type { Page } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';

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
    expect(results).toMatchObject([1, 2, 3].map(() => ({ outcome: 'done', windows: { drained: 12 } })));
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    const pages = results.reduce((sum, { totals }) => sum + totals.pages, 0);
    expect(pages).toBe(sandbox.stats().pages);
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
          await vi.waitFor(async () => expect(await windowsOf(db)).toMatchObject([{ pages: 2 }]), 20_000);
          await sqlIn(db)`update gmsi.processes set heartbeat_at = now() - interval '1 hour'`;
          const other = await runBackfill({ job: oneJob, db, sandbox });
          expect(other).toMatchObject({ outcome: 'done', windows: { drained: 1 } });
          silence.sleep?.();
        }
        return page;
      },
    });
    expect(silent).toMatchObject({ outcome: 'done', totals: { pages: 2, windows_drained: 0 } });
    expect(lines.map(({ msg }) => msg)).toContain('another load has taken this window over');
    // The page that the silent run had in hand and, unless a clock told it, the one that it asked for meanwhile.
    expect(sandbox.stats().pagesServedTwice).toBe(silence.asked);
    expect((await windowsOf(db))[0]).toMatchObject({ state: 'drained', attempts: 2, load_id: 2 });
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
            await untilTakenOver(db);
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

async function untilTakenOver(db: Warehouse): Promise<void> {
  for (;;) {
    const [window] = await windowsOf(db);
    if (window!.load_id === 2) return;
  }
}
