import { describe, expect } from 'vitest';
import { forecastSchedule } from '../../src/plan/forecast-schedule.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const moment = { now: new Date('2026-11-20T12:00:00Z'), firstUnsettled: '2026-11-17' };
const scope = {
  feed: 'gmsi-headlines',
  matchType: 'COMBINED',
  tickers: [''],
  variants: [''],
  countries: ['US', 'NO'],
  topics: ['Inflation-Food', 'Tension'],
  from: '2024-01-01',
  to: '2026-11-20',
};
const hourly = { end_date: 'today', schedule: { sync: '15 * * * *', backfill: '0 1 * * *' } };

const seldom = { ...hourly, schedule: { ...hourly.schedule, sync: '15 */6 * * *' } };

describe('the forecast of a schedule', () => {
  it('says what it costs, and what would cost less', async ({ db }) => {
    expect(await forecastSchedule(db, aJob(hourly), scope, moment)).toEqual({
      days: 30,
      syncs: 720,
      backfills: 30,
      refreshes: 0,
      refreshRequests: 0,
      syncRequests: 4 * 720 * 2,
      backfillRequests: 4 * 30,
      adaptiveSyncRequests: null,
      choices: [
        { change: 'sync once a day', requests: 4 * 30 * 3, saves: 4 * 690 * 2 },
        { change: 'sync every 4 hours', requests: 4 * (180 * 2 + 30), saves: 4 * 540 * 2 },
        { change: 'backfill once a week', requests: 4 * (720 * 2 + 5), saves: 4 * 25 },
      ],
    });
  });

  it('says what refreshes cost: at most their share of the budget', async ({ db }) => {
    const cost = async (more: object) =>
      forecastSchedule(db, aJob({ schedule: { refresh: '0 3 * * 0' }, ...more }), scope, moment);
    // Five Sundays; the period has ended, so nothing else costs requests.
    const budget = { requests_per_month: 1_000, refresh_percent: 10 };
    const ended = { syncs: 0, backfills: 0, syncRequests: 0, backfillRequests: 0, choices: [] };
    expect(await cost({ budget })).toMatchObject({ ...ended, refreshes: 5, refreshRequests: 100 });
    // 13 windows of up to 89 days for each of 4 series.
    expect(await cost({})).toMatchObject({ refreshes: 5, refreshRequests: 5 * 13 * 4 });
    expect(await cost({ end_date: 'today', budget })).toMatchObject({ refreshRequests: 100 });
  });

  it('knows what a shorter lookback would save', async ({ db }) => {
    const job = aJob({ ...seldom, lookback: 'P5D', step: 'P2D' });
    const { choices } = (await forecastSchedule(db, job, scope, moment))!;
    expect(choices.map(({ change }) => change)).toContain('lookback: P1D');
  });

  it('reckons with how quiet series are, if they have been polled', async ({ db }) => {
    // Silent for four days: polled once a day.
    await sqlIn(db)`
      insert into gmsi.cadence (feed, country, topic, ticker, match_type, variant, polled_at, news_at, quiet_polls)
      select 'gmsi-headlines', 'US', topic, '', 'COMBINED', '', '2026-11-20 11:15Z', '2026-11-16 11:15Z', 90
      from unnest(array['Inflation-Food', 'Tension']) as topic
    `;
    const plain = await forecastSchedule(db, aJob(seldom), scope, moment);
    expect(plain!.adaptiveSyncRequests).toBe(2 * 120 * 2 + 2 * 30 * 2);
    expect(plain!.choices[0]).toMatchObject({ change: 'sync once a day' });
    expect(plain!.choices.map(({ change }) => change)).toContain(
      'cadence: { adaptive: true }, if series stay as quiet as now',
    );
    const spaced = await forecastSchedule(
      db,
      aJob({ ...seldom, cadence: { adaptive: true } }),
      scope,
      moment,
    );
    expect(spaced).toMatchObject({
      syncRequests: 4 * 120 * 2,
      adaptiveSyncRequests: 2 * 120 * 2 + 2 * 30 * 2,
    });
    expect(spaced!.choices.find(({ change }) => change.startsWith('cadence'))).toBeUndefined();
  });

  it('is none of a job without a schedule, or whose period is over', async ({ db }) => {
    expect(await forecastSchedule(db, aJob({ end_date: 'today' }), scope, moment)).toBeUndefined();
    const over = aJob({ schedule: hourly.schedule });
    expect(await forecastSchedule(db, over, scope, moment)).toBeUndefined();
  });
});
