import { describe, expect } from 'vitest';
import type { Sandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const dayMs = 24 * 3600 * 1000;
// Years ahead, so that nothing that the warehouse dates by its own clock counts as seen in the simulated month.
const begin = Date.parse('2040-03-01T02:00:00Z');
const days = { from: '2040-02-01', to: '2040-04-30' };
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

describe('a series without news', () => {
  const silent = { ...days, countries: ['MT'], topics: ['Tension'] };
  const cadence = { adaptive: true, longest: 'P1D' };
  const job = aJobFor(silent, { end_date: 'today', cadence }, '2040-03-01');
  const polledAt = async (db: Warehouse) =>
    (await sqlIn(db)<{ at: Date }>`select polled_at as at from gmsi.cadence`)[0]!.at.getTime();

  it('is polled at every sync again as soon as it has some', async ({ db }) => {
    const at = (time: number) => () => new Date(time);
    const syncAt = (sandbox: Sandbox, time: number) => runSync({ job, db, sandbox, clock: at(time) });
    {
      await using sandbox = await aSandbox({ volume: 0, clock: at(begin) });
      await runBackfill({ job, db, sandbox, clock: at(begin) });
    }
    let time = begin;
    {
      await using sandbox = await aSandbox({ volume: 0, clock: () => new Date(time) });
      for (; time < begin + 5 * dayMs; time += dayMs / 2) await syncAt(sandbox, time);
      expect((await syncAt(sandbox, time)).seriesSkipped).toBe(1);
    }
    // The news comes while the series is left out, and is found within the bound.
    await using sandbox = await aSandbox({ volume: 5, clock: () => new Date(time) });
    const quietSince = await polledAt(db);
    for (let found = 0; found === 0; time += dayMs / 2)
      found = (await syncAt(sandbox, time)).totals.rows_inserted;
    expect(time - dayMs / 2 - quietSince).toBeLessThanOrEqual(1.5 * dayMs);
    for (let run = 0; run < 3; run++, time += dayMs / 2)
      expect((await syncAt(sandbox, time)).seriesSkipped).toBe(0);
  });

  it('is polled once by a sync, and never by a backfill of older days', async ({ db }) => {
    let time = begin;
    const clock = () => new Date(time);
    await using sandbox = await aSandbox({ volume: 0, clock });
    const inDays = aJobFor(silent, { end_date: 'today', lookback: 'P3D', step: 'P1D' }, '2040-03-01');
    const older = aJobFor({ ...silent, to: dayOf(begin - dayMs) }, { lookback: 'P0D' }, '2040-03-01');
    for (const syncs of [1, 2]) {
      const requests = watchRequests(sandbox);
      await runBackfill({ job: older, db, sandbox, clock, plan: refresh });
      await runSync({ job: inDays, db, sandbox, clock });
      expect(requests.length).toBeGreaterThan(4);
      expect(await sqlIn(db)`select quiet_polls from gmsi.cadence`).toEqual([{ quiet_polls: syncs }]);
      time += dayMs / 2;
    }
  });

  it('is polled, though a wrong clock has put its last poll 400 days ahead', async ({ db }) => {
    const clock = () => new Date(begin);
    await using sandbox = await aSandbox({ volume: 0, clock });
    await runSync({ job, db, sandbox, clock });
    await sqlIn(db)`
      update gmsi.cadence set quiet_polls = 9, news_at = polled_at, polled_at = polled_at + interval '400 days'`;
    expect((await runSync({ job, db, sandbox, clock })).seriesSkipped).toBe(0);
    expect(await polledAt(db)).toBe(begin);
  });

  it('is not polled by a sync whose window of today fails, though older ones are drained', async ({ db }) => {
    const clock = () => new Date(begin);
    await using sandbox = await aSandbox({ volume: 0, clock });
    const today = dayOf(begin);
    sandbox.script([{ kind: 'server-error', times: 100, match: ({ query }) => query.start_date === today }]);
    const inDays = aJobFor(silent, { end_date: 'today', lookback: 'P3D', step: 'P1D' }, today);
    const { totals } = await runSync({ job: inDays, db, sandbox, clock });
    expect(totals).toMatchObject({ windows_failed: 1, windows_drained: 3 });
    expect(await sqlIn(db)`select from gmsi.cadence where polled_at is not null`).toEqual([]);
  });

  it('does not have news because of headlines that a backfill of older days finds', async ({ db }) => {
    const clock = () => new Date(begin);
    await using sandbox = await aSandbox({ volume: 5, clock });
    const older = aJobFor({ ...silent, to: dayOf(begin - dayMs) }, {}, dayOf(begin));
    expect((await runBackfill({ job: older, db, sandbox, clock })).totals.rows_inserted).toBeGreaterThan(0);
    expect(await sqlIn(db)`select from gmsi.cadence`).toEqual([]);
  });
});
