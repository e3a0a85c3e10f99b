import { setMaxListeners } from 'node:events';
import { describe, expect } from 'vitest';
import { keyFingerprint } from '../../src/rate/budget.ts';
import { promptBurst, sharedLimiter, takePermits } from '../../src/rate/shared-rate.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { takeRequests } from '../../src/warehouse/tables/requests.ts';
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
    const takings = await Promise.all(
      Array.from({ length: 12 }, () => takeRequests(db, key, { count: 1, rate: slow.rate })),
    );
    const leaked = ((Date.now() - begin) / 1000) * slow.rate;
    for (const [index, inBucket] of takings.toSorted((a, b) => a - b).entries()) {
      expect(inBucket).toBeLessThanOrEqual(index + 1);
      expect(inBucket).toBeGreaterThanOrEqual(index + 1 - leaked - 0.001);
    }
    expect(await takeRequests(db, 'another key', { count: 1, rate: 1 })).toBe(1);
  });

  it('lets the burst go at once, and makes each request after it wait for its turn', async ({ db }) => {
    const slow = { rate: 0.01, burst: 3 };
    const waits: number[] = [];
    for (let taken = 0; taken < 5; taken++) {
      const clock = jumpingClock(0);
      const [permit] = await takePermits(db, key, slow, 8, clock);
      waits.push(Math.round(permit!.from / 1000));
    }
    // The burst less half a second's worth: 2.995 requests.
    expect(promptBurst(slow)).toBe(2.995);
    expect(waits).toEqual([0, 0, 1, 101, 201].map((wait) => expect.closeTo(wait, -0.5)));
  });

  it('takes a permit for each request that waits, and none beyond', async ({ db }) => {
    const fast = { rate: 100, burst: 100 };
    const permits = await takePermits(db, key, fast, 3, jumpingClock(0));
    expect(permits).toHaveLength(3);
    expect(await takeRequests(db, key, { count: 1, rate: 0 })).toBe(4);
  });

  it('leaks at the rate of each caller, up to the burst of each', async ({ db }) => {
    await takeRequests(db, key, { count: 40, rate: 1000 });
    const patient = { rate: 0.1, burst: 50 };
    const [next] = await takePermits(db, key, patient, 8, jumpingClock(0));
    expect(next!.from, 'the forty-first of fifty').toBe(0);
    const strict = { rate: 0.1, burst: 5 };
    const [held] = await takePermits(db, key, strict, 8, jumpingClock(0));
    expect(held!.from).toBeGreaterThan(((42 - 5) / 0.1) * 1000 - 5_000);
  });

  it('never leaks while the clock of the database goes back', async ({ db }) => {
    await takeRequests(db, key, { count: 10, rate: 1 });
    const nextHour = new Date(Date.now() + 3_600_000);
    await db.updateTable('gmsi.request_rate').set({ counted_at: nextHour }).execute();
    expect(await takeRequests(db, key, { count: 1, rate: 1 })).toBe(11);
    expect(await takeRequests(db, key, { count: 1, rate: 1 })).toBeLessThan(12);
  });
});

it('nothing is asked of the warehouse if there is no limit', async () => {
  const nowhere = undefined as unknown as Warehouse;
  await sharedLimiter(nowhere, apiKey, { rate: Number.POSITIVE_INFINITY, burst: 1 }).pass(never);
});
