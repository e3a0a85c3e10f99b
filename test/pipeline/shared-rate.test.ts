import { setMaxListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { promptBurst, takeFromLedger } from '../../src/pipeline/rate-ledger.ts';
import { keyFingerprint } from '../../src/pipeline/request-budget.ts';
import { openSharedRate } from '../../src/pipeline/shared-rate.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { enterRedis, stayWithRedis, takeRequests } from '../../src/warehouse/queries/request-rate.ts';
import { jumpingClock } from '../api/clocks.ts';
import { aLog } from '../support/a-log.ts';
import { aRedis, aWayTo, hasRedis } from '../support/redis.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { apiKey, aSetting, limit, stopAll } from './askers.ts';

const key = keyFingerprint(apiKey);
const never = new AbortController().signal;
setMaxListeners(0, never);

describe('the bucket in the warehouse', () => {
  it('is one for all who take from it, however they come', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const slow = { rate: 0.001, burst: 10 };
    const begin = Date.now();
    const takings = await Promise.all(
      Array.from({ length: 12 }, () => takeRequests(db, key, { count: 1, rate: slow.rate })),
    );
    const leaked = ((Date.now() - begin) / 1000) * slow.rate;
    for (const [index, inBucket] of takings.toSorted((a, b) => a! - b!).entries()) {
      expect(inBucket).toBeLessThanOrEqual(index + 1);
      expect(inBucket).toBeGreaterThanOrEqual(index + 1 - leaked - 0.001);
    }
    expect(await takeRequests(db, 'another key', { count: 1, rate: 1 })).toBe(1);
  });

  it('lets the burst go at once, and makes each request after it wait for its turn', async () => {
    await using warehouse = await aWarehouse();
    const slow = { rate: 0.01, burst: 3 };
    const waits: number[] = [];
    for (let taken = 0; taken < 5; taken++) {
      const clock = jumpingClock(0);
      const [permit] = (await takeFromLedger(warehouse.db, key, slow, 8, clock, never))!;
      waits.push(Math.round(permit!.from / 1000));
    }
    // The burst less half a second's worth: 2.995 requests.
    expect(promptBurst(slow)).toBe(2.995);
    expect(waits).toEqual([0, 0, 1, 101, 201].map((wait) => expect.closeTo(wait, -0.5)));
  });

  it('leaks at the rate of whoever takes, and holds the burst of each, so that nobody goes beyond the highest', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await takeRequests(db, key, { count: 40, rate: 1000 });
    const patient = { rate: 0.1, burst: 50 };
    const [next] = (await takeFromLedger(db, key, patient, 8, jumpingClock(0), never))!;
    expect(next!.from, 'the forty-first of fifty').toBe(0);
    const strict = { rate: 0.1, burst: 5 };
    const [held] = (await takeFromLedger(db, key, strict, 8, jumpingClock(0), never))!;
    expect(held!.from).toBeGreaterThan(((42 - 5) / 0.1) * 1000 - 5_000);
  });

  it('never leaks while the clock of the database goes back', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await takeRequests(db, key, { count: 10, rate: 1 });
    const nextHour = new Date(Date.now() + 3_600_000);
    await db.updateTable('request_rate').set({ counted_at: nextHour }).execute();
    expect(await takeRequests(db, key, { count: 1, rate: 1 })).toBe(11);
    expect(await takeRequests(db, key, { count: 1, rate: 1 })).toBeLessThan(12);
  });

  it('gives nothing while Redis is used, and Redis nothing before the bucket has room for it', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await takeRequests(db, key, { count: 30, rate: 10 });
    expect(await stayWithRedis(db, key)).toBeUndefined();
    const wait = await enterRedis(db, key, { count: 6, rate: 10 }, 20);
    expect(wait).toBeGreaterThan(1_000);
    expect(wait).toBeLessThanOrEqual(1_600);
    expect(await stayWithRedis(db, key)).toBeGreaterThan(1_000);
    expect(await enterRedis(db, key, { count: 6, rate: 10 }, 20)).toBeUndefined();
    expect(await takeRequests(db, key, { count: 1, rate: 10 })).toBeUndefined();

    const long = new Date(Date.now() - 6_000);
    await db.updateTable('request_rate').set({ redis_seen_at: long }).execute();
    expect(await stayWithRedis(db, key)).toBeUndefined();
    expect(await takeRequests(db, key, { count: 1, rate: 10 })).toBeGreaterThan(1);
  });
});

