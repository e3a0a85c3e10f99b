import { setTimeout as delay } from 'node:timers/promises';
import type { Headers } from './http.ts';

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

/** What time it is at the service. */
export interface ServiceTime {
  /** As its last good answer said, and the time since then. */
  readonly date: Date;
  /** By how much it may be later: the answer was under way for so long, and `Date` names whole seconds. */
  readonly mayBeLaterMs: number;
}

/** Remembers what time the service's answers say it is. */
export interface ServiceTimeKeeper {
  /** @param tookMs from sending the request to the last byte of its answer */
  note(headers: Headers, tookMs: number): void;
  /** `undefined` until an answer has said it. */
  now(): ServiceTime | undefined;
}

/** @param passed milliseconds since some moment, whatever is done to this machine's clock */
export function keepServiceTime(passed: () => number = () => performance.now()): ServiceTimeKeeper {
  let last: { readonly date: number; readonly at: number; readonly mayBeLaterMs: number } | undefined;
  return {
    note(headers, tookMs) {
      const date = dateOf(headers);
      if (date !== undefined) last = { date, at: passed(), mayBeLaterMs: tookMs + 1000 };
    },
    now() {
      if (!last) return undefined;
      return { date: new Date(last.date + passed() - last.at), mayBeLaterMs: last.mayBeLaterMs };
    },
  };
}

/**
 * When an answer was made, in milliseconds since 1970 (RFC 9110, 6.6.1), and the time that it has lain in a cache since
 * (RFC 9111, 5.1); `undefined` if it does not say.
 */
function dateOf({ date, age }: Headers): number | undefined {
  const made = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  const cached = typeof age === 'string' && /^\d{1,10}$/.test(age) ? Number(age) * 1000 : 0;
  return Number.isNaN(made) ? undefined : made + cached;
}
