import { Temporal } from 'temporal-polyfill';
import { describe, expect, it, test } from 'vitest';
import type { SandboxOptions } from '#sandbox';
import { tooManyRejected } from '../../src/load/rejected.ts';
import { withLearnedReading } from '../../src/load/resolve-load.ts';
import { plannedDays } from '../../src/plan/days.ts';
import { forecast } from '../../src/plan/forecast.ts';
import { scopeOf } from '../../src/plan/scope.ts';
import { readLookups } from '../../src/warehouse/tables/lookups.ts';
import { jumpingClock } from '../service/clocks.ts';
import { aLog } from '../support/a-log.ts';
import { aMovingService } from '../support/moving-service.ts';
import { sending } from '../support/pages.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { runProbe } from '../support/run-probe.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { aWindowIn, countRows, coverageOf, coverIn, windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const today = '2026-11-20';
const now = `${today}T12:00:00Z`;
const one = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-08-01', to: '2026-09-30' };
/** The same to now: what each answer holds. */
const all = { ...one, to: today };
const ignored = { end_date: 'ignored', concurrency: 1, page_size: 200 };

const aService = (options: SandboxOptions = {}) =>
  aMovingService(now, { volume: 0.3, endDate: 'ignored', ...options });

describe.each(['newest-first', 'oldest-first'] as const)('a service that ignores end_date (%s)', (order) => {
  it('fails a window at its first page of other days, before another request, and says what to do', async () => {
    await using service = await aService({ order });
    const requests = watchRequests(service.sandbox);
    const job = aJobFor({ ...one, to: '2026-08-31' }, { service: { page_size: 200 } });
    const result = await runBackfill({ job, ...service });
    expect(result).toMatchObject({
      outcome: 'incomplete',
      totals: { windows_failed: 1, windows_drained: 0 },
    });
    const [window] = await windowsOf(service.db);
    expect(result.error).toMatchObject({ message: window!.last_error });
    expect(window!.last_error).toMatch(
      /^\d+ of 200 records requested for 2026-08-01 to 2026-09-01 are from other days/,
    );
    expect(window!.last_error).toContain('gmsi doctor --probe');
    expect(window!.last_error).toContain('service: { end_date: ignored }');
    // Of the oldest first, the pages before are of the days that were asked for.
    expect(requests).toHaveLength(window!.pages + 1);
    expect(await coverageOf(service.db)).toEqual({});
    const day = { from: '2026-09-03', to: today };
    expect(await heldBy(service.db, { ...one, ...day })).toEqual([]);
  });

  it('is drained by one window from the first missing day to today, once that is known', async () => {
    await using service = await aService({ order });
    const { db, sandbox } = service;
    const requests = watchRequests(sandbox);
    const job = aJobFor(one, { lookback: 'P3D', service: ignored });
    expect((await runBackfill({ job, ...service })).outcome).toBe('done');

    const [first, ...others] = firstPages(requests);
    expect(first!.query).toMatchObject({ start_date: '2026-08-01' });
    expect(first!.query).not.toHaveProperty('end_date');
    expect(others).toEqual([]);
    expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
    expect(await countRows(db, 'headlines')).toBe(servedBy(sandbox, all).length);
    expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-08-01,2026-11-17)}' });
    const [window] = await windowsOf(db);
    expect(window).toMatchObject({ state: 'drained', last_day: today, records_outside: 0 });

    const before = requests.length;
    expect((await runBackfill({ job, ...service })).loadId).toBeUndefined();
    expect(requests).toHaveLength(before);
  });
});

