import { describe, expect, test, vi } from 'vitest';
import { KeyRefused, ServiceUnavailable } from '../../src/service/errors.ts';
import { defaultPatience, type RetryOptions, withRetries } from '../../src/service/retry.ts';
import { jumpingClock, standingClock } from './clocks.ts';

const never = new AbortController().signal;

function options(changes: Partial<RetryOptions> = {}): RetryOptions {
  return {
    maxAttempts: 5,
    patience: defaultPatience,
    clock: jumpingClock(),
    random: () => 0.5,
    leastDelayMs: () => 0,
    givesUp: () => false,
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
  test('doubles the ceiling of the delay up to its cap, and draws each delay from the whole of it', async () => {
    const down = Array.from({ length: 9 }, () => new ServiceUnavailable('down'));
    const clock = jumpingClock();
    await withRetries(failing(...down), options({ clock, maxAttempts: 10, random: () => 0.5 }), never);
    expect(clock.slept).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  });

  test('waits longer than the service asks if its own delay is longer', async () => {
    const clock = jumpingClock();
    const attempt = failing(new ServiceUnavailable('down', { retryAfterMs: 100 }));
    await withRetries(attempt, options({ clock }), never);
    expect(clock.slept).toEqual([250]);
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
