import { setTimeout as delay } from 'node:timers/promises';
import type { Headers } from './http.ts';

/** The client's time source. Passed in, so that tests need not wait. */
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

/** Counts from the start of the process, so changes of the machine's clock do not matter. */
export const monotonicClock: Clock = { now: () => performance.now(), sleep: systemClock.sleep };

export interface ServiceTime {
  /** The time in the last good answer, plus the time since then. */
  readonly date: Date;
  /** The true time may be later by this much: the answer's duration plus a second, because `Date` has whole seconds. */
  readonly mayBeLaterMs: number;
}

/**
 * Remembers the service's time from its answers.
 * @param passed a monotonic clock in milliseconds
 */
export function keepServiceTime(passed: () => number = () => performance.now()) {
  let last: { readonly date: number; readonly at: number; readonly mayBeLaterMs: number } | undefined;
  return {
    /** @param tookMs from sending the request to the last byte of its answer */
    note(headers: Headers, tookMs: number): void {
      const date = dateOf(headers);
      if (date !== undefined) last = { date, at: passed(), mayBeLaterMs: tookMs + 1000 };
    },
    /** `undefined` until an answer has carried the time. */
    now(): ServiceTime | undefined {
      if (!last) return undefined;
      return { date: new Date(last.date + passed() - last.at), mayBeLaterMs: last.mayBeLaterMs };
    },
  };
}

/**
 * Returns when an answer was made (RFC 9110, 6.6.1) plus its time in a cache (RFC 9111, 5.1), in milliseconds since 1970;
 * `undefined` without a `Date`.
 */
export function dateOf({ date, age }: Headers): number | undefined {
  const made = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  const cached = typeof age === 'string' && /^\d{1,10}$/.test(age) ? Number(age) * 1000 : 0;
  return Number.isNaN(made) ? undefined : made + cached;
}
