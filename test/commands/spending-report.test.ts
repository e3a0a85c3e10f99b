import { expect, it } from 'vitest';
import { describeSchedule } from '../../src/commands/plan.ts';
import type { ScheduleForecast } from '../../src/plan/forecast-schedule.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { aJob } from '../support/run-backfill.ts';

const aForecast = (overrides: Partial<ScheduleForecast> = {}): ScheduleForecast => ({
  days: 30,
  syncs: 720,
  backfills: 30,
  syncRequests: 14_400,
  backfillRequests: 300,
  adaptiveSyncRequests: null,
  refreshes: 0,
  refreshRequests: 0,
  choices: [],
  ...overrides,
});
const budget = { requests_per_month: 20_000, reserve: 2_000 };

it('what a schedule costs is compared with the budget and its reserve, with what would save', () => {
  const choices = [{ change: 'sync once a day', requests: 900, saves: 13_800 }];
  expect(withoutMarks(describeSchedule(aJob({ budget }), aForecast({ choices })))).toBe(
    [
      'schedule    720 syncs and 30 backfills in 30 days',
      'syncs cost  at least 14,400 requests',
      'backfills   300 to load recent days again',
      'in total    14,700, 73.5% of 20,000 a month',
      'reserve     2,000. Backfills could use up the budget that syncs need; set budget.reserve to 14,400.',
      '',
      'to save requests  requests   saves',
      'sync once a day        900  13,800',
    ].join('\n'),
  );
});
