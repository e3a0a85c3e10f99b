import { expect, it } from 'vitest';
import type { CauseCode } from '../../src/errors.ts';
import { findingsOfJobs } from '../../src/observe/alerts.ts';
import { budgetOutlook, type JobStanding } from '../../src/observe/job-standing.ts';
import { aJob } from '../support/run-backfill.ts';

const day = 24 * 3600;
const now = new Date('2026-11-21T00:00:00Z');
const failures = {
  windows: 3,
  reasons: [
    { cause: 'temporary' as CauseCode, reason: 'The service answered with 503.', windows: 2 },
    { cause: 'unexpected' as CauseCode, reason: 'No answer.', windows: 1 },
  ],
};
const used = (requests: number, more: number) => ({ budget: budgetOutlook(requests, 5_000, more, now) });

/** The messages of what is wrong, by kind; `null` for what is not. */
function told(
  changes: Partial<JobStanding>,
  failed = { windows: 0, reasons: [] as typeof failures.reasons },
) {
  const standing = {
    job: aJob({ end_date: 'today', alerts: { max_lag: 'P5D' } }),
    scope: undefined,
    newestCovered: '2026-11-16',
    lagSeconds: 4 * day,
    work: { isScheduled: false, workers: 0, nextRun: null, otherVersionBy: null },
    ...used(1_000, 100),
    ...changes,
  };
  return Object.fromEntries(
    findingsOfJobs(standing, failed).map(({ kind, trouble }) => [kind, trouble?.message ?? null]),
  );
}

it.each<[string, Partial<JobStanding>, object]>([
  ['nothing if all is well', {}, { 'failed windows': null, budget: null, late: null }],
  ['nothing of a job that may be as late as it is', { lagSeconds: 5 * day }, { late: null }],
  ['never that a job without max_lag is late', { job: aJob(), lagSeconds: 999 * day }, { late: null }],
  [
    'that a job is later than its max_lag',
    { lagSeconds: 6.25 * day },
    {
      late: expect.stringMatching(
        /is 6\.3 days late: all .* up to 2026-11-16; 5 days are allowed\. .*: gmsi status test$/,
      ),
    },
  ],
  [
    'that a budget will not last, with the day on which it ends',
    used(4_500, 100),
    {
      budget:
        'The request budget of job test will not last the month: 4,500 of 5,000 requests are used, and the schedule needs at ' +
        'least 5,500 in total; the budget is spent about 2026-11-26. How to save requests: gmsi plan test',
    },
  ],
  [
    'that a budget is spent',
    used(5_000, 0),
    { budget: expect.stringMatching(/^The request budget of job test is spent: 5,000 of/) },
  ],
  [
    'that a budget is spent, by others of the key, too',
    used(9_000, 0),
    {
      budget: expect.stringMatching(/is spent: 9,000 requests \(the limit is 5,000\) this month\./),
    },
  ],
])('an alert says %s', (_, changes, messages) => {
  expect(told(changes)).toMatchObject(messages);
});

it('an alert says how many windows failed, and the commonest reason', () => {
  expect(told({}, failures)['failed windows']).toBe(
    '3 windows of job test failed: The service answered with 503. The next run tries again. To load them: gmsi backfill test',
  );
  const { reasons, ...rest } = failures;
  const bare = {
    ...rest,
    reasons: [{ ...reasons[0]!, reason: 'The service limits the rate (429): Slow down' }],
  };
  expect(told({}, bare)['failed windows']).toContain('(429): Slow down. The next run');
});

it('a budget near the limit is left as it was, so that it is not reported again and again', () => {
  expect(told(used(3_900, 100))).not.toHaveProperty('budget');
});
