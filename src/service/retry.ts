import pRetry from 'p-retry';
import { kindOf } from '../errors.ts';
import type { Clock } from './clock.ts';
import { RetryableError } from './errors.ts';

export interface RetryOptions {
  /** Tries of one request, the first included. */
  readonly maxAttempts: number;
  readonly patience: Patience;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The least wait before the next try, in milliseconds. */
  readonly leastDelayMs: () => number;
  /** Returns true if no try should follow the nth one, which failed with this error. */
  readonly givesUp: (error: Error, attempt: number) => boolean;
  readonly onRetry: (error: Error, attempt: number, delayMs: number) => void;
}

/**
 * Tries until an attempt succeeds, fails with an error that a retry cannot fix, or was the last one. Between tries, waits an
 * exponential delay with full jitter, and at least as long as Retry-After.
 * @param attempt gets the number of the try, from 1
 * @throws the last attempt's error, with the number of tries in its message; the signal's reason once it is aborted
 */
export async function withRetries<T>(
  attempt: (attempt: number) => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  const { maxAttempts, patience, clock, random, leastDelayMs, givesUp, onRetry } = options;
  let tries = 0;

  const mayRetry = (error: Error) =>
    !signal.aborted &&
    kindOf(error) === 'retryable' &&
    leastWait(error) <= patience.longestWaitMs &&
    !givesUp(error, tries);

  try {
    return await pRetry(
      (attemptNumber) => {
        tries = attemptNumber;
        return attempt(attemptNumber);
      },
      {
        retries: maxAttempts - 1,
        // p-retry does not wait itself, because its delays have neither a random source nor a minimum. It does not get the
        // signal: it would drop an answer that arrives at the moment of an abort, although the request has been spent.
        minTimeout: 0,
        async shouldRetry({ error, attemptNumber }) {
          if (!mayRetry(error)) return false;
          const ceiling = Math.min(patience.maxDelayMs, patience.firstDelayMs * 2 ** (attemptNumber - 1));
          const delayMs = Math.max(leastWait(error), leastDelayMs(), random() * ceiling);
          onRetry(error, attemptNumber, delayMs);
          await clock.sleep(delayMs, signal);
          return true;
        },
      },
    );
  } catch (error) {
    if (error instanceof RetryableError) error.givenUpAfter(tries);
    throw error;
  }
}

function leastWait(error: Error): number {
  return error instanceof RetryableError ? (error.retryAfterMs ?? 0) : 0;
}

/** How the client waits. None of it is documented; docs/service.md, "Limits" has our best guess. */
export const defaultPatience = {
  /** The first retry waits up to this long; each further one up to twice as long as the one before. */
  firstDelayMs: 500,
  /** No retry waits longer, unless Retry-After is longer. */
  maxDelayMs: 30_000,
  /** Bounds of the pause after a 429 without Retry-After; the vendor suggests 1 to 2 seconds. */
  rateLimitPauseMs: [1000, 2000] as readonly [least: number, most: number],
  /** A longer Retry-After, for example after a spent quota, makes requests fail at once. */
  longestWaitMs: 300_000,
  /** After this many good answers since the last change, one more request may run at a time. */
  raiseAfter: 50,
};

export type Patience = Readonly<typeof defaultPatience>;
