import { type RawBuilder, sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { describe, expect } from 'vitest';
import type { SeenRequest } from '#sandbox';
import { forecastSchedule } from '../../src/plan/forecast-schedule.ts';
import { planRefresh } from '../../src/plan/plan-refresh.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJob, aJobFor, runBackfill, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import {
  aWindowIn,
  changeWindowsIn,
  coverageOf,
  coverIn,
  pollIn,
  sqlIn,
  windowsOf,
} from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const us = { countries: ['US'], topics: ['Inflation-Food'] };
const series = 'US Inflation-Food COMBINED';
/** One window at a time, so that requests come in the order of the plan. */
const inTurn = { end_date: 'inclusive', concurrency: 1 };

const it = serving({ volume: 0.1 });

describe('the order of draining', () => {
  it.for([
    ['newest-first', ['2026-03-11', '2026-03-11', '2026-03-01', '2026-03-01']],
    ['oldest-first', ['2026-03-01', '2026-03-01', '2026-03-11', '2026-03-11']],
  ])('is %s, with all series in turn', async ([order, starts], { db, sandbox }) => {
    const requests = watchRequests(sandbox);
    const two = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-03-01', to: '2026-03-20' };
    const job = aJobFor(two, { step: 'P10D', order, service: inTurn });
    await runBackfill({ job, db, sandbox });
    expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(starts);
    const countries = requests.map(({ path }) => path.split('/').at(-1));
    expect(new Set(countries.slice(0, 2))).toEqual(new Set(['US', 'DE']));
    expect(new Set(countries.slice(2))).toEqual(new Set(['US', 'DE']));
  });

  it('begins with what is half drained, however old it is', async ({ db }) => {
    await using sandbox = await aSandbox();
    const scope = { ...us, from: '2026-03-01', to: '2026-03-30' };
    const service = { ...inTurn, page_size: 20 };
    const oldest = aJobFor(scope, { step: 'P10D', order: 'oldest-first', service });
    await runBackfill({ job: oldest, db, sandbox, ...stoppedAt(2) });

    const [halfDrained] = (await windowsOf(db)).filter(({ next_token }) => next_token !== null);
    const requests = watchRequests(sandbox);
    const newest = aJobFor(scope, { step: 'P10D', order: 'newest-first', service });
    expect((await runBackfill({ job: newest, db, sandbox })).outcome).toBe('done');
    expect(requests[0]).toMatchObject({
      token: halfDrained!.next_token,
      query: { start_date: '2026-03-01', end_date: '2026-03-10' },
    });
    expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(['2026-03-21', '2026-03-11']);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('days that may still change', () => {
  it('are loaded, not covered, and loaded again the next day, across a 29 February', async ({ db }) => {
    let now = new Date('2028-03-02T00:00:01Z');
    const clock = () => now;
    await using sandbox = await aSandbox({ volume: 0.3, clock });
    const scope = { ...us, from: '2028-02-20', to: '2028-03-02' };
    const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', service: inTurn }, scope.to);

    expect((await runBackfill({ job, db, sandbox, clock })).outcome).toBe('done');
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(await coverageOf(db)).toEqual({ [series]: '{[2028-02-20,2028-02-28)}' });

    now = new Date('2028-03-03T23:59:59Z');
    const requests = watchRequests(sandbox);
    expect((await runBackfill({ job, db, sandbox, clock })).outcome).toBe('done');
    expect(requests.map(({ query }) => `${query.start_date}/${query.end_date}`)).toEqual([
      '2028-02-28/2028-03-03',
    ]);
    const wider = { ...scope, to: '2028-03-03' };
    expect(await heldBy(db, wider)).toEqual(servedBy(sandbox, wider));
  });

  it('are judged by the day on which a drain begins, though it ends after midnight', async ({ db }) => {
    let now = new Date('2026-11-19T23:59:59Z');
    const clock = () => now;
    await using sandbox = await aSandbox({ clock });
    const scope = { ...us, from: '2026-11-10', to: '2026-11-19' };
    const job = aJobFor(scope, { end_date: 'today', lookback: 'P0D', service: { ...inTurn, page_size: 20 } });
    const result = await runBackfill({
      job,
      db,
      sandbox,
      clock,
      aroundPage: async (ask) => {
        const page = await ask();
        now = new Date('2026-11-20T00:00:01Z');
        return page;
      },
    });
    expect(result).toMatchObject({ outcome: 'done', totals: { windows_drained: 1 } });
    expect(result.totals.pages).toBeGreaterThan(1);
    expect(await coverageOf(db)).toEqual({ [series]: '{[2026-11-10,2026-11-19)}' });
  });

  it('within the lookback are asked for at each run of a job that has ended', async ({ db }) => {
    const clock = () => new Date('2026-11-20T12:00:00Z');
    await using sandbox = await aSandbox({ volume: 0.2, clock });
    const job = aJobFor({ ...us, from: '2026-11-01', to: '2026-11-18' }, { service: inTurn });
    await runBackfill({ job, db, sandbox, clock });
    const requests = watchRequests(sandbox);
    await runBackfill({ job, db, sandbox, clock });
    expect(requests.map(({ query }) => `${query.start_date}/${query.end_date}`)).toEqual([
      '2026-11-17/2026-11-18',
    ]);
  });
});
describe('a window that failed', () => {
  it.for([
    // What has no page yet is cut at the beginning of the job.
    ['first', { from: '2026-03-10', to: '2026-03-20' }, ['2026-03-11', '2026-03-10']],
    ['last', { from: '2026-02-20', to: '2026-03-01' }, ['2026-02-20', '2026-03-01']],
  ] as const)('stands for the %s day of a job, its only one', async ([_, days, asked], { db, sandbox }) => {
    const scope = { ...us, from: '2026-03-01', to: '2026-03-10' };
    sandbox.script([{ kind: 'server-error', match: ({ query }) => 'start_date' in query }]);
    const once = { service: { ...inTurn, max_attempts: 1 } };
    const first = await runBackfill({ job: aJobFor(scope, once), db, sandbox });
    expect(first.windows).toMatchObject({ failed: 1 });
    const requests = watchRequests(sandbox);
    const other = { ...us, ...days };
    expect(await runBackfill({ job: aJobFor(other, { service: inTurn }), db, sandbox })).toMatchObject({
      outcome: 'done',
      totals: { windows_failed: 0, windows_drained: 2 },
    });
    expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(asked);
    expect(await heldBy(db, other)).toEqual(servedBy(sandbox, other));
  });

  it.for(['failed', 'draining'] as const)(
    'or is %s half-way keeps its pages though the job wants shorter ones',
    async (state, { db }) => {
      await using sandbox = await aSandbox();
      const scope = { ...us, from: '2026-03-01', to: '2026-03-20' };
      sandbox.script([{ kind: 'server-error', times: 1e6, match: ({ token }) => token !== null }]);
      const long = aJobFor(scope, { step: 'P20D', service: { ...inTurn, page_size: 50, max_attempts: 1 } });
      expect((await runBackfill({ job: long, db, sandbox })).windows).toMatchObject({ failed: 1 });
      const [half] = await windowsOf(db);
      expect(half).toMatchObject({ state: 'failed', pages: 1 });
      // As a stopped or killed load leaves it: its load is over, so nobody holds it.
      await changeWindowsIn(db, { state });

      const requests = watchRequests(sandbox);
      const short = aJobFor(scope, { step: 'P10D', service: { ...inTurn, page_size: 100 } });
      expect((await runBackfill({ job: short, db, sandbox })).outcome).toBe('done');
      expect(requests[0]).toMatchObject({ token: half!.next_token, query: { limit: '50' } });
      expect(firstPages(requests)).toEqual([]);
      expect(await windowsOf(db)).toMatchObject([{ window_id: half!.window_id, state: 'drained' }]);
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    },
  );

  it('because it was too long is asked for in shorter ones', async ({ db, sandbox }) => {
    const scope = { ...us, from: '2026-03-01', to: '2026-05-29' };
    const days = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000;
    const match = ({ query: { start_date, end_date } }: SeenRequest) =>
      start_date !== undefined && days(start_date, end_date!) > 12;
    const requests = watchRequests(sandbox, [
      { kind: 'refuse', status: 422, detail: 'too much at once', times: 1e6, match },
    ]);
    const long = aJobFor(scope, { step: 'P30D', service: inTurn });
    expect((await runBackfill({ job: long, db, sandbox })).windows.refused).toBeGreaterThan(0);
    requests.length = 0;
    const short = aJobFor(scope, { step: 'P10D', service: inTurn });
    expect(await runBackfill({ job: short, db, sandbox })).toMatchObject({
      outcome: 'done',
      windows: { failed: 0, refused: 0 },
    });
    expect(requests.filter(match)).toEqual([]);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('half-way begins again with smaller pages if the job now asks for those', async ({ db }) => {
    await using sandbox = await aSandbox();
    const scope = { ...us, from: '2026-03-01', to: '2026-03-20' };
    sandbox.script([
      { kind: 'refuse', status: 422, detail: 'too large', times: 3, match: ({ token }) => token !== null },
    ]);
    const large = aJobFor(scope, { service: { ...inTurn, page_size: 100 } });
    expect((await runBackfill({ job: large, db, sandbox })).windows).toMatchObject({ failed: 1 });
    const requests = watchRequests(sandbox);
    const small = aJobFor(scope, { service: { ...inTurn, page_size: 50 } });
    expect((await runBackfill({ job: small, db, sandbox })).outcome).toBe('done');
    expect(new Set(requests.flatMap(({ query }) => query.limit ?? []))).toEqual(new Set(['50']));
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

const today = Temporal.PlainDate.from('2026-11-20');
const topic = 'Tension';
/** Ten days from a day on which every grid of five or ten days begins. */
const scope = {
  feed: 'gmsi-headlines',
  matchType: 'COMBINED',
  tickers: [''],
  variants: [''],
  countries: ['US', 'NO'],
  topics: [topic],
  from: '2025-02-16',
  to: '2025-02-25',
};

function aRefresh(perMonth: number, service = {}) {
  return aJob({
    step: 'P5D',
    schedule: { refresh: '0 3 1 * *' },
    budget: { requests_per_month: perMonth * 10, refresh_percent: 10 },
    service: { end_date: 'inclusive', ...service },
  });
}

/** A window that was drained at a moment; `null` for one that is still to be drained. */
const aWindow = (
  db: Warehouse,
  country: string,
  [first, last]: [string, string],
  at: string | null,
  more = {},
) =>
  aWindowIn(db, first, last, { country, topic, state: at ? 'drained' : 'pending', finished_at: at, ...more });

async function planned(db: Warehouse) {
  const rows = await sqlIn(db)<{ window: string }>`
    select concat_ws(' ', country, first_day, last_day) as window from gmsi.windows
    where state = 'pending' order by 1`;
  return rows.map(({ window }) => window);
}

it('takes days by when they were last drained, whatever windows they were in', async ({ db }) => {
  // All of US long ago, then its first days again, in two windows; NO between these.
  await aWindow(db, 'US', ['2025-02-12', '2025-03-10'], '2025-04-01');
  await aWindow(db, 'US', ['2025-02-15', '2025-02-18'], '2026-01-01');
  await aWindow(db, 'US', ['2025-02-18', '2025-02-20'], '2026-03-01');
  await aWindow(db, 'NO', ['2025-02-16', '2025-02-20'], '2026-02-01');
  await aWindow(db, 'NO', ['2025-02-21', '2025-02-25'], '2026-04-01');
  await coverIn(db, '{[2025-02-12,2025-03-11)}', { country: 'NO', topic });
  const rest = ['NO 2025-02-16 2025-02-20', 'NO 2025-02-21 2025-02-25', 'US 2025-02-16 2025-02-20'];
  expect(await planRefresh(db, aRefresh(1), scope, today)).toBe(1);
  expect(await planned(db)).toEqual(['US 2025-02-21 2025-02-25']);
  // What is left of a refresh counts.
  expect(await planRefresh(db, aRefresh(2), scope, today)).toBe(2);
  expect(await planned(db)).toEqual(['US 2025-02-16 2025-02-20', 'US 2025-02-21 2025-02-25']);
  expect(await planRefresh(db, aRefresh(100), scope, today)).toBe(4);
  expect(await planned(db)).toEqual([...rest, 'US 2025-02-21 2025-02-25']);
});

it("takes no more than the month's share leaves, by what was really sent", async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-25'], '2025-04-01');
  // Of the month by the clock that stamps loads, the database's.
  const thisMonth = sql`date_trunc('month', now(), 'UTC')`;
  const sent = (requests: number, startedAt: RawBuilder<unknown>, reason: string | null) =>
    sql`
    insert into gmsi.loads (command, job, feed, run_by, requests, reason, started_at)
    values ('backfill', 'test', 'gmsi-headlines', 'test', ${requests}, ${reason}, ${startedAt})`.execute(db);
  await sent(100, sql`${thisMonth} - interval '1 minute'`, 'refresh');
  await sent(100, thisMonth, null);
  await sent(4, thisMonth, 'refresh');
  expect(await planRefresh(db, aRefresh(4), scope, today)).toBe(0);
  expect(await planRefresh(db, aRefresh(5), scope, today)).toBe(1);
});

it('takes no days that are missing, settling, only imported, or to be drained anyway', async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-20'], '2025-04-01', { first_unsettled: '2025-02-20' });
  await coverIn(db, '{[2025-02-21,2025-02-26)}', { country: 'US', topic });
  await coverIn(db, '{[2025-02-16,2025-02-26)}', { country: 'NO', topic });
  await aWindow(db, 'NO', ['2025-02-16', '2025-02-20'], '2025-04-01');
  await aWindow(db, 'NO', ['2025-02-20', '2025-02-20'], null);
  expect(await planRefresh(db, aRefresh(100), scope, today)).toBe(1);
  expect(await planned(db)).toEqual(['NO 2025-02-20 2025-02-20']);
  // With a lookback of three days, all may still change.
  const settling = Temporal.PlainDate.from('2025-02-19');
  expect(await planRefresh(db, aRefresh(100), { ...scope, countries: ['US'] }, settling)).toBe(0);
});

it('loads the whole period again if answers run to now', async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-28'], '2025-04-01');
  const openEnded = { ...scope, isOpenEnded: true };
  expect(await planRefresh(db, aRefresh(100, { end_date: 'ignored' }), openEnded, today)).toBe(1);
  expect(await planned(db)).toEqual(['US 2025-02-16 2026-11-20']);
});

describe('the forecast of a schedule', () => {
  const moment = { now: new Date('2026-11-20T12:00:00Z'), firstUnsettled: '2026-11-17' };
  const period = { ...scope, topics: ['Inflation-Food', 'Tension'], from: '2024-01-01', to: '2026-11-20' };
  const hourly = { end_date: 'today', schedule: { sync: '15 * * * *', backfill: '0 1 * * *' } };
  const seldom = { ...hourly, schedule: { ...hourly.schedule, sync: '15 */6 * * *' } };

  it('says what it costs, and what would cost less', async ({ db }) => {
    expect(await forecastSchedule(db, aJob(hourly), period, moment)).toEqual({
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
      forecastSchedule(db, aJob({ schedule: { refresh: '0 3 * * 0' }, ...more }), period, moment);
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
    const { choices } = (await forecastSchedule(db, job, period, moment))!;
    expect(choices.map(({ change }) => change)).toContain('lookback: P1D');
  });

  it('reckons with how quiet series are, if they have been polled', async ({ db }) => {
    // Silent for four days: polled once a day.
    const polls = { polled_at: '2026-11-20 11:15Z', news_at: '2026-11-16 11:15Z' };
    for (const topic of ['Inflation-Food', 'Tension']) await pollIn(db, polls, { topic });
    const plain = await forecastSchedule(db, aJob(seldom), period, moment);
    expect(plain!.adaptiveSyncRequests).toBe(2 * 120 * 2 + 2 * 30 * 2);
    expect(plain!.choices[0]).toMatchObject({ change: 'sync once a day' });
    expect(plain!.choices.map(({ change }) => change)).toContain(
      'cadence: { adaptive: true }, if series stay as quiet as now',
    );
    const spaced = await forecastSchedule(
      db,
      aJob({ ...seldom, cadence: { adaptive: true } }),
      period,
      moment,
    );
    expect(spaced).toMatchObject({
      syncRequests: 4 * 120 * 2,
      adaptiveSyncRequests: 2 * 120 * 2 + 2 * 30 * 2,
    });
    expect(spaced!.choices.find(({ change }) => change.startsWith('cadence'))).toBeUndefined();
  });

  it('is none of a job without a schedule, or whose period is over', async ({ db }) => {
    expect(await forecastSchedule(db, aJob({ end_date: 'today' }), period, moment)).toBeUndefined();
    const over = aJob({ schedule: hourly.schedule });
    expect(await forecastSchedule(db, over, period, moment)).toBeUndefined();
  });
});
