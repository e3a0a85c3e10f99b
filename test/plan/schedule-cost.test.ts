import { describe, expect, it } from 'vitest';
import { costOfSchedule, pollCost, runsOf, type Scheduled, windowsIn } from '../../src/plan/schedule-cost.ts';

const month = { from: new Date('2026-11-20T12:00:00Z'), days: 30 };
const aScheduled = (overrides: Partial<Scheduled> = {}): Scheduled => ({
  schedule: { sync: '0 1 * * *', timezone: 'UTC' },
  lookbackDays: 3,
  stepDays: 90,
  service: { endDate: 'unknown' },
  ...overrides,
});
describe('the runs of a schedule', () => {
  it.each([
    ['0 1 * * *', 'UTC', 30, 30],
    ['15 * * * *', 'UTC', 720, 31],
    ['0 */4 * * *', 'UTC', 180, 31],
    ['0 1 * * 0', 'Europe/Oslo', 5, 5],
    ['0 12 * * *', 'UTC', 30, 30],
    ['0 0 30 2 *', 'UTC', 0, 0],
  ])('"%s" in %s are %i in 30 days', (expression, timezone, all, firstOfDay) => {
    expect(runsOf(expression, timezone, month)).toEqual({ all, firstOfDay });
  });

  it('are none if a job has no such expression', () => {
    expect(runsOf(undefined, 'UTC', month)).toEqual({ all: 0, firstOfDay: 0 });
  });
});

it('the cost of a schedule grows with the windows that a lookback is cut into', () => {
  const one = { series: 1, hasLive: false };
  const cost = (lookbackDays: number, stepDays = 90) =>
    costOfSchedule(aScheduled({ lookbackDays, stepDays }), one, month).syncRequests;
  expect([cost(1), cost(87), cost(88), cost(3, 2)]).toEqual([30, 30, 60, 90]);
});

it.each([
  [0, 1],
  [7.5, 1],
  [85, 1],
  [86, 2],
])('the cost of a poll %f days after the one before is %i windows', (days, windows) => {
  expect(pollCost(aScheduled(), days, false)).toBe(windows);
  expect(pollCost(aScheduled(), days, true)).toBe(windows + 1);
});

it('days in windows take a day less each if end_date is not known', () => {
  expect(windowsIn(90, aScheduled())).toBe(2);
  expect(windowsIn(90, aScheduled({ service: { endDate: 'inclusive' } }))).toBe(1);
});