it('once a probe has learned it, the windows that failed become one', async () => {
  await using service = await aService();
  const { db, sandbox } = service;
  const job = aJobFor(one, { service: { page_size: 200 } });
  await runBackfill({ job, ...service });
  expect((await windowsOf(db)).every(({ state }) => state === 'failed')).toBe(true);

  await runProbe({ db, sandbox, clock: jumpingClock(Date.parse(now)) });
  const { job: asRead } = await withLearnedReading(db, job);
  const scope = scopeOf(
    asRead,
    plannedDays(asRead, Temporal.PlainDate.from(today)).days!,
    await readLookups(db),
  );
  expect(await forecast(db, asRead, scope, { fullRefresh: false, retryRefused: false }, today)).toMatchObject(
    { leastRequests: 1 },
  );
  const requests = watchRequests(sandbox);
  expect((await runBackfill({ job, ...service })).outcome).toBe('done');
  expect(firstPages(requests).map(({ query }) => [query.start_date, query.end_date])).toEqual([
    ['2026-08-01', undefined],
  ]);
  expect(await windowsOf(db)).toHaveLength(1);
  expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
});

it('a window that was half drained for another reading of end_date begins again', async () => {
  await using service = await aService({ order: 'oldest-first' });
  const { db, sandbox } = service;
  const days = { ...one, to: '2026-08-31' };
  await runBackfill({ job: aJobFor(days, { service: { page_size: 50 } }), ...service });
  expect((await windowsOf(db))[0]).toMatchObject({ state: 'failed', next_token: expect.any(String) });
  const result = await runBackfill({ job: aJobFor(days, { service: ignored }), ...service });
  expect(result.outcome).toBe('done');
  expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
});

it('a window that was planned on an earlier day is drained to today', async () => {
  await using service = await aService();
  const { db, sandbox } = service;
  const job = aJobFor(all, { service: ignored });
  service.moveTo('2026-11-15T12:00:00Z');
  sandbox.script([{ kind: 'server-error', times: 100, match: ({ path }) => path.includes('/feed/') }]);
  await runBackfill({ job, ...service });
  service.moveTo(now);
  const requests = watchRequests(sandbox);
  expect((await runBackfill({ job, ...service })).outcome).toBe('done');
  expect(firstPages(requests)).toHaveLength(1);
  expect(await windowsOf(db)).toMatchObject([{ first_day: '2026-08-01', last_day: today }]);
  expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
});

it('a hole in what is covered is drained from the hole to today', async () => {
  await using service = await aService();
  const { db, sandbox } = service;
  await coverIn(db, '{[2026-08-01,2026-10-01),[2026-10-05,2026-11-18)}');
  const requests = watchRequests(sandbox);
  await runBackfill({ job: aJobFor(all, { service: ignored }), ...service });
  expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(['2026-10-01']);
  const [first] = Object.values(await coverageOf(db));
  expect(first).toBe('{[2026-08-01,2026-11-18)}');
});

it('a sync does not wait for the window of a backfill', async () => {
  await using service = await aService();
  const { db } = service;
  const requests = watchRequests(service.sandbox);
  const load = { command: 'backfill', job: 'another', feed: 'gmsi-headlines', run_by: 'a test' };
  await db.insertInto('gmsi.loads').values(load).execute();
  await aWindowIn(db, '2020-01-01', today, { state: 'draining', load_id: 1 });
  const job = aJobFor(all, { end_date: 'today', lookback: 'P3D', service: ignored });
  expect((await runSync({ job, ...service })).outcome).toBe('done');
  expect(firstPages(requests).map(({ query }) => query.start_date)).toEqual(['2026-11-17', undefined]);
});

