import { GmsiError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { minute, ofLimit } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { cancelRequest, takeRequest, usedRequests } from '../warehouse/tables/requests.ts';
import { countedAs, monthOf, startOfNextMonth } from './budget.ts';
import { type Clock, monotonicClock } from './clock.ts';

/** All requests that may be sent have been sent. */
export class BudgetSpent extends GmsiError {
  override readonly kind = 'budget';
}

/** Permission to send one request, which is booked in the budget. */
export interface Permit {
  /** Cancels the booking; call it if the request was not sent. If that fails, the count is too high by one. */
  cancel(): Promise<void>;
}

/** Decides whether and when a request may go out. */
export interface Permits {
  /**
   * Books one request and resolves when it may be sent; send it at once. A crash cannot leave a request unbooked.
   * @throws BudgetSpent if the budget of the month or of this run is used up; the signal's reason once it is aborted
   */
  take(signal: AbortSignal): Promise<Permit>;
}

/** In any t seconds, at most `burst + rate * t` requests are sent. */
export interface RateLimit {
  /** Requests a second, sustained; `Infinity` for no limit. */
  readonly rate: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** For requests that are neither booked nor limited. */
export const unlimited: Permits = { take: async () => ({ cancel: async () => {} }) };

/** Returns a limit for one run: all permits that it wraps together allow at most `most` requests, retries included. */
export function capRequests(most: number): (permits: Permits) => Permits {
  let left = most;
  const uncount = () => void left++;
  return ({ take }) => ({
    async take(signal) {
      if (left === 0) {
        const message = `This run has reached its request limit: ${most} of ${most} sent.`;
        throw new BudgetSpent(message, { hint: 'Run it again; it continues from here.' });
      }
      // Counted first, because another permit may be taken meanwhile.
      left--;
      try {
        const permit = await take(signal);
        return {
          cancel() {
            uncount();
            return permit.cancel();
          },
        };
      } catch (error) {
        uncount();
        throw error;
      }
    },
  });
}

/** The longest wait of a timer, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/** Milliseconds that a permit may be used late; the burst is smaller by the permits of that time. */
const latestMs = 500;

export interface PermitOptions extends RateLimit {
  /** The most requests of a calendar month (UTC), from all processes. */
  readonly budget: number;
  /** Tells the month. */
  readonly clock: () => Date;
  /** Measures waits. */
  readonly timer?: Clock;
}

/**
 * Opens the permits of a key. All processes with the key share its budget and its rate through the warehouse: in any t seconds
 * they send at most `burst + rate * t` requests, over all processes, hosts and restarts. If jobs have different rates, each
 * obeys its own, and all together obey the highest. A crash can only make the count of the budget too high, by the
 * requests that were booked and not sent.
 */
export function openPermits(warehouse: Warehouse, apiKey: Secret, options: PermitOptions) {
  const { budget, clock, timer = monotonicClock } = options;
  const key = countedAs(apiKey);
  let wasLate = false;

  /** Requests that all processes of the key have booked this month. */
  const used = () => usedRequests(warehouse, key, monthOf(clock()));

  async function take(signal: AbortSignal): Promise<Permit> {
    for (;;) {
      signal.throwIfAborted();
      const month = monthOf(clock());
      // The database reads its clock between query and answer. To be safe, a permit begins at the answer, and its end counts
      // from the query.
      const askedAt = timer.now();
      const inBucket = await takeRequest(warehouse, { key, month, budget, rate: options.rate });
      if (inBucket === undefined) throw await monthSpent();
      // Tried once: repeated after a lost reply, it would cancel the booking of a request that was sent.
      const permit = { cancel: () => cancelRequest(warehouse.plain, key, month).catch(() => {}) };
      const waitMs = waitFor(inBucket, options);
      try {
        await waitUntil(timer.now() + waitMs, signal);
      } catch (error) {
        await permit.cancel();
        throw error;
      }
      const isLate = Number.isFinite(options.rate) && timer.now() > askedAt + waitMs + latestMs;
      // Permits expire while a process is suspended: a later request would come on top of those that other processes send. But
      // if two in a row are late, everything is slow, and dropping them all would mean waiting forever.
      const isVoid = isLate && !wasLate;
      wasLate = isLate;
      if (!isVoid) return permit;
      await permit.cancel();
    }
  }

  async function monthSpent(): Promise<BudgetSpent> {
    const resumesAt = minute(startOfNextMonth(clock()));
    return new BudgetSpent(`The request budget is spent: ${ofLimit(await used(), budget)} this month.`, {
      hint: `Run it again after ${resumesAt} UTC, or raise the job's budget; it continues from here.`,
    });
  }

  async function waitUntil(moment: number, signal: AbortSignal): Promise<void> {
    for (let ms = moment - timer.now(); ms > 0; ms = moment - timer.now())
      await timer.sleep(Math.min(Math.ceil(ms), longestTimerMs), signal);
    signal.throwIfAborted();
  }

  return { take, used };
}

/** Returns the milliseconds until the last request in the bucket may be sent. */
export function waitFor(inBucket: number, limit: RateLimit): number {
  return Math.max(0, ((inBucket - promptBurst(limit)) / limit.rate) * 1000);
}

/** Returns the burst minus the permits that may be used late; at least one request. */
export function promptBurst({ rate, burst }: RateLimit): number {
  return Math.max(1, burst - (rate * latestMs) / 1000);
}
