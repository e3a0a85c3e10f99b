import { describe, expect, onTestFinished, test } from 'vitest';
import { openRedisRate, RedisUnavailable, redisBurstMs, redisVersion } from '../../src/api/redis-rate.ts';
import { Secret } from '../../src/secret.ts';
import { aRedis, hasRedis, type TestRedis } from '../support/redis.ts';

async function open(redis: Pick<TestRedis, 'url'>, id = 'key') {
  const rate = await openRedisRate(redis.url, id);
  onTestFinished(() => rate.close());
  return rate;
}

describe.skipIf(!hasRedis)('a key’s time from Redis', () => {
  test('is handed out once, whoever asks for it', async () => {
    await using redis = await aRedis();
    const rates = await Promise.all([open(redis), open(redis), open(redis)]);
    const begin = performance.now();
    await Promise.all(rates.flatMap((rate) => Array.from({ length: 10 }, () => rate.take(100))));
    const elapsed = performance.now() - begin;
    // Redis reads the time in whole milliseconds.
    expect(elapsed).toBeGreaterThan(3000 - redisBurstMs - 5);
  });

  test('is not handed out for a past that Redis does not know: a fresh one begins empty', async () => {
    await using redis = await aRedis();
    const begin = performance.now();
    await (await open(redis)).take(400);
    expect(performance.now() - begin).toBeGreaterThan(295);
  });

  test('is each key’s own', async () => {
    await using redis = await aRedis();
    const [mine, yours] = [await open(redis, 'mine'), await open(redis, 'yours')];
    const order: string[] = [];
    await Promise.all([
      mine.take(2 * redisBurstMs).then(() => order.push('mine')),
      yours.take(40).then(() => order.push('yours')),
    ]);
    expect(order).toEqual(['yours', 'mine']);
  });

  test.each([
    ['stopped', (redis: TestRedis) => redis.stop(), 'ended'],
    ['frozen', async (redis: TestRedis) => redis.freeze(), 'timed out'],
  ])('whoever waits hears of it when Redis is %s', async (_name, end, why) => {
    await using redis = await aRedis();
    const rate = await open(redis);
    const waiting = rate.take(60_000);
    const heard = expect(waiting).rejects.toThrow(RedisUnavailable);
    await end(redis);
    await heard;
    expect((await rate.gone).message).toContain(why);
    await expect(rate.take(1)).rejects.toThrow(RedisUnavailable);
  });

  test('needs the right password, and does not tell a wrong one', async () => {
    await using redis = await aRedis({ password: 'right' });
    const wrong = new Secret(redis.url.reveal().replace('right', 'not-the-one'));
    // One after the other: a refusal that nobody awaits yet would be an unhandled one.
    for (const refuse of [() => openRedisRate(wrong, 'key'), () => redisVersion(wrong)]) {
      const refused = refuse();
      const error = await refused.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(RedisUnavailable);
      expect(String((error as Error).stack)).toContain('WRONGPASS');
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('not-the-one');
    }
    await (await open(redis)).take(1);
    expect(await redisVersion(redis.url)).toMatch(/^\d+\.\d+/);
  });
});

test('an address where no Redis is, is told at once', async () => {
  const nowhere = new Secret('redis://127.0.0.1:1');
  await expect(openRedisRate(nowhere, 'key')).rejects.toThrow('ECONNREFUSED');
  await expect(redisVersion(nowhere)).rejects.toThrow('ECONNREFUSED');
});
