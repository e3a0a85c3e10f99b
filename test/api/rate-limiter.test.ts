import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRateLimiter } from '../../src/api/rate-limiter.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);

describe('createRateLimiter', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** When each of many requests goes out that all wait from the beginning, in milliseconds. */
  async function departures(rate: number, burst: number, seconds: number): Promise<number[]> {
    const limiter = createRateLimiter({ rate, burst });
    const begin = Date.now();
    const times: number[] = [];
    for (let waiting = burst + rate * seconds * 1.2; waiting > 0; waiting -= 1) {
      limiter.pass(never).then(
        () => times.push(Date.now() - begin),
        () => {},
      );
    }
    await vi.advanceTimersByTimeAsync(seconds * 1000);
    void limiter.close();
    await vi.advanceTimersByTimeAsync(1);
    return times;
  }

  test.each([
    { rate: 25, burst: 50 },
    { rate: 25, burst: 2 },
    { rate: 7, burst: 10 },
    { rate: 0.5, burst: 3 },
    { rate: 100, burst: 30 },
  ])(
    'sends no more than burst + rate × t in any t, and uses the rate: $rate a second, burst $burst',
    async (limits) => {
      const { rate, burst } = limits;
      const seconds = rate < 1 ? 300 : 40;
      const times = await departures(rate, burst, seconds);

      for (const [first, from] of times.entries()) {
        const worst = times
          .slice(first)
          .findIndex((time, index) => index + 1 > burst + (rate * (time - from)) / 1000);
        expect(worst, `too many requests in a row after ${from} ms`).toBe(-1);
      }
      expect(times.length).toBeGreaterThanOrEqual(0.95 * rate * seconds);
      expect(times.length).toBeLessThanOrEqual(burst + rate * seconds);
    },
  );

  test("spaces requests evenly, to a timer's precision, where no burst is allowed", async () => {
    const times = await departures(25, 1, 10);
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(38);
    expect(times.length).toBeGreaterThanOrEqual(237);
    expect(times.length).toBeLessThanOrEqual(251);
  });

  test('lets most of the burst go at once', async () => {
    expect(await departures(25, 50, 0.15)).toHaveLength(45);
  });

  test('lets everything through where there is no limit', async () => {
    const limiter = createRateLimiter({ rate: Number.POSITIVE_INFINITY, burst: 1 });
    await Promise.all(Array.from({ length: 1000 }, () => limiter.pass(never)));
  });

  test('whoever waits fails at its closing, or as soon as its signal is aborted', async () => {
    const limiter = createRateLimiter({ rate: 1, burst: 1 });
    const stop = new AbortController();
    await Promise.all([limiter.pass(never), vi.advanceTimersByTimeAsync(10)]);
    const [aborted, waiting] = [limiter.pass(stop.signal), limiter.pass(never)];
    stop.abort(new Error('interrupted'));
    await expect(aborted).rejects.toThrow('interrupted');
    await vi.advanceTimersByTimeAsync(10);
    void limiter.close();
    await expect(Promise.all([waiting, vi.advanceTimersByTimeAsync(10)])).rejects.toThrow('stopped');
  });
});
