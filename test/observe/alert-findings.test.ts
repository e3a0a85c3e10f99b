import { describe, expect, it } from 'vitest';
import { findingsOfJobs } from '../../src/observe/alerts.ts';
import { budgetOutlook, type JobStanding } from '../../src/observe/job-standing.ts';
import type { FailureCounts } from '../../src/warehouse/questions/status.ts';
import { aJob } from '../support/run-backfill.ts';

const day = 24 * 3600;
const now = new Date('2026-11-21T00:00:00Z');
const noneFailed: FailureCounts = { windows: 0, reasons: [] };

function aStanding(changes: Partial<JobStanding> = {}): JobStanding {
  return {
    job: aJob({ end_date: 'today', alerts: { max_lag: 'P5D' } }),
    ...{ scope: undefined, newestCovered: '2026-11-16', lagSeconds: 4 * day },
    budget: budgetOutlook(1_000, 5_000, 100, now),
    ...changes,
  };
}

/** The messages of what is wrong, by kind; `null` for what is not. */
function told(standing: JobStanding, failed = noneFailed) {
  return Object.fromEntries(
    findingsOfJobs(standing, failed).map(({ kind, trouble }) => [kind, trouble?.message ?? null]),
  );
}

describe('the alerts of a job', () => {
  it('is nothing if all is well', () => {
    expect(told(aStanding())).toEqual({ 'failed windows': null, budget: null, late: null });
  });

  it('is how many windows failed, and the commonest reason', () => {
    const reasons = [
      { reason: 'The service answered with 503.', windows: 2 },
      { reason: 'No answer.', windows: 1 },
    ];
    expect(told(aStanding(), { windows: 3, reasons })['failed windows']).toBe(
      '3 windows of job test failed: The service answered with 503. The next run tries again; gmsi status test lists them.',
    );
  });

  it('is a budget that will not last, with the day on which it ends', () => {
    const budget = budgetOutlook(4_500, 5_000, 100, now);
    expect(told(aStanding({ budget })).budget).toBe(
      'The request budget of job test will not last the month: 4,500 of 5,000 requests are used, and the schedule needs at least 5,500 in total; the budget is spent about 2026-11-26. gmsi plan test shows how to save requests.',
    );
  });

  it('is a budget that is spent', () => {
    const budget = budgetOutlook(5_000, 5_000, 0, now);
    expect(told(aStanding({ budget })).budget).toMatch(/^The request budget of job test is spent: 5,000 of/);
  });

  it('leaves a budget near the limit as it was, so that it is not reported again and again', () => {
    const budget = budgetOutlook(3_900, 5_000, 100, now);
    expect(told(aStanding({ budget }))).not.toHaveProperty('budget');
  });

  it('is a job that is later than its max_lag', () => {
    expect(told(aStanding({ lagSeconds: 5 * day })).late).toBeNull();
    expect(told(aStanding({ lagSeconds: 6.25 * day })).late).toBe(
      'Job test is 6.3 days late: all series are covered up to 2026-11-16; 5 days are allowed. gmsi status test shows what is missing.',
    );
  });

  it('is never that a job is late which has no max_lag', () => {
    expect(told(aStanding({ job: aJob(), lagSeconds: 999 * day })).late).toBeNull();
  });
});
