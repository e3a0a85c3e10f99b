import { setMaxListeners } from 'node:events';
import { describe, expect } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { countedAs } from '../../src/service/budget.ts';
import { openPermits, promptBurst, waitFor } from '../../src/service/permits.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { takeRequest } from '../../src/warehouse/tables/requests.ts';
import { jumpingClock } from '../service/clocks.ts';
import { it } from '../support/serving.ts';

const apiKey = new Secret('sandbox-key');
const never = new AbortController().signal;
setMaxListeners(0);

/** Puts a request into the bucket of a key. */
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
