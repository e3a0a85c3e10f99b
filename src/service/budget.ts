import { createHash } from 'node:crypto';
import type { BudgetSettings } from '../config/job.ts';
import { ApiKey, type Secret } from '../secret.ts';
import type { Day } from '../warehouse/database.ts';

/** Returns the monthly total up to which a command may book; a backfill or refresh must leave the job's reserve unused. */
export function requestLimit(
  command: 'backfill' | 'sync' | 'refresh',
  { requestsPerMonth, reserve }: BudgetSettings,
): number {
  return command === 'sync' ? requestsPerMonth : requestsPerMonth - reserve;
}

/**
 * Returns under which name the warehouse counts a key's requests: its account, or an id of the key, from which nobody can
 * compute it.
 */
export function countedAs(apiKey: Secret): string {
  if (apiKey instanceof ApiKey && apiKey.account !== undefined) return apiKey.account;
  return createHash('sha256').update(`gmsi:${apiKey.reveal()}`).digest('hex').slice(0, 12);
}

/** Returns the first day of the month of an instant, in UTC. */
export function monthOf(instant: Date): Day {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/** Returns the instant at which the month's budget is free again. */
export function startOfNextMonth(instant: Date): Date {
  return new Date(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1));
}
