import { describe, expect } from 'vitest';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, sqlIn } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const one = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-11-30' };
const job = aJobFor(one, { end_date: 'today' });
const servedSeries = [
  'US',
  'GB',
  'DE',
  'FR',
  'IT',
  'ES',
  'JP',
  'CN',
  'IN',
  'BR',
  'CA',
  'AU',
  'MX',
  'KR',
  'SE',
  'NO',
];
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
});
