import { setMaxListeners } from 'node:events';
import { describe, expect } from 'vitest';
import { ApiKey, Secret } from '../../src/secret.ts';
import { countedAs } from '../../src/service/budget.ts';
import type { Page } from '../../src/service/page.ts';
import { BudgetSpent, capRequests, openPermits, promptBurst, waitFor } from '../../src/service/permits.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { takeRequest } from '../../src/warehouse/tables/requests.ts';
import { jumpingClock } from '../service/clocks.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { aJobFor, runBackfill, stoppedAt, usualClock } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-10-30' };
const service = { end_date: 'inclusive', page_size: 30, concurrency: 4 };
const signal = new AbortController().signal;

function open(db: Warehouse, key: string, budget: number, at = usualClock) {
  return openPermits(db, new Secret(key), { budget, clock: at, rate: Number.POSITIVE_INFINITY, burst: 1 });
}

const it = serving({ volume: 0.3 });

describe('the request budget', () => {
  it('counts what was sent if the reply to a cancelled booking is lost', async ({ warehouse, db }) => {
    await using proxy = await aCuttingProxy(warehouse.url);
    await using cut = connect({ kind: 'url', url: new Secret(proxy.url) }, 2);
    const permits = open(cut.patient({}), 'a key', 10);
    await permits.take(signal);
    const unused = await permits.take(signal);
    proxy.loseReplyTo(/api_usage/);
    await unused.cancel();
    expect(proxy.lost).toBe(1);
    expect(await usage(db)).toEqual({ '2026-11-01': 1 });
  });

  it('is one for all keys of an account; else each key has its own', async ({ db }) => {
    const take = (key: string, account?: string) =>
      openPermits(db, new ApiKey(key, account), {
        budget: 2,
        clock: usualClock,
        rate: Number.POSITIVE_INFINITY,
        burst: 1,
      }).take(signal);
    await take('old', 'desk');
    await take('new', 'desk');
    await expect(take('new', 'desk')).rejects.toThrow(BudgetSpent);
    await take('old');
    await take('new');
    const counted = await db.selectFrom('gmsi.api_usage').select('requests').orderBy('requests').execute();
    expect(counted).toEqual([{ requests: 1 }, { requests: 1 }, { requests: 2 }]);
  });

  it('is spent to the last and never passed', async ({ db, sandbox }) => {
    const least = 25;
    // The last page that is paid for is still under way when the next request finds the budget spent.
    let asked = 0;
    const isLast = ({ path }: { path: string }) => path.includes('/feed/') && ++asked === least;
    sandbox.script([{ kind: 'latency', ms: 500, match: isLast }]);
    // Two requests go to the lookups.
    const budget = { requests_per_month: least + 2 };
    const job = aJobFor(scope, { step: 'P10D', budget, service });
    const result = await runBackfill({ job, db, sandbox });
    expect(result.outcome).toBe('budget');
    expect(result.error).toBeInstanceOf(BudgetSpent);
    expect(sandbox.stats().requests).toBe(least + 2);
    expect(await usage(db)).toEqual({ '2026-11-01': least + 2 });
    // Every page that was paid for is in, and every window has been given back.
    expect(result.totals.pages).toBe(least);
    expect(result.windows).toMatchObject({ draining: 0, failed: 0, refused: 0 });

    const richer = aJobFor(scope, { step: 'P10D', service });
    expect((await runBackfill({ job: richer, db, sandbox })).outcome).toBe('done');
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await usage(db)).toEqual({ '2026-11-01': sandbox.stats().requests });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('counts retries, and every answer that was of no use', async ({ db, sandbox }) => {
    sandbox.script([
      { kind: 'server-error', times: 3 },
      { kind: 'reset', times: 2, match: ({ token }) => token !== null },
    ]);
    expect((await runBackfill({ job: aJobFor(scope, { service }), db, sandbox })).outcome).toBe('done');
    expect(await usage(db)).toEqual({ '2026-11-01': sandbox.stats().requests });
  });

  it('is not charged for what a stopped run booked and did not send', async ({ db, sandbox }) => {
    await runBackfill({ job: aJobFor(scope, { service }), db, sandbox, ...stoppedAt(1) });
    expect(await usage(db)).toEqual({ '2026-11-01': sandbox.stats().requests });
  });

  it('begins anew with the month (UTC), also in the middle of a run', async ({ db }) => {
    let now = new Date('2026-11-30T23:59:58Z');
    const moving = () => now;
    await using sandbox = await aSandbox({ clock: moving, volume: 0.3 });
    const before = scope.to;
    const job = aJobFor(
      { ...scope, to: before },
      { step: 'P10D', budget: { requests_per_month: 12 }, service },
    );
    expect((await runBackfill({ job, db, sandbox, clock: moving })).outcome).toBe('budget');
    expect(await usage(db)).toEqual({ '2026-11-01': 12 });

    const larger = aJobFor(scope, { step: 'P10D', budget: { requests_per_month: 16 }, service });
    const inNovember: Promise<Page>[] = [];
    const result = await runBackfill({
      job: larger,
      db,
      sandbox,
      clock: moving,
      aroundPage: async (ask) => {
        if (inNovember.length < 2) return inNovember[inNovember.push(ask()) - 1]!;
        await Promise.all(inNovember);
        now = new Date('2026-12-01T00:00:00Z');
        return ask();
      },
    });
    expect(result.outcome).toBe('budget');
    expect(result.error).toMatchObject({
      kind: 'budget',
      hint: expect.stringContaining('2027-01-01 00:00 UTC'),
    });
    expect(await usage(db)).toEqual({ '2026-11-01': 14, '2026-12-01': 16 });
    expect(sandbox.stats().requests).toBe(30);
  });
});

describe('a run that may send so many requests', () => {
  const most = 17;
  const job = aJobFor(scope, { step: 'P30D', service });

  it('sends and books exactly as many, failed tries too, and loses no page', async ({ db, sandbox }) => {
    // The last page that it may request is still under way when the next request is refused.
    let sent = 0;
    const isLast = () => ++sent === most;
    sandbox.script([
      { kind: 'latency', ms: 500, match: isLast },
      { kind: 'server-error', times: 3, match: ({ token }) => token !== null },
    ]);
    const result = await runBackfill({ job, db, sandbox, cap: capRequests(most) });
    expect(result).toMatchObject({ outcome: 'budget', error: { kind: 'budget' } });
    expect(sandbox.stats().requests).toBe(most);
    expect(await usage(db)).toEqual({ '2026-11-01': most });
    // Two requests went to the lookups, three were of no use.
    expect(result.totals).toMatchObject({ requests: most, pages: most - 5 });
    expect(result.windows).toMatchObject({ draining: 0, failed: 0, refused: 0 });
    const begun = (await windowsOf(db)).filter(({ state, pages }) => state === 'pending' && pages > 0);
    expect(begun.length, 'windows stopped in the middle').toBeGreaterThan(0);

    const runs = [result.outcome];
    while (runs.at(-1) === 'budget')
      runs.push((await runBackfill({ job, db, sandbox, cap: capRequests(most) })).outcome);
    expect(runs.at(-1)).toBe('done');
    expect(runs.length, 'also continued in the middle').toBeGreaterThan(2);
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await usage(db)).toEqual({ '2026-11-01': sandbox.stats().requests });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('ends likewise before it has the lookups', async ({ db, sandbox }) => {
    const run = () => runBackfill({ job, db, sandbox, cap: capRequests(1) });
    await expect(run()).rejects.toMatchObject({ kind: 'budget' });
    await expect(run()).resolves.toMatchObject({ outcome: 'budget', totals: { requests: 1 } });
    expect(sandbox.stats().requests).toBe(2);
  });
});

describe('several processes with one key', () => {
  it('grant no more than the limit between them, and all of it', async ({ db }) => {
    const processes = Array.from({ length: 4 }, () => open(db, 'shared', 130));
    const granted = await Promise.all(
      processes.map(async (permits) => {
        for (let booked = 0; ; booked++) {
          const isSpent = await permits.take(signal).then(
            () => false,
            (error) => {
              expect(error).toBeInstanceOf(BudgetSpent);
              return true;
            },
          );
          if (isSpent) return booked;
        }
      }),
    );
    expect(granted.reduce((sum, count) => sum + count)).toBe(130);
    expect(await processes[0]!.used()).toBe(130);
  });

  it('cancel what was booked and not sent, in the month that it was booked in', async ({ db }) => {
    let now = new Date('2026-11-30T23:59:59Z');
    const permits = open(db, 'mine', 2, () => now);
    const first = await permits.take(signal);
    await permits.take(signal);
    await expect(permits.take(signal)).rejects.toThrow(BudgetSpent);
    now = new Date('2026-12-01T00:00:00Z');
    await permits.take(signal);
    await first.cancel();
    expect(await usage(db)).toEqual({ '2026-11-01': 1, '2026-12-01': 1 });
  });

  it('may have any limit', async ({ db }) => {
    await open(db, 'mine', Number.MAX_SAFE_INTEGER).take(signal);
    await expect(open(db, 'mine', 0).take(signal)).rejects.toMatchObject({
      message: 'The request budget is spent: 1 request (the limit is 0) this month.',
      hint: expect.stringMatching(/^Run it again after 2026-12-01 00:00 UTC, or/),
    });
    await expect(open(db, 'yours', 0).take(signal)).rejects.toThrow(BudgetSpent);
    expect(await usage(db)).toEqual({ '2026-11-01': 1 });
  });
});

async function usage(db: Warehouse): Promise<Record<string, number>> {
  const rows = await db.selectFrom('gmsi.api_usage').selectAll().execute();
  return Object.fromEntries(rows.map(({ month, requests }) => [month, requests]));
}

const apiKey = new Secret('sandbox-key');
const never = new AbortController().signal;
setMaxListeners(0);

function put(db: Warehouse, rate: number, key = countedAs(apiKey)): Promise<number | undefined> {
  return takeRequest(db, { key, rate, month: '2026-11-01', budget: Number.MAX_SAFE_INTEGER });
}

describe('the bucket in the warehouse', () => {
  it('is one for all who take from it, however they come', async ({ db }) => {
    const rate = 0.001;
    const begin = Date.now();
    const takings = await Promise.all(Array.from({ length: 12 }, () => put(db, rate)));
    const leaked = ((Date.now() - begin) / 1000) * rate;
    for (const [index, inBucket] of takings.toSorted((a, b) => a! - b!).entries()) {
      expect(inBucket).toBeLessThanOrEqual(index + 1);
      expect(inBucket).toBeGreaterThanOrEqual(index + 1 - leaked - 0.001);
    }
    expect(await put(db, 1, 'another key')).toBe(1);
  });

  it('lets the burst go at once, and makes each request after it wait for its turn', async ({ db }) => {
    const slow = { rate: 0.01, burst: 3 };
    const waits: number[] = [];
    for (let taken = 0; taken < 5; taken++) waits.push(waitFor((await put(db, slow.rate))!, slow) / 1000);
    // The burst less half a second's worth: 2.995 requests.
    expect(promptBurst(slow)).toBe(2.995);
    expect(waits).toEqual([0, 0, 0.5, 100.5, 200.5].map((wait) => expect.closeTo(wait, -0.5)));
  });

  it('leaks at the rate of each caller, up to the burst of each', async ({ db }) => {
    for (let taken = 0; taken < 40; taken++) await put(db, 0);
    const patient = { rate: 0.1, burst: 50 };
    expect(waitFor((await put(db, patient.rate))!, patient), 'the forty-first of fifty').toBe(0);
    const strict = { rate: 0.1, burst: 5 };
    const waitMs = waitFor((await put(db, strict.rate))!, strict);
    expect(waitMs).toBeGreaterThan(((42 - 5) / 0.1) * 1000 - 5_000);
  });

  it('never leaks while the clock of the database goes back', async ({ db }) => {
    for (let taken = 0; taken < 10; taken++) await put(db, 0);
    const nextHour = new Date(Date.now() + 3_600_000);
    await db.updateTable('gmsi.request_rate').set({ counted_at: nextHour }).execute();
    expect(await put(db, 1)).toBe(11);
    expect(await put(db, 1)).toBeLessThan(12);
  });
});

describe('permits', () => {
  const slow = { rate: 0.001, burst: 1, budget: 100, clock: () => new Date('2026-11-20T12:00:00Z') };

  it('are not used too late, as after standing still; but the next one is, however late', async ({ db }) => {
    const clock = jumpingClock(0);
    const timer = { now: clock.now, sleep: (ms: number) => clock.sleep(ms + 501, never) };
    const permits = openPermits(db, apiKey, { ...slow, timer });
    await permits.take(never);
    await permits.take(never);
    expect(await put(db, 0), 'one at once, two for the second request').toBeCloseTo(4, 1);
    await permits.take(never);
    expect(await put(db, 0), 'one for the third: everything is late').toBeCloseTo(6, 1);
    expect(await permits.used(), 'three requests, and two of the test').toBe(5);
  });

  it('are cancelled if a waiting request is aborted, and not taken afterwards', async ({ db }) => {
    const permits = openPermits(db, apiKey, slow);
    const stop = new AbortController();
    await permits.take(stop.signal);
    const waiting = permits.take(stop.signal);
    setTimeout(() => stop.abort(new Error('interrupted')), 200);
    await expect(waiting).rejects.toThrow('interrupted');
    await expect(permits.take(stop.signal)).rejects.toThrow('interrupted');
    expect(await permits.used()).toBe(1);
    expect(await put(db, 0)).toBeCloseTo(3, 1);
  });

  it('without a rate are booked, and wait for nothing, however slow the warehouse is', async ({ db }) => {
    const clock = jumpingClock(0);
    const timer = { now: () => clock.now() + 600 * ++asked, sleep: clock.sleep };
    let asked = 0;
    const permits = openPermits(db, apiKey, { ...slow, rate: Number.POSITIVE_INFINITY, timer });
    await permits.take(never);
    expect(await permits.used()).toBe(1);
    expect(await db.selectFrom('gmsi.request_rate').selectAll().execute()).toEqual([]);
    expect(clock.slept).toEqual([]);
  });
});
