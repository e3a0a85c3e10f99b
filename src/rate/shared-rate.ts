import { addAbortListener } from 'node:events';
import type { Secret } from '../secret.ts';
import { type Clock, monotonicClock } from '../service/clock.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeRequests } from '../warehouse/tables/requests.ts';
import { keyFingerprint } from './budget.ts';

/** Decides when a request may go out. */
export interface RateLimiter {
  /**
   * Resolves when one more request may be sent; send it at once.
   * @throws the signal's reason once it is aborted; an error if the limiter is closed
   */
  pass(signal: AbortSignal): Promise<void>;
  /** Makes waiting requests fail. */
  close(): Promise<void>;
}

/** In any t seconds, a limiter passes at most `burst + rate * t` requests. */
export interface RateLimit {
  /** Requests a second, sustained; `Infinity` for no limit. */
  readonly rate: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** For a rate of `Infinity`. */
export const unlimited: RateLimiter = { pass: async () => {}, close: async () => {} };

/** Permission to send one request, between two moments of the clock. */
export interface Permit {
  readonly from: number;
  /** A later request would come on top of permits that other processes have taken since. */
  readonly until: number;
}

export interface BlockLimiterOptions {
  /**
   * Takes permits for some or all waiting requests from the rate that the processes of a key share. Returns at least one, the
   * soonest first.
   */
  readonly take: (waiting: number, signal: AbortSignal) => Promise<readonly Permit[]>;
  readonly clock: Clock;
}

/** The longest wait of a timer, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Creates a limiter that takes permits in blocks, one block at a time and only for waiting requests. So every permit is used,
 * and a process that sends little leaves the rate to others.
 */
export function createBlockLimiter({ take, clock }: BlockLimiterOptions): RateLimiter {
  const waiting = new Set<Waiter>();
  const closing = new AbortController();
  let isServing = false;

  async function serve(): Promise<void> {
    isServing = true;
    try {
      let wasLate = false;
      while (waiting.size > 0) {
        for (const { from, until } of await take(waiting.size, closing.signal)) {
          await reach(from);
          const isLate = clock.now() > until;
          // Permits expire while a process is suspended. But if two in a row are late, everything is slow, and dropping them
          // all would mean waiting forever.
          const isVoid = isLate && !wasLate;
          wasLate = isLate;
          if (isVoid) break;
          const [next] = waiting;
          next?.go();
        }
      }
    } catch (error) {
      for (const waiter of [...waiting]) waiter.fail(error);
    } finally {
      isServing = false;
    }
  }

  async function reach(moment: number): Promise<void> {
    for (let ms = moment - clock.now(); ms > 0; ms = moment - clock.now()) {
      await clock.sleep(Math.min(Math.ceil(ms), longestTimerMs), closing.signal);
    }
  }

  return {
    pass(signal) {
      return new Promise((resolve, reject) => {
        closing.signal.throwIfAborted();
        signal.throwIfAborted();
        const end = () => {
          waiting.delete(waiter);
          listening[Symbol.dispose]();
        };
        const waiter: Waiter = {
          go() {
            end();
            resolve();
          },
          fail(error) {
            end();
            reject(error);
          },
        };
        const listening = addAbortListener(signal, () => waiter.fail(signal.reason));
        waiting.add(waiter);
        if (!isServing) void serve();
      });
    },
    async close() {
      closing.abort(new Error('This limiter has been stopped.'));
      for (const waiter of [...waiting]) waiter.fail(closing.signal.reason);
    },
  };
}

interface Waiter {
  go(): void;
  fail(error: unknown): void;
}

/** Milliseconds that a permit may be used late; the burst is smaller by the permits of that time. */
const latestMs = 500;

/** A busy process takes permits, and so writes to the warehouse, five times a second. */
const blocksPerSecond = 5;

/**
 * Creates a limiter for one client, which closes it. All limiters of a key in one warehouse share the key's rate: in any t
 * seconds they pass at most `burst + rate * t` requests, over all processes, hosts and restarts. If jobs have different
 * limits, each obeys its own, and all together obey the highest.
 */
export function sharedLimiter(
  warehouse: Warehouse,
  apiKey: Secret,
  limit: RateLimit,
  clock: Clock = monotonicClock,
): RateLimiter {
  if (!Number.isFinite(limit.rate)) return unlimited;
  const key = keyFingerprint(apiKey);
  return createBlockLimiter({ take: (waiting) => takePermits(warehouse, key, limit, waiting, clock), clock });
}

/** Returns the burst minus the permits that may be used late; at least one request. */
export function promptBurst({ rate, burst }: RateLimit): number {
  return Math.max(1, burst - (rate * latestMs) / 1000);
}

/** Takes permits from the bucket that all processes of a key share in the warehouse. */
export async function takePermits(
  warehouse: Warehouse,
  keyFingerprint: string,
  limit: RateLimit,
  waiting: number,
  clock: Clock,
): Promise<readonly Permit[]> {
  const count = Math.min(waiting, Math.max(1, Math.floor(limit.rate / blocksPerSecond)));
  // The database reads its clock between query and answer. To be safe, permits begin at the answer, and their end counts
  // from the query.
  const askedAt = clock.now();
  const inBucket = await takeRequests(warehouse, keyFingerprint, { count, rate: limit.rate });
  const answeredAt = clock.now();
  return Array.from({ length: count }, (_, index) => {
    const position = inBucket - count + index + 1;
    const waitMs = Math.max(0, ((position - promptBurst(limit)) / limit.rate) * 1000);
    return { from: answeredAt + waitMs, until: askedAt + waitMs + latestMs };
  });
}