describe('records far from the days that were asked for', () => {
  const days = { ...one, to: '2026-08-31' };
  const job = aJobFor(days, { service: { end_date: 'inclusive', concurrency: 1 } });
  const stray = (time: string) => ({
    publication_time: time,
    headline: 'a stray',
    topic_probability: 0.9,
    directional_positive: 0.2,
    directional_neutral: 0.3,
    directional_negative: 0.5,
  });
  const adding = (...strays: object[]) => ({ aroundPage: sending((records) => [...records, ...strays]) });

  it('are counted and named, and never become rows', async () => {
    await using service = await aService({ endDate: 'inclusive' });
    const { db, sandbox } = service;
    const { log, lines } = aLog();
    const strays = [stray('2019-05-01T00:00:00'), stray('2031-05-01T00:00:00')];
    const result = await runBackfill({ job, ...service, ...adding(...strays), log });
    expect(result).toMatchObject({ outcome: 'done', totals: { records_outside: 2, records_rejected: 0 } });
    expect(await heldBy(db, days)).toEqual(servedBy(sandbox, days));
    expect(await countRows(db, 'headlines')).toBe(servedBy(sandbox, days).length);
    expect((await windowsOf(db))[0]).toMatchObject({ records_outside: 2, records_rejected: 0 });
    const warned = lines.filter(({ level }) => level === 40);
    expect(warned).toMatchObject([{ records: 2, first_day: '2019-05-01', last_day: '2031-05-01' }]);
  });

  it('of the day before and after are rows: the days of the service may begin at another hour', async () => {
    await using service = await aService({ endDate: 'inclusive' });
    const strays = [
      stray('2026-07-30T23:59:59'),
      stray('2026-07-31T00:00:00'),
      stray('2026-09-01T23:59:59'),
      stray('2026-09-02T00:00:00'),
    ];
    const result = await runBackfill({ job, ...service, ...adding(...strays) });
    expect(result.totals.records_outside).toBe(2);
    expect(await countRows(service.db, 'headlines')).toBe(servedBy(service.sandbox, days).length + 2);
  });

  it('do not come from a live answer either', async () => {
    await using service = await aService({ endDate: 'inclusive' });
    const { db } = service;
    const live = aJobFor(all, { end_date: 'today', service: { concurrency: 1 } });
    const strays = [stray('2019-05-01T00:00:00'), stray('2031-05-01T00:00:00')];
    const result = await runSync({ job: live, ...service, ...adding(...strays) });
    expect(result.totals.records_outside).toBe(4);
    expect(await heldBy(db, { ...one, from: '2010-01-01', to: '2026-10-31' })).toEqual([]);
    expect(await heldBy(db, { ...one, from: '2027-01-01', to: '2099-01-01' })).toEqual([]);
  });
});

describe('answers with other days', () => {
  const it = serving({ volume: 1 });
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
  const job = aJobFor(scope, { service: { end_date: 'inclusive', page_size: 1000 } });

  /** An answer of so many records, the first of which are a year old. */
  const answering = (many: number, old: number) =>
    sending((records) =>
      records
        .slice(0, many)
        .map((record, at) => (at < old ? { ...record, publication_time: '2025-09-10T12:00:00Z' } : record)),
    );

  it.for([
    { records: 5, old: 5, says: '5 of 5 records requested for 2026-09-01 to 2026-09-30 are from other days' },
    { records: 1, old: 1, says: '1 of 1 records requested for 2026-09-01 to 2026-09-30 are from other days' },
    { records: 33, old: 11, says: '11 of 33 records are of days that were not requested, more than 1%' },
  ])(
    'an answer with $old of $records records of other days covers none',
    async ({ records, old, says }, { db, sandbox }) => {
      const result = await runBackfill({ job, db, sandbox, aroundPage: answering(records, old) });
      expect(result).toMatchObject({
        outcome: 'incomplete',
        totals: { windows_failed: 1, windows_drained: 0 },
      });
      expect((await windowsOf(db))[0]!.last_error).toContain(says);
      expect(await coverageOf(db)).toEqual({});
    },
  );

  test('records that could not be read and those of other days count together', () => {
    expect(tooManyRejected({ records: 1000, rejected: 6, outside: 4 }, 1)).toBeUndefined();
    expect(tooManyRejected({ records: 1000, rejected: 6, outside: 5 }, 1)).toBe(
      '11 of 1,000 records were rejected or are of days that were not requested (5), more than 1%',
    );
  });
});
