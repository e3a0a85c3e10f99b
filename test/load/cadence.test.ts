import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import type { TruthScope } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';
import {
  aSandbox,
  begin,
  dayMs,
  dayOf,
  expectCoveredDaysExact,
  scope,
  syncFor,
  syncsADay,
} from './simulated.ts';

describe('a series without news', () => {
  const silent: TruthScope = { ...scope, countries: ['MT'], topics: ['Tension'] };
  const cadence = { adaptive: true, longest: 'P1D', max_uncovered: 'P12D' };
  const job = aJobFor(silent, { end_date: 'today', cadence }, '2040-03-01');
  const polledAt = async (db: Warehouse) =>
    (await sql<{ at: Date }>`select polled_at as at from gmsi.cadence`.execute(db)).rows[0]!.at.getTime();

  it('is polled at every sync again as soon as it has some', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const at = (time: number) => () => new Date(time);
    const syncAt = (sandbox: Sandbox, time: number) => runSync({ job, db, sandbox, clock: at(time) });
    {
      await using sandbox = await startSandbox({ limits: null, volume: 0, clock: at(begin) });
      await runBackfill({ job, db, sandbox, clock: at(begin) });
    }
    let time = begin;
    {
      await using sandbox = await startSandbox({ limits: null, volume: 0, clock: () => new Date(time) });
      for (; time < begin + 5 * dayMs; time += dayMs / 2) await syncAt(sandbox, time);
      expect((await syncAt(sandbox, time)).cadence).toMatchObject({ seriesSkipped: 1, requestsSaved: 2 });
    }
    // The news comes while the series is left out, and is found within the bound.
    await using sandbox = await startSandbox({ limits: null, volume: 5, clock: () => new Date(time) });
    const quietSince = await polledAt(db);
    for (let found = 0; found === 0; time += dayMs / 2)
      found = (await syncAt(sandbox, time)).totals.rows_inserted;
    expect(time - dayMs / 2 - quietSince).toBeLessThanOrEqual(1.5 * dayMs);
    for (let run = 0; run < 3; run++, time += dayMs / 2)
      expect((await syncAt(sandbox, time)).cadence.seriesSkipped).toBe(0);
  });

  it('is polled once by a sync, however many of its windows do not reach today, and never by a backfill of older days', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    let time = begin;
    const clock = () => new Date(time);
    await using sandbox = await startSandbox({ limits: null, volume: 0, clock });
    const inDays = aJobFor(silent, { end_date: 'today', lookback: 'P3D', step: 'P1D' }, '2040-03-01');
    const older = aJobFor({ ...silent, to: dayOf(begin - dayMs) }, { lookback: 'P0D' }, '2040-03-01');
    for (const syncs of [1, 2]) {
      const requests = watchRequests(sandbox);
      await runBackfill({ job: older, db, sandbox, clock, plan: { fullRefresh: true, retryRefused: false } });
      await runSync({ job: inDays, db, sandbox, clock });
      expect(requests.length).toBeGreaterThan(4);
      const { rows } = await sql`select polls, quiet_polls from gmsi.cadence`.execute(db);
      expect(rows).toEqual([{ polls: syncs, quiet_polls: syncs }]);
      time += dayMs / 2;
    }
  });

  it('is polled at every sync if the cadence is not adaptive', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    let time = begin;
    await using sandbox = await startSandbox({ limits: null, volume: 0, clock: () => new Date(time) });
    const requests = watchRequests(sandbox);
    const plain = aJobFor(silent, { end_date: 'today' }, '2040-03-01');
    const clock = () => new Date(time);
    for (; time < begin + 5 * dayMs; time += dayMs) await runSync({ job: plain, db, sandbox, clock });
    expect(requests).toHaveLength(5 * 2);
  });
});

describe('days that changes seldom reach', () => {
  const busy: TruthScope = { ...scope, countries: ['US'], topics: ['Inflation-Food'] };
  const cadence = { adaptive: true, longest: 'P5D', max_uncovered: 'P20D' };
  const overrides = { end_date: 'today', lookback: 'P15D', cadence };
  const job = aJobFor(busy, overrides, '2040-03-01');

  /** Versions that were replaced two days after publication. */
  async function twoDaysOldChanges(db: Warehouse, many: number): Promise<void> {
    await sql`
      insert into gmsi.headline_revisions (headline_id, country, topic, match_type, published_at, first_seen_at,
                                           known_from, known_to, is_backfilled, load_id, reason)
      select gen_random_uuid(), 'DE', 'Elections', 'COMBINED', at, at, at, at + interval '2 days', false, 0, 'rescored'
      from generate_series(timestamptz '2040-02-10 12:00Z', '2040-02-20 12:00Z', interval '10 days' / ${many}::integer) as at
    `.execute(db);
  }

  it('are drained again only before they are covered', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 200);
    await using simulated = await aSandbox({
      volume: 0.2,
      changes: { late: 0.1, revised: 0.2, withdrawn: 0 },
    });
    const { sandbox, at } = simulated;
    await runBackfill({ job, db, sandbox, clock: at(begin) });
    const requests = watchRequests(sandbox);
    const { seriesSkipped, recheckDays } = await syncFor(6, { job, db, ...simulated });

    expect(seriesSkipped).toBe(0);
    expect(new Set(recheckDays)).toEqual(new Set([2]));
    const windows = requests.filter(({ query, token }) => query.start_date !== undefined && token === null);
    const lengths = windows.map(
      ({ query }) => (Date.parse(query.end_date!) - Date.parse(query.start_date!)) / dayMs,
    );
    // Three days and the one that end_date names beyond, but for the few that settle.
    expect(lengths.filter((days) => days === 3).length).toBeGreaterThan(8);
    expect(Math.max(...lengths)).toBeGreaterThan(15);
    expect(requests.length).toBeLessThan(6 * syncsADay * 3);
    await expectCoveredDaysExact(db, simulated);
  });

  it('are drained again at every sync while too few changes are known', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 50);
    await using simulated = await aSandbox({ volume: 0.1 });
    const { recheckDays } = await syncFor(1, { job, db, ...simulated });
    expect(recheckDays).toEqual([15, 15]);
  });

  it('are planned although later ones were covered before them', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 200);
    await using simulated = await aSandbox({ volume: 0.1 });
    const { sandbox, at } = simulated;
    const short = aJobFor(busy, { ...overrides, lookback: 'P6D' }, '2040-03-01');
    const syncOn = (day: number) => runSync({ job: short, db, sandbox, clock: at(begin + day * dayMs) });
    await runBackfill({ job: short, db, sandbox, clock: at(begin) });
    await syncOn(1);
    // A window that nothing but its own poll has asked for fails until its days have settled.
    const stubborn = { kind: 'refuse', status: 400, detail: 'not now' } as const;
    sandbox.script([{ ...stubborn, times: 2, match: ({ query }) => query.start_date === dayOf(begin) }]);
    for (const day of [2, 5]) expect((await syncOn(day)).outcome).toBe('incomplete');
    await syncOn(8);
    expect(Object.values(await coverageOf(db))).toEqual([expect.stringContaining('),[')]);
    for (const day of [10, 13, 16, 20]) await syncOn(day);
    expect(Object.values(await coverageOf(db))).toEqual([expect.stringMatching(/^{[^{}]*}$/)]);
    expect(Object.values(await coverageOf(db))[0]).not.toContain('),[');
    await expectCoveredDaysExact(db, simulated);
  });
});
