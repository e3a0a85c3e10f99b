import { describe, expect, test, vi } from 'vitest';
import { KeyRefused, MalformedPage, RateLimited, ServiceUnavailable } from '../../src/service/errors.ts';
import { defaultPatience, type RetryOptions, withRetries } from '../../src/service/retry.ts';
import { jumpingClock, standingClock } from './clocks.ts';

const never = new AbortController().signal;

function options(changes: Partial<RetryOptions> = {}): RetryOptions {
  return {
    maxAttempts: 5,
    patience: defaultPatience,
    clock: jumpingClock(),
    random: () => 0.5,
    onRetry: () => {},
    ...changes,
  };
}

/** Fails with each of the errors in turn, then succeeds. */
function failing(...errors: Error[]) {
  return vi.fn(async () => {
    const error = errors.shift();
    if (error) throw error;
    return 'page';
  });
}

describe('withRetries', () => {
  test('tries again until an attempt succeeds', async () => {
    const attempt = failing(new ServiceUnavailable('down'), new MalformedPage('half a page'));
    await expect(withRetries(attempt, options(), never)).resolves.toBe('page');
    expect(attempt).toHaveBeenCalledTimes(3);
  });

  test('doubles the ceiling of the delay up to its cap, and draws each delay from the whole of it', async () => {
    const down = Array.from({ length: 9 }, () => new ServiceUnavailable('down'));
    const clock = jumpingClock();
    await withRetries(failing(...down), options({ clock, maxAttempts: 10, random: () => 0.5 }), never);
    expect(clock.slept).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  });

  test('waits at least as long as the service asks', async () => {
    const clock = jumpingClock();
    const attempt = failing(new RateLimited('slow down', { retryAfterMs: 7000 }));
    await withRetries(attempt, options({ clock }), never);
    expect(clock.slept).toEqual([7000]);
  });

  test('waits longer than the service asks if its own delay is longer', async () => {
    const clock = jumpingClock();
    const attempt = failing(new ServiceUnavailable('down', { retryAfterMs: 100 }));
    await withRetries(attempt, options({ clock }), never);
    expect(clock.slept).toEqual([250]);
  });

  test('gives up instead of waiting out a Retry-After of days', async () => {
    const clock = jumpingClock();
    const attempt = failing(new RateLimited('quota spent', { retryAfterMs: 86_400_000 }));
    await expect(withRetries(attempt, options({ clock }), never)).rejects.toThrow(
      'quota spent (given up after 1 try)',
    );
    expect(clock.slept).toEqual([]);
  });

  test('gives up after the last try and says how many there were', async () => {
    const attempt = vi.fn(async () => {
      throw new ServiceUnavailable('down');
    });
    const clock = jumpingClock();
    const giveUp = withRetries(attempt, options({ maxAttempts: 3, clock }), never);
    await expect(giveUp).rejects.toMatchObject({ message: 'down (given up after 3 tries)', tries: 3 });
    expect(attempt).toHaveBeenCalledTimes(3);
    expect(clock.slept).toHaveLength(2);
  });

  test.each([
    ['a fatal error', new KeyRefused(401, 'no')],
    ['a bug', new TypeError('x is not a function')],
    ['an error that is no GmsiError', new Error('fetch failed')],
  ])('does not try again after %s', async (_name, error) => {
    const attempt = failing(error);
    await expect(withRetries(attempt, options(), never)).rejects.toBe(error);
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  test('reports each retry with its reason and delay', async () => {
    const onRetry = vi.fn();
    const error = new ServiceUnavailable('down');
    await withRetries(failing(error), options({ onRetry }), never);
    expect(onRetry.mock.calls).toEqual([[error, 1, 250]]);
  });

  test('ends the wait at once when aborted', async () => {
    const stop = new AbortController();
    const clock = {
      ...standingClock(),
      sleep: (_ms: number, signal: AbortSignal) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          stop.abort(new Error('interrupted'));
        }),
    };
    const attempt = failing(new ServiceUnavailable('down'));
    await expect(withRetries(attempt, options({ clock }), stop.signal)).rejects.toThrow('interrupted');
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  test('keeps an answer that arrived in the instant of an abort: it is paid for', async () => {
    const stop = new AbortController();
    const attempt = async () => {
      stop.abort();
      return 'page';
    };
    await expect(withRetries(attempt, options(), stop.signal)).resolves.toBe('page');
  });
});
