import { count, number } from '../terminal/table.ts';
import type { AlertCause } from '../warehouse/queries/alerts.ts';
import type { WindowsInTrouble } from '../warehouse/queries/telemetry.ts';
import type { BudgetOutlook } from './budget-outlook.ts';
import type { JobStanding } from './job-standing.ts';
import type { KeyStanding } from './watch-key.ts';

/** Whether a cause is there. What cannot be told is no finding, and leaves an alert as it is. */
export interface Finding extends AlertCause {
  /** What there is to say of it; `null` where it is gone. */
  readonly trouble: { readonly message: string; readonly details: object } | null;
}

/** A budget counts as sufficient again below this share of it, so that a forecast on the edge is told of once. */
const surelyEnough = 0.95;

/** What is to be told of a job. */
export function findingsOf(standing: JobStanding, failed: WindowsInTrouble): Finding[] {
  const { job, budget } = standing;
  return [
    { job: job.name, kind: 'failed windows', trouble: failedWindows(standing, failed) },
    ...(budget ? budgetFindings(job.name, budget) : []),
    { job: job.name, kind: 'late', trouble: lateness(standing) },
  ];
}

/** Whether the service takes the key, which concerns each job that is loaded with it. */
export function keyFinding(job: string, { refusedWith }: KeyStanding): Finding {
  if (refusedWith === undefined) return { job, kind: 'key refused', trouble: null };
  const message = `The service refuses the API key with ${refusedWith}, so job ${job} is not loaded. Check GMSI_API_KEY and that the key may read the feed, then start gmsi again.`;
  return { job, kind: 'key refused', trouble: { message, details: { status: refusedWith } } };
}

function failedWindows({ job }: JobStanding, { windows, reasons }: WindowsInTrouble): Finding['trouble'] {
  if (windows === 0) return null;
  const [first] = reasons;
  return {
    message: `${count(windows, 'window')} of job ${job.name} failed: ${first!.reason} The next run tries again; gmsi status ${job.name} lists them.`,
    details: { windows, reasons },
  };
}

function budgetFindings(job: string, outlook: BudgetOutlook): Finding[] {
  const { used, limit, projected, spentBy } = outlook;
  const details = { used, limit, projected, spent_by: spentBy };
  if (used >= limit) {
    const message = `The request budget of job ${job} is spent: ${number(used)} of ${number(limit)} requests this month. Nothing is loaded until the first of the next month (UTC).`;
    return [{ job, kind: 'budget', trouble: { message, details } }];
  }
  if (spentBy !== null) {
    const day = spentBy.toISOString().slice(0, 10);
    const message = `The request budget of job ${job} will not last the month: ${number(used)} of ${number(limit)} requests are used, and the schedule brings that to ${number(projected)} at the least; the last one goes about ${day}. gmsi plan ${job} says what would save.`;
    return [{ job, kind: 'budget', trouble: { message, details } }];
  }
  return projected <= limit * surelyEnough ? [{ job, kind: 'budget', trouble: null }] : [];
}

function lateness({ job, newestCovered, lagSeconds }: JobStanding): Finding['trouble'] {
  const { maxLagDays } = job.alerts;
  const days = lagSeconds / 86_400;
  if (maxLagDays === undefined || days <= maxLagDays) return null;
  const since =
    newestCovered === null
      ? 'some series has no day covered yet'
      : `all series are covered up to ${newestCovered}`;
  return {
    message: `Job ${job.name} is ${days.toFixed(1)} days late: ${since}; ${count(maxLagDays, 'day')} are allowed. gmsi status ${job.name} shows what is missing.`,
    details: {
      lag_seconds: Math.round(lagSeconds),
      max_lag_days: maxLagDays,
      newest_covered_day: newestCovered,
    },
  };
}
