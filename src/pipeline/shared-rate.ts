import { createBlockLimiter, type Permit } from '../api/block-limiter.ts';
import { type Clock, monotonicClock } from '../api/clock.ts';
import { type RateLimit, type RateLimiter, unlimited } from '../api/rate-limiter.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeRequests } from '../warehouse/queries/request-rate.ts';
import { keyFingerprint } from './request-budget.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How late a permit may be used, in milliseconds; the burst leaves room for as many as fall due in that time. */
const latestMs = 500;

/** A fifth of a second's worth of requests is taken at a time, so that a busy process writes five times a second. */
const blocksPerSecond = 5;

/**
 * A limiter for one client, which closes it. All limiters of a key that use the same warehouse share the key's rate: in
 * any t seconds they let through at most `burst + rate * t` requests, whatever their number, on whatever hosts, and
 * across restarts. Of jobs with different limits each is held to its own, and all of them to the highest.
 */
export function sharedLimiter(
  warehouse: Warehouse,
  apiKey: Secret,
  limit: RateLimit,
  clock: Clock = monotonicClock,
): RateLimiter {
  if (!Number.isFinite(limit.rate)) return unlimited;
  const key = keyFingerprint(apiKey);
  return createBlockLimiter({
    take: (waiting, signal) => takePermits(warehouse, key, limit, waiting, clock, signal),
    clock,
  });
}

/** The burst less the room for permits that are used late; a burst that has no such room is one request. */
export function promptBurst({ rate, burst }: RateLimit): number {
  return Math.max(1, burst - (rate * latestMs) / 1000);
}

/** Takes permits out of the bucket that all processes of a key share in the warehouse. */
export async function takePermits(
  warehouse: Warehouse,
  keyFingerprint: string,
  limit: RateLimit,
  waiting: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Permit[]> {
  const count = Math.min(waiting, Math.max(1, Math.floor(limit.rate / blocksPerSecond)));
  // One clock here and one in the database: between asking and the answer the database read its own. So no permit
  // begins before the answer, and none lasts longer than counted from the asking.
  let askedAt = 0;
  const inBucket = await withWarehouseRetries(() => {
    askedAt = clock.now();
    return takeRequests(warehouse, keyFingerprint, { count, rate: limit.rate });
  }, signal);
  const answeredAt = clock.now();
  return Array.from({ length: count }, (_, index) => {
    const position = inBucket - count + index + 1;
    const waitMs = Math.max(0, ((position - promptBurst(limit)) / limit.rate) * 1000);
    return { from: answeredAt + waitMs, until: askedAt + waitMs + latestMs };
  });
}
