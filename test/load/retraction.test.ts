import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import type { Page, ServiceRequest } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { saveLearnedFacts } from '../../src/warehouse/tables/learned.ts';
import { beginDrain } from '../../src/warehouse/tables/windows.ts';
import { aMovingService } from '../support/moving-service.ts';
import { type AroundPage, sending } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';
import { series } from '../warehouse/a-row.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-20' };
const before = '2026-09-21T00:00:00Z';
const after = '2026-10-20T00:00:00Z';
const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive', page_size: 50 } });

async function aService({ withdrawn = 0.3 } = {}) {
  const service = await aMovingService(before, { volume: 0.5, changes: { withdrawn, late: 0, revised: 0 } });
  const { db, sandbox, clock } = service;
  return { ...service, run: { job, db, sandbox, clock, acceptRetractions: withdrawn > 0 } };
}

describe('a headline that the service no longer returns', () => {
  it('is retracted, not deleted, once its window has been drained again to the end', async () => {
    await using service = await aService();
    const { db, sandbox, run } = service;
    await runBackfill(run);
    const total = await countRows(db, 'headlines');

    service.moveTo(after);
    const gone = total - servedBy(sandbox, scope).length;
    expect(gone).toBeGreaterThan(20);
    const second = await runBackfill({ ...run, plan: refresh });
    expect(second.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: gone });
    expect(await countRows(db, 'headlines')).toBe(total);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    const rows = await sqlIn(db)`select reason, count(*) from gmsi.headline_revisions group by 1`;
    expect(rows).toEqual([{ reason: 'retracted', count: gone }]);
    expect(await countRows(db, 'drain_sightings')).toBe(0);

    const third = await runBackfill({ ...run, plan: refresh });
    expect(third.totals).toMatchObject({ rows_changed: 0, rows_retracted: 0 });
  });

  it('stays while a drain is interrupted, and is retracted when that drain goes on and ends', async () => {
    await using service = await aService();
    const { db, sandbox, run } = service;
    await runBackfill(run);
    service.moveTo(after);

    const broken = await runBackfill({ ...run, plan: refresh, ...stoppedAt(3) });
    expect(broken.outcome).toBe('interrupted');
    expect(await retractedNow(db)).toBe(0);
    expect(await countRows(db, 'drain_sightings')).toBeGreaterThan(0);

    await runBackfill(run);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('a drain that ends without many of the rows of its days', () => {
  const only = (isServed: (index: number) => boolean) =>
    sending((records) => records.filter((_, index) => isServed(index)));
  const nothing: AroundPage = async (ask) => ({ ...(await ask()), records: [], nextToken: null });

  it('fails its window and retracts nothing, until the service has them again', async () => {
    await using service = await aService({ withdrawn: 0 });
    const { db, sandbox, run } = service;
    await runBackfill(run);
    const [held, covered] = [await heldBy(db, scope), await coverageOf(db)];

    let served = 0;
    const third = only((index) => index % 3 === 0 && ++served > 0);
    const lossy = await runBackfill({ ...run, plan: refresh, aroundPage: third });
    expect(lossy).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
    expect(lossy.totals).toMatchObject({ rows_retracted: 0, windows_failed: 1, windows_drained: 0 });
    const error = await lastError(db);
    const [, gone, of] = /no longer returns (\d+) of the (\d+) rows/.exec(error)!;
    expect(Number(of)).toBe(held.length);
    expect(Number(gone)).toBe(held.length - served);
    expect(error).toContain('--accept-retractions');
    expect(await heldBy(db, scope)).toEqual(held);
    expect(await coverageOf(db)).toEqual(covered);

    const requests = watchRequests(sandbox);
    expect(await runBackfill(run)).toMatchObject({ outcome: 'done', totals: { rows_retracted: 0 } });
    expect(firstPages(requests)).toHaveLength(1);
    expect(requests[0]!.token).toBeNull();
    expect(await countRows(db, 'headline_revisions')).toBe(0);
  });

  it('spends one request on each further try, and covers no day, while every answer is empty', async () => {
    await using service = await aService({ withdrawn: 0 });
    const { db, sandbox, run } = service;
    await runBackfill({ ...run, job: aJobFor(scope, { lookback: 'P30D' }) });
    expect(await coverageOf(db)).toEqual({});
    const held = await heldBy(db, scope);
    const requests = watchRequests(sandbox);
    for (const tries of [1, 2]) {
      const { outcome } = await runBackfill({ ...run, aroundPage: nothing });
      expect(outcome).toBe('incomplete');
      expect(requests).toHaveLength(tries);
    }
    expect(await coverageOf(db)).toEqual({});
    expect(await heldBy(db, scope)).toEqual(held);
  });

  it('fails its window if as many new ones came, because the service gives all of them other ids', async () => {
    await using service = await aService({ withdrawn: 0 });
    const { db, run } = service;
    await runBackfill(run);
    const total = await countRows(db, 'headlines');
    const renumbered = sending((records) => records.map((one) => ({ ...one, id: `new ${one.id}` })));
    const result = await runBackfill({ ...run, plan: refresh, aroundPage: renumbered });
    expect(result).toMatchObject({ outcome: 'incomplete', totals: { rows_retracted: 0 } });
    expect(await lastError(db)).toContain(`no longer returns ${total} of the ${total} rows`);
  });

  it.each([1, 8])(
    'fails small windows once a few are empty, in every load (%i at a time)',
    async (concurrency) => {
      await using service = await aService({ withdrawn: 0 });
      const { db } = service;
      const short = { lookback: 'P0D', step: 'P2D', service: { end_date: 'inclusive', concurrency } };
      const run = { ...service.run, job: aJobFor(scope, short), plan: refresh };
      await runBackfill({ ...run, aroundPage: only((index) => index < 4) });
      expect(await countRows(db, 'headlines')).toBe(40);
      // Each adds 3.6 to the feed's losses, up to 10.
      for (const [rows_retracted, job] of [
        [8, run.job],
        [0, run.job],
        [0, { ...run.job, name: 'another' }],
      ] as const) {
        const lossy = await runBackfill({ ...run, job, aroundPage: nothing });
        expect(lossy).toMatchObject({ outcome: 'incomplete', totals: { rows_retracted } });
      }
      const accepted = await runBackfill({ ...run, aroundPage: nothing, acceptRetractions: true });
      expect(accepted).toMatchObject({ outcome: 'done', totals: { rows_retracted: 32 } });
    },
  );

  it('fails windows of quiet series that are all gone, even if a busy series answers', async () => {
    const countries = ['AU', 'BR', 'CA', 'DE', 'FR', 'GB', 'US'];
    await using service = await aService({ withdrawn: 0 });
    const run = {
      ...service.run,
      job: aJobFor({ ...scope, countries }, { lookback: 'P0D', service: { end_date: 'inclusive' } }),
      plan: refresh,
    };
    const withQuiet =
      (quiet: AroundPage): AroundPage =>
      (ask, request) =>
        request.path.includes('US') ? ask() : quiet(ask, request);
    await runBackfill({ ...run, aroundPage: withQuiet(only((index) => index < 3)) });
    expect(await countRows(service.db, 'headlines')).toBeGreaterThan(50);
    for (const rows_retracted of [9, 0]) {
      const outage = await runBackfill({ ...run, aroundPage: withQuiet(nothing) });
      expect(outage).toMatchObject({ outcome: 'incomplete', totals: { rows_retracted } });
    }
  });

  // It may lose a tenth of its rows, and ten more.
  it.each([
    { had: 40, has: 26, outcome: 'done' },
    { had: 40, has: 25, outcome: 'incomplete' },
    { had: 11, has: 0, outcome: 'done' },
    { had: 12, has: 0, outcome: 'incomplete' },
  ])('is $outcome if $has are left of $had', async ({ had, has, outcome }) => {
    await using service = await aService({ withdrawn: 0 });
    const { db, run } = service;
    const theFirst = (many: number) => only(() => many-- > 0);
    await runBackfill({ ...run, aroundPage: theFirst(had) });
    expect(await countRows(db, 'headlines')).toBe(had);
    const left = await runBackfill({ ...run, plan: refresh, aroundPage: theFirst(has) });
    expect(left.outcome).toBe(outcome);
    expect(await retractedNow(db)).toBe(outcome === 'done' ? had - has : 0);
  });
});

describe('a headline that only the live feed has brought', () => {
  it('stays while the historical feed lags, and is retracted if it never comes', async ({ db }) => {
    const time = { now: new Date('2026-11-20T12:00:00Z') };
    const clock = () => time.now;
    const lag = { historicalDelayMinutes: 600 };
    await using sandbox = await aSandbox({ clock, volume: 1.5, ...lag });
    const week = { ...scope, from: '2026-11-14', to: '2026-11-20' };
    const syncJob = aJobFor(week, { end_date: 'today', lookback: 'P3D' });
    const lagging = { job: syncJob, db, sandbox, clock };
    await runSync(lagging);
    expect(await countRows(db, 'live_sightings')).toBeGreaterThan(0);
    expect((await runSync(lagging)).totals).toMatchObject({ rows_inserted: 0, rows_retracted: 0 });

    // Confirmed by the historical feed, it is a headline like any other.
    time.now = new Date('2026-11-20T23:00:00Z');
    const [confirmed] = await sqlIn(db)<{ id: string }>`select row_id as id from gmsi.live_sightings`;
    await runSync(lagging);
    expect(await retractedNow(db)).toBe(0);
    await runSync({ ...lagging, aroundPage: without(new Set([confirmed!.id])) });
    expect(await retractedNow(db)).toBe(1);

    // What came last, the historical feed now never brings; the live feed does not reach it any more.
    time.now = new Date('2026-11-22T12:00:00Z');
    const unconfirmed = await sql<{ row_id: string }>`select row_id from gmsi.live_sightings`.execute(db);
    const missing = new Set(unconfirmed.rows.map(({ row_id }) => row_id));
    expect(missing.size).toBeGreaterThan(0);
    await runSync({
      ...lagging,
      job: aJobFor({ ...week, to: '2026-11-22' }, { end_date: 'today', lookback: 'P3D' }, '2026-11-22'),
      aroundPage: (ask, request) => (request.isLive ? ask() : without(missing)(ask, request)),
    });
    const retracted = await sqlIn(db)<{ id: string }>`
      select headline_id as id from gmsi.headlines where retracted_at is not null`;
    expect(new Set(retracted.map(({ id }) => id))).toEqual(missing);
  });

  it('is back if the live feed brings it, and stays while the other lacks it', async ({ db }) => {
    const clock = () => new Date('2026-11-20T12:00:00Z');
    await using sandbox = await aSandbox({ clock, volume: 1 });
    const syncJob = aJobFor({ ...scope, from: '2026-11-14', to: '2026-11-20' }, { end_date: 'today' });
    await runSync({ job: syncJob, db, sandbox, clock });
    const run = { job: syncJob, db, sandbox, clock, acceptRetractions: true };
    // The historical feed loses everything for a moment; the live feed does not.
    const nothing = sending(() => []);
    const withoutHistory = {
      ...run,
      aroundPage: async (ask: () => Promise<Page>, request: ServiceRequest) =>
        request.isLive ? ask() : { ...(await nothing(ask, request)), nextToken: null },
    };
    const { totals, live } = await runSync(withoutHistory);
    expect(live.records).toBeGreaterThan(0);
    expect(totals.rows_retracted).toBeGreaterThan(live.records);
    expect(totals.rows_changed).toBe(live.records);
    const retracted = totals.rows_retracted - live.records;
    expect(await retractedNow(db)).toBe(retracted);
    const again = await runSync(withoutHistory);
    expect(again.totals).toMatchObject({ rows_retracted: 0, rows_changed: 0 });
    expect(await retractedNow(db)).toBe(retracted);
    await runSync(run);
    expect(await retractedNow(db)).toBe(0);
  });
});

it('once a probe has learned when days begin, no edge of a window is retracted', async ({ db }) => {
  const clock = () => new Date(after);
  await using sandbox = await aSandbox({ clock, volume: 3 });
  const around = { ...scope, from: '2026-09-09', to: '2026-09-13' };
  const run = { job: aJobFor(around, { lookback: 'P0D' }), db, sandbox, clock, plan: refresh };
  await runBackfill(run);
  const exact = { lookback: 'P0D', service: { end_date: 'inclusive' } };
  const midday = aJobFor({ ...scope, from: '2026-09-10', to: '2026-09-12' }, exact);
  // As if each day began four hours late: what lies before belongs to the day before.
  const late = {
    ...run,
    job: midday,
    aroundPage: sending((records) => records.filter((one) => one.publication_time >= '2026-09-10T04:00')),
  };
  const learned = { fact: 'day_begin', value: { least: 225, most: 255 }, evidence: 'a test' };
  await saveLearnedFacts(db, 'gmsi-headlines', [learned]);
  expect((await runBackfill(late)).totals.rows_retracted).toBe(0);
  await sqlIn(db)`delete from gmsi.learned_facts`;
  expect((await runBackfill(late)).totals.rows_retracted).toBeGreaterThan(0);
});

it('a load that has lost its window does not make the one that has it now forget what it met', async () => {
  await using service = await aService({ withdrawn: 0 });
  const { db, run } = service;
  await runBackfill(run);
  const { table } = feedNamed('gmsi-headlines');
  const request = {
    startDate: '2026-09-01',
    endDate: '2026-09-20',
    pageSize: 50,
    asked: { askedOn: '2026-09-21', settledBefore: '2026-09-21' },
    isAgain: true,
  };
  let pages = 0;
  const { totals } = await runBackfill({
    ...run,
    plan: refresh,
    async aroundPage(ask) {
      if (++pages === 4) {
        const [window] = await sqlIn(db)<{ window_id: number }>`select window_id from gmsi.queue`;
        const silentTooLong = { windowId: window!.window_id, loadId: 999 };
        const begun = beginDrain(db, silentTooLong, { table, series }, request);
        expect(await begun).toBeUndefined();
      }
      return ask();
    },
  });
  expect(pages).toBeGreaterThan(4);
  expect(totals.rows_retracted).toBe(0);
});

it('if the first page had a record that cannot be read, nothing is retracted: it may be one that was not met', async () => {
  await using service = await aService();
  const { db, run } = service;
  await runBackfill(run);
  service.moveTo(after);
  let pages = 0;
  const { totals } = await runBackfill({
    ...run,
    plan: refresh,
    aroundPage: sending((records) => (++pages === 1 ? ['unreadable', ...records] : records)),
  });
  expect(pages).toBeGreaterThan(2);
  expect(totals.records_rejected).toBe(1);
  expect(await retractedNow(db)).toBe(0);

  // The next drain reads all, and what the one before it rejected does not count any more.
  await runBackfill({ ...run, plan: refresh });
  expect((await windowsOf(db)).at(-1)!.records_rejected).toBe(0);
  expect(await heldBy(db, scope)).toEqual(servedBy(service.sandbox, scope));
});

it('what another load writes during a drain stays, though that drain does not meet it', async () => {
  await using service = await aService();
  const { db, run } = service;
  await runBackfill(run);
  service.moveTo(after);
  let pages = 0;
  const { totals } = await runBackfill({
    ...run,
    plan: refresh,
    async aroundPage(ask) {
      const page = await ask();
      if (++pages === 2) {
        // All rows are written again, those that the service has withdrawn included; once the page before is committed, whose
        // rows could be locked in another order.
        await db.transaction().execute(async (trx) => {
          await sqlIn(trx)`lock table gmsi.headlines in share row exclusive mode`;
          await sqlIn(trx)`
            update gmsi.headlines set load_id = 999, url = 'https://example.com', changed_at = clock_timestamp()`;
        });
      }
      return page;
    },
  });
  expect(pages).toBeGreaterThan(2);
  expect(await heldBy(db, scope)).not.toEqual(servedBy(service.sandbox, scope));
  expect(totals.rows_retracted).toBe(0);
  expect(await retractedNow(db)).toBe(0);
});

/** Pages as if the service had withdrawn these headlines. */
const without = (ids: ReadonlySet<string>) => sending((records) => records.filter(({ id }) => !ids.has(id)));

async function retractedNow(db: Warehouse): Promise<number> {
  const rows = await sqlIn(db)<{ count: number }>`
    select count(*) from gmsi.headlines where retracted_at is not null`;
  return rows[0]!.count;
}

async function lastError(db: Warehouse): Promise<string> {
  return (await windowsOf(db)).at(-1)!.last_error!;
}
