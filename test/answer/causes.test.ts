import { expect, it } from 'vitest';
import { causesOf, type Known } from '../../src/answer/causes.ts';
import { budgetOutlook, type JobStanding } from '../../src/answer/standing.ts';
import { findingsOf } from '../../src/observe/alerts.ts';
import type { Failures } from '../../src/questions/coverage.ts';
import { aJob } from '../support/run-backfill.ts';

const day = 24 * 3600;
const now = new Date('2026-11-21T00:00:00Z');
const used = (requests: number, more: number) => ({ budget: budgetOutlook(requests, 5_000, more, now) });
const scope = {
  ...{ feed: 'gmsi-headlines', countries: ['US'], topics: ['Inflation-Food'], tickers: [''] },
  ...{ matchType: 'COMBINED', variants: [''], from: '2026-01-01', to: '2026-11-20' },
};
const whole = {
  ...{
    from: scope.from,
    to: scope.to,
    is_complete: true,
    series: 1,
    complete: 1,
    covered: 300,
    wanted: 300,
    left_over: 0,
  },
  ...{ complete_to: '2026-11-20', open: 0, failed: 0, refused: 0 },
};
const load = { load_id: 1, state: 'done', error: null, at: '', is_recent: true, is_running: false };
const idle = { isScheduled: false, workers: 0, nextRun: null, isPaused: false, otherVersionBy: null };

function aStanding(changes: Partial<JobStanding> = {}): JobStanding {
  return {
    job: aJob({ end_date: 'today', alerts: { max_lag: 'P5D' } }),
    scope,
    completeness: whole,
    failures: [],
    findEmptied: async () => undefined,
    newestCovered: '2026-11-16',
    recent: 'covered 90',
    lagSeconds: 4 * day,
    lastLoad: load,
    work: idle,
    ...used(1_000, 100),
    ...changes,
  };
}

const aFailure = (changes: Partial<Failures> = {}): Failures => ({
  ...{
    feed: 'gmsi-headlines',
    state: 'failed',
    cause: 'temporary',
    says: 'No answer',
    windows: 3,
    series: 2,
  },
  ...{ example: 'US Inflation-Food', first_day: '2026-01-01', last_day: '2026-01-31', job: 'test' },
  ...changes,
});

function told(changes: Partial<JobStanding> = {}, known: Partial<Known> = {}) {
  const standing = aStanding(changes);
  const nothing = { others: [], unwanted: [], emptied: new Map(), checks: [], alerts: [], fields: [] };
  const causes = causesOf([standing], [], {
    ...nothing,
    requests: new Map([['test', 12]]),
    typedAs: ({ name }) => name,
    ...known,
  });
  const findings = findingsOf(standing, causes).map(({ kind, trouble }) => [kind, trouble?.message ?? null]);
  return { causes, alerts: Object.fromEntries(findings) as Record<string, string | null> };
}

const refusal = { kind: 'key refused', job: 'test', message: 'It answered 403.', raised_at: '' };
const missing = { completeness: { ...whole, is_complete: false, complete: 0, covered: 255, left_over: 45 } };

it('repeats the options that limit a job in the command that loads it', () => {
  const part = { from: '2026-01-01', to: '2026-02-01', country: ['US'] };
  const emptied = new Map([['test', { from: '2026-01-05', to: '2026-01-06' }]]);
  const { causes } = told({ ...missing, job: { ...aJob(), part } }, { emptied });
  expect(causes.map(({ command }) => command)).toEqual([
    'gmsi backfill test --full-refresh --from 2026-01-05 --to 2026-01-06 --country US',
    'gmsi backfill test --from 2026-01-01 --to 2026-02-01 --country US',
  ]);
});

