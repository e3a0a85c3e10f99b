import { setTimeout as delay } from 'node:timers/promises';

/** Time as the client sees it; passed in, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  },
};

/** Counts from the start of the process, whatever is done to the machine's clock. */
export const monotonicClock: Clock = { now: () => performance.now(), sleep: systemClock.sleep };
