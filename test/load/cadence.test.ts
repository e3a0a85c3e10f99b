import { describe, expect } from 'vitest';
import type { Sandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { loadAs } from '../support/stamp-as.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const dayMs = 24 * 3600 * 1000;
const begin = Date.parse('2025-03-01T02:00:00Z');
const days = { from: '2025-02-01', to: '2025-04-30' };
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

describe('a series without news', () => {
  const silent = { ...days, countries: ['MT'], topics: ['Tension'] };
  const cadence = { adaptive: true, longest: 'P1D' };
  const job = aJobFor(silent, { end_date: 'today', cadence }, '2025-03-01');
  /** When each whole reading to its own day was requested, to the second. */
  const polls = async (db: Warehouse) =>
    (
      await sqlIn(db)<{ at: Date }>`
        select date_trunc('second', asked_at) as at from gmsi.readings
        where is_whole and source = 'w' and last_day >= asked_on order by 1`
    ).map(({ at }) => at.getTime());
  const syncAt = (db: Warehouse, sandbox: Sandbox, time: number, of = job) => {
    const clock = () => new Date(time);
    return loadAs(db, clock().toISOString(), () => runSync({ job: of, db, sandbox, clock }));
  };

  it('is polled at every sync again as soon as it has some', async ({ db }) => {
    let time = begin;
    const clock = () => new Date(time);
    {
      await using sandbox = await aSandbox({ volume: 0, clock });
      await loadAs(db, clock().toISOString(), () => runBackfill({ job, db, sandbox, clock }));
      for (; time < begin + 5 * dayMs; time += dayMs / 2) await syncAt(db, sandbox, time);
      time -= 0.4 * dayMs;
      expect((await syncAt(db, sandbox, time)).seriesSkipped).toBe(1);
    }
    // The news comes while the series is left out, and is found within the bound.
    await using sandbox = await aSandbox({ volume: 5, clock });
    const quietSince = (await polls(db)).at(-1)!;
    for (let found = 0; found === 0; time += dayMs / 2)
      found = (await syncAt(db, sandbox, time)).totals.rows_inserted;
    expect(time - dayMs / 2 - quietSince).toBeLessThanOrEqual(1.5 * dayMs);
    for (let run = 0; run < 3; run++, time += dayMs / 2)
      expect((await syncAt(db, sandbox, time)).seriesSkipped).toBe(0);
  });

  it('is polled once by a sync, and never by a backfill of older days', async ({ db }) => {
    let time = begin;
    const clock = () => new Date(time);
    await using sandbox = await aSandbox({ volume: 0, clock });
    const inDays = aJobFor(silent, { end_date: 'today', lookback: 'P3D', step: 'P1D' }, '2025-03-01');
    const older = aJobFor({ ...silent, to: dayOf(begin - dayMs) }, { lookback: 'P0D' }, '2025-03-01');
    const polled: number[] = [];
    for (let syncs = 0; syncs < 2; syncs++, time += dayMs / 2) {
      const requests = watchRequests(sandbox);
      await loadAs(db, clock().toISOString(), () =>
        runBackfill({ job: older, db, sandbox, clock, plan: refresh }),
      );
      expect(await polls(db)).toEqual(polled);
      await syncAt(db, sandbox, time, inDays);
      expect(requests.length).toBeGreaterThan(4);
      polled.push(time);
      expect(await polls(db)).toEqual(polled);
    }
  });

  it('is polled, though a wrong clock has put its last poll 400 days ahead', async ({ db }) => {
    const clock = () => new Date(begin);
    await using sandbox = await aSandbox({ volume: 0, clock });
    await syncAt(db, sandbox, begin - 20 * dayMs);
    for (const ahead of [0, 400]) {
      await runSync({ job, db, sandbox, clock });
      // In a silence after which the next poll waits for a day.
      const polledAt = new Date(begin + ahead * dayMs);
      await sqlIn(
        db,
      )`update gmsi.readings set asked_at = ${polledAt} where asked_at > ${new Date(begin - dayMs)}`;
      expect((await runSync({ job, db, sandbox, clock })).seriesSkipped).toBe(ahead === 0 ? 1 : 0);
    }
  });

  it('is not polled by a sync whose window of today fails, though older ones are drained', async ({ db }) => {
    const clock = () => new Date(begin);
    await using sandbox = await aSandbox({ volume: 0, clock });
    const today = dayOf(begin);
    sandbox.script([{ kind: 'server-error', times: 100, match: ({ query }) => query.start_date === today }]);
    const inDays = aJobFor(silent, { end_date: 'today', lookback: 'P3D', step: 'P1D' }, today);
    const { totals } = await syncAt(db, sandbox, begin, inDays);
    expect(totals).toMatchObject({ windows_failed: 1, windows_drained: 3 });
    expect(await polls(db)).toEqual([]);
    const adaptive = aJobFor(silent, { end_date: 'today', cadence }, today);
    expect((await syncAt(db, sandbox, begin + 1000, adaptive)).seriesSkipped).toBe(0);
  });

  it('does not have news because of headlines that a backfill of older days finds', async ({ db }) => {
    let time = begin;
    const clock = () => new Date(time);
    {
      await using sandbox = await aSandbox({ volume: 0, clock });
      for (; time < begin + 4 * dayMs; time += dayMs / 2) await syncAt(db, sandbox, time);
    }
    time -= 0.4 * dayMs;
    await using sandbox = await aSandbox({ volume: 5, clock });
    const older = aJobFor({ ...silent, to: dayOf(begin - 10 * dayMs) }, {}, dayOf(begin));
    const { totals } = await loadAs(db, clock().toISOString(), () =>
      runBackfill({ job: older, db, sandbox, clock }),
    );
    expect(totals.rows_inserted).toBeGreaterThan(0);
    expect((await syncAt(db, sandbox, time)).seriesSkipped).toBe(1);
  });
});
