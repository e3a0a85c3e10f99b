import { createHash } from 'node:crypto';
import type { BudgetSettings } from '../config/job.ts';
import type { Secret } from '../secret.ts';
import { BudgetSpent } from '../service/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { bookRequests, returnRequests, usedRequests } from '../warehouse/tables/requests.ts';

/** Requests booked at a time: enough for about a second, so that booking costs one short transaction a second. */
const block = 25;

/** Books each request before it is sent, so that no crash can leave a request unbooked. */
export interface RequestBudget {
  /** Books one request. @throws BudgetSpent if the month's budget is used up */
  book(signal: AbortSignal): Promise<void>;
}

export interface Budget extends RequestBudget {
  /** Requests booked this month by everybody who shares it, those not sent yet included. */
  used(): Promise<number>;
  readonly limit: number;
  /** Gives back what was booked and not sent; call it after the last request. */
  settle(): Promise<void>;
}

/** The key's monthly total up to which a command may book: a backfill leaves the job's reserve to others. */
export function requestLimit(
  command: 'backfill' | 'sync',
  { requestsPerMonth, reserve }: BudgetSettings,
): number {
  return command === 'backfill' ? requestsPerMonth - reserve : requestsPerMonth;
}

/** Identifies a key in the warehouse; the key cannot be computed from it. */
export function keyFingerprint(apiKey: Secret): string {
  return createHash('sha256').update(`gmsi:${apiKey.reveal()}`).digest('hex').slice(0, 12);
}

/**
 * The key's request budget of the calendar month (UTC), kept in the warehouse and shared by every process there.
 * Requests are booked in blocks before they are sent, so that a crash can only leave the count too high.
 * @param limit requests that the month's total may come to
 */
export function openBudget(warehouse: Warehouse, apiKey: Secret, limit: number, clock: () => Date): Budget {
  const key = keyFingerprint(apiKey);
  let held = { month: '', unsent: 0 };
  let refill: Promise<void> | undefined;

  async function settle(): Promise<void> {
    const { month, unsent } = held;
    held = { month: '', unsent: 0 };
    if (unsent > 0) await returnRequests(warehouse, key, month, unsent);
  }

  async function bookBlock(month: Day): Promise<void> {
    // What is left of a block of an earlier month is not carried over.
    await settle();
    const { granted, used } = await bookRequests(warehouse, key, month, { wanted: block, limit });
    if (granted === 0) throw new BudgetSpent({ used, limit, resumesAt: startOfNextMonth(clock()) });
    held = { month, unsent: granted };
  }

  return {
    limit,
    used: () => usedRequests(warehouse, key, monthOf(clock())),
    settle,
    async book(signal) {
      for (;;) {
        signal.throwIfAborted();
        const month = monthOf(clock());
        if (held.month === month && held.unsent > 0) {
          held.unsent--;
          return;
        }
        refill ??= bookBlock(month).finally(() => {
          refill = undefined;
        });
        await refill;
      }
    },
  };
}

/** The first day of the month of an instant, in UTC. */
export function monthOf(instant: Date): Day {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/** The instant at which the month's budget is free again. */
export function startOfNextMonth(instant: Date): Date {
  return new Date(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1));
}
