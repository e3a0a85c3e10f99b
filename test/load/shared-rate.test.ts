import { setMaxListeners } from 'node:events';
import { describe, expect } from 'vitest';
import { keyFingerprint } from '../../src/rate/budget.ts';
import { promptBurst, sharedLimiter, takePermit } from '../../src/rate/shared-rate.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { takeRequest } from '../../src/warehouse/tables/requests.ts';
import { jumpingClock } from '../service/clocks.ts';
import { it } from '../support/serving.ts';

const apiKey = new Secret('sandbox-key');
const key = keyFingerprint(apiKey);
const never = new AbortController().signal;
setMaxListeners(0);

describe('the bucket in the warehouse', () => {
  it('is one for all who take from it, however they come', async ({ db }) => {
    const slow = { rate: 0.001, burst: 10 };
    const begin = Date.now();
    const takings = await Promise.all(Array.from({ length: 12 }, () => takeRequest(db, key, slow.rate)));
    const leaked = ((Date.now() - begin) / 1000) * slow.rate;
    for (const [index, inBucket] of takings.toSorted((a, b) => a - b).entries()) {
      expect(inBucket).toBeLessThanOrEqual(index + 1);
      expect(inBucket).toBeGreaterThanOrEqual(index + 1 - leaked - 0.001);
    }
    expect(await takeRequest(db, 'another key', 1)).toBe(1);
  });

  it('lets the burst go at once, and makes each request after it wait for its turn', async ({ db }) => {
    const slow = { rate: 0.01, burst: 3 };
    const waits: number[] = [];
    for (let taken = 0; taken < 5; taken++) {
      const clock = jumpingClock(0);
      const { from } = await takePermit(db, key, slow, clock);
      waits.push(Math.round(from / 1000));
    }
    // The burst less half a second's worth: 2.995 requests.
    expect(promptBurst(slow)).toBe(2.995);
    expect(waits).toEqual([0, 0, 1, 101, 201].map((wait) => expect.closeTo(wait, -0.5)));
  });

  it('leaks at the rate of each caller, up to the burst of each', async ({ db }) => {
    for (let taken = 0; taken < 40; taken++) await takeRequest(db, key, 0);
    const patient = { rate: 0.1, burst: 50 };
    const next = await takePermit(db, key, patient, jumpingClock(0));
    expect(next.from, 'the forty-first of fifty').toBe(0);
    const strict = { rate: 0.1, burst: 5 };
    const held = await takePermit(db, key, strict, jumpingClock(0));
    expect(held.from).toBeGreaterThan(((42 - 5) / 0.1) * 1000 - 5_000);
  });

  it('never leaks while the clock of the database goes back', async ({ db }) => {
    for (let taken = 0; taken < 10; taken++) await takeRequest(db, key, 0);
    const nextHour = new Date(Date.now() + 3_600_000);
    await db.updateTable('gmsi.request_rate').set({ counted_at: nextHour }).execute();
    expect(await takeRequest(db, key, 1)).toBe(11);
    expect(await takeRequest(db, key, 1)).toBeLessThan(12);
  });
});

describe('a limiter', () => {
  const slow = { rate: 0.001, burst: 1 };

  it('uses no permit that it comes to too late, as after standing still; but the next one, however late', async ({
    db,
  }) => {
    const clock = jumpingClock(0);
    const late = { now: clock.now, sleep: (ms: number) => clock.sleep(ms + 501, never) };
    const limiter = sharedLimiter(db, apiKey, slow, late);
    const taken = () => takeRequest(db, key, 0);
    await limiter.pass(never);
    await limiter.pass(never);
    expect(await taken(), 'one at once, two for the second request').toBeCloseTo(4, 1);
    await limiter.pass(never);
    expect(await taken(), 'one for the third: everything is late').toBeCloseTo(6, 1);
  });

  it('ends its wait when the request is aborted, and takes nothing for one that was', async ({ db }) => {
    const limiter = sharedLimiter(db, apiKey, slow);
    const stop = new AbortController();
    await limiter.pass(stop.signal);
    const waiting = limiter.pass(stop.signal);
    setTimeout(() => stop.abort(new Error('interrupted')), 200);
    await expect(waiting).rejects.toThrow('interrupted');
    await expect(limiter.pass(stop.signal)).rejects.toThrow('interrupted');
    expect(await takeRequest(db, key, 0)).toBeCloseTo(3, 1);
  });
});

it('nothing is asked of the warehouse if there is no limit', async () => {
  const nowhere = undefined as unknown as Warehouse;
  await sharedLimiter(nowhere, apiKey, { rate: Number.POSITIVE_INFINITY, burst: 1 }).pass(never);
});
