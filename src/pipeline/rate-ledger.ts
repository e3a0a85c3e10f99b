import type { Permit } from '../api/block-limiter.ts';
import type { Clock } from '../api/clock.ts';
import type { RateLimit } from '../api/rate-limiter.ts';
import { GmsiError } from '../errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { takeRequests } from '../warehouse/queries/request-rate.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** Others share the key's rate by Redis just now, so the warehouse hands out nothing. */
export class RateByRedis extends GmsiError {
  override readonly kind = 'retryable';

  constructor() {
    super('Other processes of this key share its rate by Redis.');
  }
}

/** How late a permit may be used, in milliseconds; the burst leaves room for as many as fall due in that time. */
const latestMs = 500;

/** A fifth of a second's worth of requests is taken at a time, so that a busy process writes five times a second. */
const blocksPerSecond = 5;

/** The burst less the room for permits that are used late; a burst that has no such room is one request. */
export function promptBurst({ rate, burst }: RateLimit): number {
  return Math.max(1, burst - (rate * latestMs) / 1000);
}

/**
 * Takes permits out of the bucket that all processes of a key share in the warehouse: in any t seconds they send at most
 * `burst + rate * t` requests, whatever their number, on whatever hosts, and across restarts. Of jobs with different
 * limits each is held to its own, and all of them to the highest.
 * @throws RateByRedis
 */
export async function takeFromLedger(
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
  if (inBucket === undefined) throw new RateByRedis();
  return Array.from({ length: count }, (_, index) => {
    const position = inBucket - count + index + 1;
    const waitMs = Math.max(0, ((position - promptBurst(limit)) / limit.rate) * 1000);
    return { from: answeredAt + waitMs, until: askedAt + waitMs + latestMs };
  });
}