it.each<[string, Partial<JobStanding>, Partial<Known>, object | undefined]>([
  ['nothing if all is well', {}, {}, undefined],
  ['nothing of a job that may be as late as it is', { lagSeconds: 5 * day }, {}, undefined],
  ['never that a job without max_lag is late', { job: aJob(), lagSeconds: 999 * day }, {}, undefined],
  [
    'that days are missing, and what loading them costs',
    missing,
    {},
    {
      code: 'days missing',
      severity: 'behind',
      what: '45 days missing',
      command: 'gmsi backfill test',
      requests: 12,
    },
  ],
  [
    'that the series of a job are not known',
    { scope: undefined, completeness: undefined },
    {},
    { code: 'series unknown', severity: 'behind', command: 'gmsi lookups', requests: 5 },
  ],
  [
    'no load while one is running',
    { ...missing, failures: [aFailure()], lastLoad: { ...load, is_running: true } },
    {},
    { code: 'temporary', what: '3 windows failed', command: null },
  ],
  [
    'what no running load cures',
    { failures: [aFailure({ cause: 'withdrawn' })], lastLoad: { ...load, is_running: true } },
    {},
    { code: 'withdrawn', command: 'gmsi backfill test --accept-retractions' },
  ],
  [
    'no load while the budget is spent',
    { ...missing, ...used(5_000, 0) },
    {},
    { code: 'budget spent', severity: 'stopped', command: 'gmsi plan test', requests: 0 },
  ],
  [
    'that only the reserve is left to a job that backfills load',
    { ...missing, ...used(4_900, 0), job: aJob({ budget: { requests_per_month: 5_000, reserve: 200 } }) },
    {},
    { code: 'budget spent', why: expect.stringMatching(/^4,900 of 5,000 .*; 200 are kept for syncs\. /) },
  ],
  [
    'the cure of windows that failed, with what is to be done before it',
    { failures: [aFailure({ cause: 'too old' })] },
    {},
    {
      ...{ what: '3 windows failed', about: '2 series, such as US Inflation-Food; 2026-01-01 to 2026-01-31' },
      ...{ before: 'set history_limit in the job file', command: 'gmsi backfill test', requests: 12 },
    },
  ],
  [
    'all requests of a cure',
    { failures: [aFailure({ cause: 'other days' })] },
    {},
    { before: 'gmsi doctor --probe --job test', command: 'gmsi backfill test', requests: 24 },
  ],
  [
    'of windows that no job wants how to delete them',
    {},
    { unwanted: [aFailure()] },
    { code: 'not wanted', severity: 'note', job: null, command: 'gmsi check --repair windows', requests: 0 },
  ],
  [
    'what cures windows that failed of a job of another folder',
    {},
    { others: [aFailure({ job: 'other' })] },
    { code: 'temporary', severity: 'failing', job: 'other', command: 'gmsi backfill other' },
  ],
  [
    'that nothing runs what is scheduled',
    { work: { ...idle, isScheduled: true }, lastLoad: undefined },
    {},
    { code: 'no worker', severity: 'stopped', command: 'gmsi work', requests: 1_000 },
  ],
  [
    'that a job is paused, and how it goes on',
    { work: { ...idle, isScheduled: true, isPaused: true } },
    {},
    { code: 'paused', severity: 'stopped', command: 'gmsi job resume test', requests: 0 },
  ],
  [
    'only in a note that no worker runs what cron has just loaded',
    { work: { ...idle, isScheduled: true } },
    {},
    { code: 'no worker', severity: 'note' },
  ],
  [
    'that the last load failed',
    { lastLoad: { ...load, state: 'failed', error: 'Not JSON' } },
    {},
    { code: 'load failed', why: 'Not JSON', command: 'gmsi doctor', requests: 2 },
  ],
  [
    'of a refused key once, and not that the load failed by it',
    { lastLoad: { ...load, state: 'failed', error: '403' } },
    { alerts: [refusal] },
    { code: 'key refused', why: 'It answered 403.' },
  ],
  [
    'nothing of a key that was refused before the last load',
    { lastLoad: { ...load, at: '2026-11-20T00:00:01.000000Z' } },
    { alerts: [{ ...refusal, raised_at: '2026-11-20T00:00:00.000000Z' }] },
    undefined,
  ],
  [
    'that a worker cannot read the file of a job',
    {},
    { alerts: [{ ...refusal, kind: 'job file' }] },
    { code: 'job file', severity: 'failing', job: 'test' },
  ],
  [
    'what an alert says of a job of another folder',
    {},
    { alerts: [{ kind: 'late', job: 'other', message: 'Late.', raised_at: '' }] },
    { code: 'alert', severity: 'failing', job: 'other', what: 'late', why: 'Late.' },
  ],
])('says %s', (_, changes, known, cause) => {
  const [first, ...others] = told(changes, known).causes;
  if (cause) expect(first).toMatchObject(cause);
  else expect(first).toBeUndefined();
  expect(others.filter(({ code }) => code !== 'days missing')).toEqual([]);
});

it('puts first what costs data first', () => {
  const checks = [
    {
      job: 'test',
      check_name: 'gaps',
      title: 'No gaps',
      result: 'failed',
      findings: 2,
      reason: null,
      checked_at: '',
    },
  ];
  const { causes } = told(
    {
      ...missing,
      failures: [aFailure({ cause: 'withdrawn' })],
      lagSeconds: 9 * day,
      work: { ...idle, isScheduled: true, otherVersionBy: 'b' },
      ...used(5_000, 100),
    },
    {
      checks,
      fields: [{ feed: 'gmsi-headlines', field: 'mood', change: 'new' }],
    },
  );
  expect(causes.map(({ code }) => code)).toEqual([
    ...['late', 'withdrawn', 'check failed', 'budget spent', 'no worker', 'other version', 'fields changed'],
  ]);
});

it.each<[string, Partial<JobStanding>, object]>([
  ['nothing if all is well', {}, { 'failed windows': null, budget: null, late: null, 'load failed': null }],
  ['nothing of days that the next load loads', missing, { 'failed windows': null, late: null }],
  [
    'that a job is later than its max_lag',
    { lagSeconds: 6.25 * day },
    {
      late: 'Job test: 6.3 days late. All series are covered up to 2026-11-16; 5 days are allowed. To do: gmsi backfill test',
    },
  ],
  [
    'that a budget will not last, with the day on which it ends',
    { ...used(4_500, 100), work: { ...idle, isScheduled: true, workers: 1 } },
    {
      budget:
        "Job test: the month's requests last until 2026-11-26 00:00 UTC. 4,500 of 5,000 requests are used this month. The " +
        'schedule needs at least 5,500 in total. To do: gmsi plan test',
    },
  ],
  [
    'that a budget is spent, by others of the key, too',
    { ...used(9_000, 0), work: { ...idle, isScheduled: true, workers: 1 } },
    {
      budget: expect.stringMatching(
        /requests are spent\. 9,000 requests \(the limit is 5,000\) are used this month\./,
      ),
    },
  ],
])('an alert says %s', (_, changes, messages) => {
  expect(told(changes).alerts).toMatchObject(messages);
});

it('a budget near the limit is left as it was, so that it is not reported again and again', () => {
  expect(told(used(3_900, 100)).alerts).not.toHaveProperty('budget');
});

it('windows that a load tries again are left as they were', () => {
  const { alerts } = told({ lastLoad: { ...load, is_running: true } });
  expect(alerts).not.toHaveProperty('failed windows');
  expect(alerts).toHaveProperty('late', null);
});
