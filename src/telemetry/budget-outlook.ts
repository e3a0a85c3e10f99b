import { startOfNextMonth } from '../pipeline/request-budget.ts';

/** What will become of a job's budget by the end of the calendar month (UTC). */
export interface BudgetOutlook {
  /** Requests booked this month with the key, by everybody. */
  readonly used: number;
  /** Requests that the month's total may come to, as the job says. */
  readonly limit: number;
  /** What the total comes to by the end of the month: what is used, and what the schedules still take at the least. */
  readonly projected: number;
  /** When the limit is reached; `null` where the month ends before. */
  readonly spentBy: Date | null;
}

const day = 24 * 3600 * 1000;

/** @param perDay requests that the schedules of all jobs with the key take a day, at the least */
export function budgetOutlook(used: number, limit: number, perDay: number, now: Date): BudgetOutlook {
  const daysLeft = (startOfNextMonth(now).getTime() - now.getTime()) / day;
  const projected = Math.round(used + perDay * daysLeft);
  const left = Math.max(0, limit - used);
  const isSpent = left === 0 || projected > limit;
  const spentBy = isSpent ? new Date(now.getTime() + (left === 0 ? 0 : (left / perDay) * day)) : null;
  return { used, limit, projected, spentBy };
}
