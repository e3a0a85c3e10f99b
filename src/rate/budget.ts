import { createHash } from 'node:crypto';
import type { BudgetSettings } from '../config/job.ts';
import type { Secret } from '../secret.ts';
import { BudgetSpent } from '../service/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { bookRequests, returnRequests, usedRequests } from '../warehouse/tables/requests.ts';

/** Requests booked at a time, about one second's worth, so that booking costs one short transaction a second. */
const block = 25;

/** Books each request before it is sent, so that a crash cannot leave a request unbooked. */
export interface RequestBudget {
  /** Books one request. @throws BudgetSpent if the month's budget is used up */
  book(signal: AbortSignal): Promise<void>;
  /** Takes back the booking of a request that was not sent. */
  takeBack(): void;
}

export interface Budget extends RequestBudget {
  /** Requests that all processes of the key have booked this month, including those not sent yet. */
  used(): Promise<number>;
  readonly limit: number;
  /** Returns requests that were booked but not sent; call it after the last request. */
  settle(): Promise<void>;
}

/** Returns the monthly total up to which a command may book; a backfill or refresh must leave the job's reserve unused. */
export function requestLimit(
  command: 'backfill' | 'sync' | 'refresh',
  { requestsPerMonth, reserve }: BudgetSettings,
): number {
  return command === 'sync' ? requestsPerMonth : requestsPerMonth - reserve;
}

/** Returns an id for a key in the warehouse; nobody can compute the key from it. */
export function keyFingerprint(apiKey: Secret): string {
  return createHash('sha256').update(`gmsi:${apiKey.reveal()}`).digest('hex').slice(0, 12);
}

/**
 * Opens the key's request budget for the calendar month (UTC), which all processes share through the warehouse. Books
 * requests in blocks before they are sent, so that a crash can only make the count too high.
 * @param limit the most requests of the month, from all processes
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
    // A block of an earlier month is not carried over.
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
    takeBack() {
      // After a change of the month or `settle`, the booking stays: the count may be too high, but never too low.
      if (held.month === monthOf(clock())) held.unsent++;
    },
  };
}

/** Returns the first day of the month of an instant, in UTC. */
export function monthOf(instant: Date): Day {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/** Returns the instant at which the month's budget is free again. */
export function startOfNextMonth(instant: Date): Date {
  return new Date(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1));
}
