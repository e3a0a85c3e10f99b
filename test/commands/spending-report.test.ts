import { describe, expect, it } from 'vitest';
import { describeSchedule } from '../../src/commands/plan.ts';
import type { ScheduleForecast } from '../../src/plan/forecast-schedule.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { aJob } from '../support/run-backfill.ts';

const aForecast = (overrides: Partial<ScheduleForecast> = {}): ScheduleForecast => ({
  ...{ days: 30, syncs: 720, backfills: 30, syncRequests: 14_400, backfillRequests: 300 },
  ...{ adaptiveSyncRequests: null, refreshes: 0, refreshRequests: 0, choices: [] },
  ...overrides,
});
const budget = { requests_per_month: 20_000, reserve: 2_000 };

describe('what a schedule costs', () => {
  it('is compared with the budget and its reserve, with what would save', () => {
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

  it('names the refreshes, and counts them in', () => {
    const text = withoutMarks(
      describeSchedule(aJob({ budget }), aForecast({ refreshes: 1, refreshRequests: 1_000 })),
    );
    expect(text).toContain('schedule    720 syncs, 1 refresh and 30 backfills in 30 days');
    expect(text).toContain(
      'refreshes   about 1,000 to load again what was loaded longest ago (5% of the budget)',
    );
    expect(text).toContain('in total    15,700, 78.5%');
  });

  it('says for how many days a budget that is too small is enough', () => {
    const text = withoutMarks(describeSchedule(aJob({ budget }), aForecast({ syncRequests: 59_700 })));
    expect(text).toContain('in total    60,000, 300% of 20,000 a month: enough for 10 days');
    expect(text).not.toContain('reserve');
  });

  it('is less by what an adaptive cadence saves', () => {
    const job = aJob({ budget, cadence: { adaptive: true } });
    const text = withoutMarks(describeSchedule(job, aForecast({ adaptiveSyncRequests: 1_400 })));
    expect(text).toContain('at least 14,400 requests, 13,000 of them saved by the cadence');
    expect(text).toContain('in total    1,700, 8.5% of 20,000 a month');
  });
});
