import { describe, expect } from 'vitest';
import { aJobFor, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const one = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-11-20' };
const open = { end_date: 'today' };
const at = (time: string) => () => new Date(time);
const noon = at('2026-11-20T12:00:00Z');

const it = serving({ clock: noon, volume: 0.2 });

describe('a sync', () => {
  it('drains the lookback again, and keeps once what the live feed brings too', async ({ db, sandbox }) => {
    const job = aJobFor(one, open);
    await runBackfill({ job, db, sandbox, clock: noon });

    const requests = watchRequests(sandbox);
    expect(await runSync({ job, db, sandbox, clock: noon })).toMatchObject({
      outcome: 'done',
      live: { series: 1, failed: 0 },
      totals: { rows_inserted: 0, rows_changed: 0 },
    });
    expect(requests.map(({ path, query }) => [path, query.start_date])).toEqual([
      ['/v1/headlines/feed/historical/gmsi/US', '2026-11-17'],
      ['/v1/headlines/feed/live/gmsi/US', undefined],
    ]);
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });

  it('brings what the live feed has before the historical one, as seen when it appeared', async ({ db }) => {
    const late = { historicalDelayMinutes: 600, volume: 3 };
    await using sandbox = await aSandbox({ clock: noon, ...late });
    const result = await runSync({ job: aJobFor(one, open), db, sandbox, clock: noon });
    expect(result.totals.rows_inserted).toBeGreaterThan(result.live.records - 10);
    const rows = await sqlIn(db)<{ live: number }>`
      select count(*) as live from gmsi.headlines where published_at > '2026-11-20T02:00:00Z' and not is_backfilled
    `;
    expect(rows[0]!.live).toBeGreaterThan(0);
  });

  it('leaves months that a backfill has still to drain to the backfill', async ({ db, sandbox }) => {
    const job = aJobFor({ ...one, from: '2026-06-01' }, open);
    const requests = watchRequests(sandbox);
    expect((await runSync({ job, db, sandbox, clock: noon })).outcome).toBe('done');
    expect(
      requests.filter(({ query }) => query.start_date !== undefined && query.start_date < '2026-11-17'),
    ).toEqual([]);
    expect((await runBackfill({ job, db, sandbox, clock: noon })).outcome).toBe('done');
  });

  it('of a job that another process is syncing leaves it to that one', async ({ db, sandbox }) => {
    const job = aJobFor(one, open);
    const [first, second] = await Promise.all([
      runSync({ job, db, sandbox, clock: noon }),
      runSync({ job, db, sandbox, clock: noon }),
    ]);
    expect([first!.isElsewhere, second!.isElsewhere].sort()).toEqual([false, true]);
    expect([first!.outcome, second!.outcome]).toEqual(['done', 'done']);
    expect(await runSync({ job, db, sandbox, clock: noon })).toMatchObject({ isElsewhere: false });
  });

  it('takes up a failed window, and no covered day around it', async ({ db, sandbox }) => {
    const job = aJobFor(one, { ...open, step: 'P7D', service: { end_date: 'inclusive', max_attempts: 1 } });
    {
      const clock = at('2026-10-08T12:00:00Z');
      await using sandbox = await aSandbox({ clock, volume: 0.2 });
      await runSync({ job, db, sandbox, clock });
    }
    const isBroken = ({ query }: { query: { start_date?: string } }) =>
      query.start_date! > '2026-10-20' && query.start_date! < '2026-11-01';
    sandbox.script([{ kind: 'server-error', times: 2, match: isBroken }]);
    const failed = await runSync({ job, db, sandbox, clock: noon });
    expect(failed).toMatchObject({ outcome: 'incomplete', windows: { failed: 2 } });

    sandbox.script([]);
    const requests = watchRequests(sandbox);
    const again = await runSync({ job, db, sandbox, clock: noon });
    expect(again).toMatchObject({ outcome: 'done', windows: { failed: 0 } });
    const asked = requests.flatMap(({ query }) => query.start_date ?? []).sort();
    expect(asked).toHaveLength(3);
    expect(asked.every((day) => day > '2026-10-20' && (day < '2026-11-01' || day >= '2026-11-17'))).toBe(
      true,
    );
    const since = { ...one, from: '2026-10-05' };
    expect(await heldBy(db, since)).toEqual(servedBy(sandbox, since));
  });
});

describe('days of syncs', () => {
  const one = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-11-30' };
  const job = aJobFor(one, { end_date: 'today' });
  const servedSeries = 'US GB DE FR IT ES JP CN IN BR CA AU MX KR SE NO'.split(' ');
  const noonOf = (day: number) => new Date(Date.UTC(2026, 10, day, 12));

  describe('the first sync of a day', () => {
    it('asks for the day that has settled together with the others', async ({ db }) => {
      let now = noonOf(10);
      const clock = () => now;
      await using sandbox = await aSandbox({ clock, volume: 0.3 });
      await runBackfill({ job, db, sandbox, clock });
      const requests = watchRequests(sandbox);
      for (now of [noonOf(11), noonOf(12)]) await runSync({ job, db, sandbox, clock });
      const historical = requests.filter(({ path }) => path.includes('historical'));
      expect(historical.map(({ query }) => query.start_date)).toEqual(['2026-11-07', '2026-11-08']);
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-10-01,2026-11-09)}' });
      const rows = await sqlIn(db)`
      select from gmsi.headlines where published_at >= '2026-11-07' and is_backfilled and load_id > 1
    `;
      expect(rows).toEqual([]);
    });

    it('asks again for covered days that the job now says may still change', async ({ db }) => {
      const clock = () => noonOf(10);
      await using sandbox = await aSandbox({ clock, volume: 0.3 });
      await runBackfill({ job: aJobFor(one, { end_date: 'today', lookback: 'P1D' }), db, sandbox, clock });
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-10-01,2026-11-09)}' });
      const requests = watchRequests(sandbox);
      await runSync({ job: aJobFor(one, { end_date: 'today', lookback: 'P5D' }), db, sandbox, clock });
      const historical = requests.filter(({ path }) => path.includes('historical'));
      expect(historical.map(({ query }) => query.start_date)).toEqual(['2026-11-05']);
    });
  });

  it('a load is done whenever midnight comes, before it begins or meanwhile', async ({ db }) => {
    const [before, after] = [new Date('2026-11-10T23:59:59Z'), new Date('2026-11-11T00:00:01Z')];
    await using sandbox = await aSandbox({ clock: () => after, volume: 0.1 });
    const series = servedSeries.entries();
    for (const run of [runSync, runBackfill])
      for (let last = 1; last <= 8; last++) {
        const [, country] = series.next().value!;
        let read = 0;
        const clock = () => (++read > last ? after : before);
        const ofOne = aJobFor({ ...one, countries: [country] }, { end_date: 'today' });
        const { outcome, error } = await run({ job: ofOne, db, sandbox, clock });
        expect({ outcome, error }, `${run.name}, midnight after reading ${last}`).toEqual({
          outcome: 'done',
          error: undefined,
        });
      }
  });

  describe('a job that nothing but syncs load', () => {
    it('forgets none of its days because another job of the series begins later', async ({ db }) => {
      let now = noonOf(10);
      const clock = () => now;
      await using sandbox = await aSandbox({ clock, volume: 0.3 });
      const later = aJobFor({ ...one, from: '2026-11-09' }, { end_date: 'today' });
      await runSync({ job, db, sandbox, clock });
      await runSync({ job: later, db, sandbox, clock });
      now = noonOf(20);
      await runSync({ job, db, sandbox, clock });
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-07,2026-11-17)}' });
    });

    it('covers its days once they have settled, and catches up after a pause', async ({ db }) => {
      // Late headlines come within four days.
      const patient = aJobFor(one, { end_date: 'today', lookback: 'P5D' });
      let now = noonOf(10);
      const clock = () => now;
      await using sandbox = await aSandbox({ clock, volume: 0.3, changes: { late: 0.2 } });
      for (const day of [10, 11, 12, 20, 21]) {
        now = noonOf(day);
        await runSync({ job: patient, db, sandbox, clock });
      }
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-05,2026-11-16)}' });
      const days = { ...one, from: '2026-11-05', to: '2026-11-21' };
      expect(await heldBy(db, days)).toEqual(servedBy(sandbox, days));
    });

    it('goes back to the first days that it planned, though it never came to load them', async ({ db }) => {
      let now = noonOf(5);
      const clock = () => now;
      await using sandbox = await aSandbox({ clock, volume: 0.3 });
      const aroundPage = () => Promise.reject(new Error('down'));
      await runSync({ job: aJobFor(one, open), db, sandbox, clock, aroundPage });
      expect(await coverageOf(db)).toEqual({});
      now = noonOf(20);
      await runSync({ job: aJobFor(one, open), db, sandbox, clock });
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-02,2026-11-17)}' });
    });

    it.for(['P9D', 'P7D'])(
      'drains what it planned, also if its newest days came first, by %s',
      async (step, { db, sandbox }) => {
        await runBackfill({ job: aJobFor({ ...one, to: '2026-10-15' }), db, sandbox, clock: noon });
        const begun = aJobFor(one, { ...open, step: 'P9D', service: { concurrency: 1 } });
        expect((await runSync({ job: begun, db, sandbox, clock: noon, ...stoppedAt(1) })).outcome).toBe(
          'interrupted',
        );
        const covered = '{[2026-10-01,2026-10-16),[2026-11-12,2026-11-17)}';
        expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': covered });
        // A shorter step cuts the windows that are there.
        expect(
          (await runSync({ job: aJobFor(one, { ...open, step }), db, sandbox, clock: noon })).outcome,
        ).toBe('done');
        expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-10-01,2026-11-17)}' });
        expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
      },
    );
  });
});
