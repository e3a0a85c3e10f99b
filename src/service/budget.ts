import { createHash } from 'node:crypto';
import type { BudgetSettings } from '../config/job.ts';
import type { Secret } from '../secret.ts';
import type { Day } from '../warehouse/database.ts';

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

/** Returns the first day of the month of an instant, in UTC. */
export function monthOf(instant: Date): Day {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/** Returns the instant at which the month's budget is free again. */
export function startOfNextMonth(instant: Date): Date {
  return new Date(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth() + 1, 1));
}