describe('several processes on one key', () => {
  it('keep to the limit by the warehouse, and each gets its part', async () => {
    await using setting = await aSetting();
    const askers = [1, 2, 3, 4].map(() => setting.asker());
    await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(150), 30_000);
    await stopAll(askers);
    await setting.expectWithinLimit();
    for (const { sent } of askers) expect(sent()).toBeGreaterThan(10);
  });

  it('have one burst, also when they come one after the other', async () => {
    await using setting = await aSetting();
    for (let run = 0; run < 4; run++) {
      const asker = setting.asker();
      await vi.waitFor(() => expect(asker.sent()).toBeGreaterThan(25), 30_000);
      await stopAll([asker]);
    }
    await setting.expectWithinLimit();
  });

  it.skipIf(!hasRedis)('keep to the limit by Redis, and each gets its part', async () => {
    await using redis = await aRedis();
    await using setting = await aSetting();
    const askers = [1, 2, 3, 4].map(() => setting.asker(redis.url));
    await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(150), 30_000);
    await stopAll(askers);
    await setting.expectWithinLimit();
    for (const { sent } of askers) expect(sent()).toBeGreaterThan(10);
    // They went by Redis: but for its burst, nothing was taken from the warehouse.
    const { in_bucket } = await setting.db.selectFrom('request_rate').selectAll().executeTakeFirstOrThrow();
    expect(in_bucket).toBeCloseTo(limit.rate * 0.6);
  });

  it.skipIf(!hasRedis)(
    'keep to the limit while Redis goes and comes back, and work on without it',
    async () => {
      await using redis = await aRedis();
      await using setting = await aSetting();
      const { log, lines } = aLog();
      const said = () => lines.map(({ msg }) => msg);
      const askers = [1, 2, 3].map(() => setting.asker(redis.url, log));
      await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(60), 30_000);

      await redis.stop();
      await vi.waitFor(
        () => expect(said().filter((line) => line.includes('cannot be used'))).toHaveLength(3),
        30_000,
      );
      const before = setting.arrivals.length;
      await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(before + 80), 30_000);

      await redis.start();
      await vi.waitFor(
        () => expect(said().filter((line) => line.includes('used again'))).toHaveLength(3),
        30_000,
      );
      const after = setting.arrivals.length;
      await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(after + 60), 30_000);
      await stopAll(askers);
      await setting.expectWithinLimit();
      expect(said(), 'one line for each loss and each return').toHaveLength(6);
    },
    120_000,
  );

  it.skipIf(!hasRedis)('do not even notice that Redis has forgotten them', async () => {
    await using redis = await aRedis();
    await using setting = await aSetting();
    const { log, lines } = aLog();
    const askers = [1, 2].map(() => setting.asker(redis.url, log));
    await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(20), 30_000);
    redis.forget();
    const before = setting.arrivals.length;
    await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(before + 60), 30_000);
    await stopAll(askers);
    await setting.expectWithinLimit();
    expect(lines).toEqual([]);
  });

  it.skipIf(!hasRedis)(
    'a process that alone has lost Redis stands still until the others are done',
    async () => {
      await using redis = await aRedis();
      await using way = await aWayTo(redis.url);
      await using setting = await aSetting();
      const { log, lines } = aLog();
      const others = [1, 2].map(() => setting.asker(redis.url));
      const lost = setting.asker(way.url, log);
      await vi.waitFor(() => expect(lost.sent()).toBeGreaterThan(10), 30_000);

      way.cut();
      await vi.waitFor(() => expect(lines).toHaveLength(1), 30_000);
      const when = { sent: lost.sent(), all: setting.arrivals.length };
      await vi.waitFor(() => expect(setting.arrivals.length).toBeGreaterThan(when.all + 100), 30_000);
      // What was under way may still have arrived.
      expect(lost.sent() - when.sent).toBeLessThanOrEqual(8);

      await stopAll(others);
      await vi.waitFor(() => expect(lost.sent()).toBeGreaterThan(when.sent + 20), 30_000);
      await stopAll([lost]);
      await setting.expectWithinLimit();
    },
    120_000,
  );

  it('one that knows of no Redis refuses to go on beside those that use one', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await enterRedis(db, key, { count: 1, rate: 10 }, 20);
    const { log } = aLog();
    const clock = jumpingClock();
    using shared = openSharedRate({ ...{ warehouse: db, apiKey, redisUrl: undefined, log, clock } });
    await expect(shared.limiter(limit).pass(never)).rejects.toMatchObject({
      kind: 'fatal',
      message: expect.stringContaining('GMSI_REDIS_URL is not set here'),
    });
  });

  it('asks neither Redis nor the warehouse where there is no limit', async () => {
    const { log, lines } = aLog();
    const warehouse = undefined as unknown as Warehouse;
    using shared = openSharedRate({ warehouse, apiKey, redisUrl: new Secret('redis://127.0.0.1:1'), log });
    await shared.limiter({ rate: Number.POSITIVE_INFINITY, burst: 1 }).pass(never);
    expect(lines).toEqual([]);
  });
});
