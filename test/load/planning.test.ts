import { describe, expect } from 'vitest';
import type { SeenRequest } from '#sandbox';
import { aJobFor, runBackfill, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';
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
    expect(result).toMatchObject({ outcome: 'done', windows: { drained: 1 } });
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
      windows: { drained: 2, failed: 0 },
    });
    expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(asked);
    expect(await heldBy(db, other)).toEqual(servedBy(sandbox, other));
  });

  it('is cut anew if the job now asks for shorter ones', async ({ db, sandbox }) => {
    const scope = { ...us, from: '2026-03-01', to: '2026-03-20' };
    const isWindow = ({ query }: SeenRequest) => 'start_date' in query;
    sandbox.script([{ kind: 'server-error', match: isWindow }]);
    const long = aJobFor(scope, { step: 'P20D', service: { ...inTurn, max_attempts: 1 } });
    expect((await runBackfill({ job: long, db, sandbox })).windows).toMatchObject({ failed: 1 });
    const requests = watchRequests(sandbox);
    const short = aJobFor(scope, { step: 'P10D', service: inTurn });
    expect(await runBackfill({ job: short, db, sandbox })).toMatchObject({
      outcome: 'done',
      windows: { drained: 2, failed: 0 },
    });
    expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(['2026-03-11', '2026-03-01']);
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
      await db.updateTable('gmsi.windows').set({ state }).execute();

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
