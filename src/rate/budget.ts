import { createHash } from 'node:crypto';
import type { BudgetSettings } from '../config/job.ts';
import type { Secret } from '../secret.ts';
import { BudgetSpent } from '../service/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { bookRequest, cancelRequest, usedRequests } from '../warehouse/tables/requests.ts';

/** Books each request before it is sent, so that a crash cannot leave a request unbooked. */
export interface RequestBudget {
  /** Books one request. @throws BudgetSpent if the month's budget is used up */
  book(signal: AbortSignal): Promise<Booking>;
}

export interface Booking {
  /** Call it for a request that was not sent. */
  cancel(): Promise<void>;
}

export interface Budget extends RequestBudget {
  /** Requests that all processes of the key have booked this month. */
  used(): Promise<number>;
  readonly limit: number;
}

/** Books nothing. */
export const uncounted: RequestBudget = { book: async () => ({ cancel: async () => {} }) };

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
 * Opens the key's request budget for the calendar month (UTC), which all processes share through the warehouse. A crash can only
 * make the count too high, by the requests that were booked and not sent.
 * @param limit the most requests of the month, from all processes
 */
export function openBudget(warehouse: Warehouse, apiKey: Secret, limit: number, clock: () => Date): Budget {
  const key = keyFingerprint(apiKey);
  const used = () => usedRequests(warehouse, key, monthOf(clock()));
  return {
    limit,
    used,
    async book(signal) {
      signal.throwIfAborted();
      const month = monthOf(clock());
      if (!(await bookRequest(warehouse, key, month, limit)))
        throw new BudgetSpent({ used: await used(), limit, resumesAt: startOfNextMonth(clock()) });
      return { cancel: () => cancelRequest(warehouse, key, month) };
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
