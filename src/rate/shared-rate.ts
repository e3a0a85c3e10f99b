import type { Secret } from '../secret.ts';
import { type Clock, monotonicClock } from '../service/clock.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeRequest } from '../warehouse/tables/requests.ts';
import { keyFingerprint } from './budget.ts';

/** Decides when a request may go out. */
export interface RateLimiter {
  /**
   * Resolves when one more request may be sent; send it at once.
   * @throws the signal's reason once it is aborted
   */
  pass(signal: AbortSignal): Promise<void>;
}

/** In any t seconds, a limiter passes at most `burst + rate * t` requests. */
export interface RateLimit {
  /** Requests a second, sustained; `Infinity` for no limit. */
  readonly rate: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** For a rate of `Infinity`. */
export const unlimited: RateLimiter = { pass: async () => {} };

/** Permission to send one request, between two moments of the clock. */
interface Permit {
  readonly from: number;
  /** A later request would come on top of permits that other processes have taken since. */
  readonly until: number;
}

/** The longest wait of a timer, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/** Milliseconds that a permit may be used late; the burst is smaller by the permits of that time. */
const latestMs = 500;

/**
 * Creates a limiter. All limiters of a key in one warehouse share the key's rate: in any t seconds they pass at most
 * `burst + rate * t` requests, over all processes, hosts and restarts. If jobs have different limits, each obeys its own, and
 * all together obey the highest.
 */
export function sharedLimiter(
  warehouse: Warehouse,
  apiKey: Secret,
  limit: RateLimit,
  clock: Clock = monotonicClock,
): RateLimiter {
  if (!Number.isFinite(limit.rate)) return unlimited;
  const key = keyFingerprint(apiKey);
  let wasLate = false;
  return {
    async pass(signal) {
      for (;;) {
        signal.throwIfAborted();
        const { from, until } = await takePermit(warehouse, key, limit, clock);
        for (let ms = from - clock.now(); ms > 0; ms = from - clock.now())
          await clock.sleep(Math.min(Math.ceil(ms), longestTimerMs), signal);
        const isLate = clock.now() > until;
        // Permits expire while a process is suspended. But if two in a row are late, everything is slow, and dropping them
        // all would mean waiting forever.
        const isVoid = isLate && !wasLate;
        wasLate = isLate;
        if (!isVoid) return;
      }
    },
  };
}

/** Returns the burst minus the permits that may be used late; at least one request. */
export function promptBurst({ rate, burst }: RateLimit): number {
  return Math.max(1, burst - (rate * latestMs) / 1000);
}

/** Takes a permit from the bucket that all processes of a key share in the warehouse. */
export async function takePermit(
  warehouse: Warehouse,
  keyFingerprint: string,
  limit: RateLimit,
  clock: Clock,
): Promise<Permit> {
  // The database reads its clock between query and answer. To be safe, the permit begins at the answer, and its end counts
  // from the query.
  const askedAt = clock.now();
  const inBucket = await takeRequest(warehouse, keyFingerprint, limit.rate);
  const answeredAt = clock.now();
  const waitMs = Math.max(0, ((inBucket - promptBurst(limit)) / limit.rate) * 1000);
  return { from: answeredAt + waitMs, until: askedAt + waitMs + latestMs };
}
