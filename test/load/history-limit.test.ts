import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { askedAgain } from '../../src/warehouse/tables/refusals.ts';
import { refusing, seriesOf } from '../support/refusing.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const historyLimitDays = 100;
const words = 'start_date must not be before 2026-08-12';
const period = { from: '2026-05-20', to: '2026-09-16' };
const one = { ...period, countries: ['US'], topics: ['Inflation-Food'] };
const several = { ...period, countries: ['US', 'DE'], topics: ['Inflation-Food', 'Policy Outlook'] };

const statesOf = async (db: Warehouse) => new Set((await windowsOf(db)).map(({ state }) => state));

const it = serving({ volume: 0.03 });

describe('a service that does not answer windows older than its history limit', () => {
  it.for([
    ['one series, newest first', ['US'], 'newest-first', 2],
    ['two series, oldest first, many at a time', ['US', 'DE'], 'oldest-first', 8],
  ] as const)('is asked for little in vain: %s', async ([_, countries, order, concurrency], { db }) => {
    // Most windows are never asked for, and cost nothing.
    const scope = { ...one, countries, from: '2026-01-01' };
    await using sandbox = await aSandbox({ historyLimitDays, volume: 0.03 });
    const series = scope.countries.length * scope.topics.length;
    const job = aJobFor(scope, { step: 'P10D', order, service: { concurrency } });
    const requests = watchRequests(sandbox);
    const result = await runBackfill({ job, db, sandbox });
    expect(result.outcome).toBe('incomplete');

    const windows = await windowsOf(db);
    const served = windows.filter(({ state }) => state === 'drained');
    const rest = windows.filter(({ state }) => state !== 'drained');
    expect(served.every(({ first_day }) => first_day >= '2026-08-12')).toBe(true);
    expect(rest.every(({ first_day }) => first_day < '2026-08-12')).toBe(true);
    expect(await statesOf(db)).toEqual(new Set(['drained', 'refused']));
    expect(rest.every(({ last_error }) => last_error!.includes(words))).toBe(true);
    const skipped = rest.filter(({ refused_with }) => refused_with === null);
    expect(skipped.length).toBeGreaterThan(0);
    expect(skipped.every(({ last_error }) => last_error!.startsWith('not requested: '))).toBe(true);
    // By which they are told from those of other jobs.
    expect(skipped.filter(({ load_id }) => load_id === null)).toEqual([]);
    const inVain = requests.length - served.length;
    expect(inVain).toBeLessThanOrEqual(series + 2 * concurrency);

    // The next runs ask for a few of them, each time others, and nothing else.
    const asked = new Set<string>();
    for (let run = 0; run < 3; run++) {
      const again = watchRequests(sandbox);
      expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'incomplete' });
      expect(again.length).toBeGreaterThan(0);
      expect(again.length).toBeLessThanOrEqual(series);
      for (const request of again) asked.add(`${seriesOf(request)} ${request.query.start_date}`);
    }
    expect(asked.size).toBe(series * 3);
    expect(await statesOf(db)).toEqual(new Set(['drained', 'refused']));

    // With the limit, not a day that the service answers is lost with the older ones of its window.
    const limited = aJobFor(scope, { step: 'P10D', history_limit: '2026-08-12' });
    expect(await runBackfill({ job: limited, db, sandbox })).toMatchObject({ outcome: 'done' });
    const inReach = { ...scope, from: '2026-08-12' };
    expect(await heldBy(db, inReach)).toEqual(servedBy(sandbox, inReach));
  });

  it('costs a run of many series no more than the bound, and gives each of them its turn', async ({ db }) => {
    await using sandbox = await aSandbox({ historyLimitDays, volume: 0.02 });
    const topics = ['Inflation-Food', 'Policy Outlook', 'Market Stress'];
    const countries = ['US', 'DE', 'NO', 'GB', 'FR', 'SE', 'DK'];
    const many = { topics, countries, from: '2026-07-01', to: '2026-09-10' };
    expect(many.countries.length * topics.length).toBeGreaterThan(askedAgain);
    const job = aJobFor(many, { step: 'P30D' });
    const first = await runBackfill({ job, db, sandbox });
    expect(first.windows).toMatchObject({ failed: 0, pending: 0 });
    const asked = new Set<string>();
    for (let run = 0; run < 3; run++) {
      const again = watchRequests(sandbox);
      await runBackfill({ job, db, sandbox });
      expect(again).toHaveLength(askedAgain);
      for (const request of again) asked.add(seriesOf(request));
    }
    expect(asked.size).toBe(many.countries.length * topics.length);
  });

  it('that has come to answer them is asked for the rest if that is wanted', async ({ db, sandbox }) => {
    const job = aJobFor(one, { step: 'P15D' });
    {
      await using sandbox = await aSandbox({ historyLimitDays, volume: 0.03 });
      expect((await runBackfill({ job, db, sandbox })).windows.refused).toBeGreaterThan(5);
    }
    const plan = { fullRefresh: false, retryRefused: true };
    const result = await runBackfill({ job, db, sandbox, plan });
    expect(result).toMatchObject({ outcome: 'done', windows: { refused: 0, failed: 0 } });
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });
});

it('refusals that pass are requested again by syncs, too', async ({ db, sandbox }) => {
  const scope = { ...several, countries: ['US'], from: '2026-10-25', to: '2026-11-20' };
  const job = aJobFor(scope, { end_date: 'today', step: 'P2D', lookback: 'P8D' });
  refusing(sandbox, (series) => series === 'US Policy Outlook');
  for (let run = 0; run < 2; run++) await runSync({ job, db, sandbox });
  expect((await windowsOf(db)).some(({ state }) => state === 'refused')).toBe(true);
  sandbox.script([]);
  for (let run = 0; run < 2; run++) await runSync({ job, db, sandbox });
  const recent = { ...scope, from: '2026-11-13' };
  expect(await heldBy(db, recent)).toEqual(servedBy(sandbox, recent));
});

it('a hole in a series hides older days until it is requested again', async ({ db, sandbox }) => {
  const scope = { ...several, countries: ['US'], from: '2026-05-01', to: '2026-09-27' };
  const job = aJobFor(scope, { step: 'P30D' });
  const isHole = (from: string) => from >= '2026-05-31' && from < '2026-08-28';
  refusing(sandbox, (series, from) => series === 'US Inflation-Food' && isHole(from));
  // One window a run: those of the hole, then the one below them.
  for (let run = 0; run < 5; run++) await runBackfill({ job, db, sandbox });
  const rest = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
  expect(rest.every(({ first_day, country }) => country === 'US' && isHole(first_day))).toBe(true);
  const below = { ...scope, to: '2026-05-30' };
  expect(await heldBy(db, below)).toEqual(servedBy(sandbox, below));
  // What stays refused, though older days are answered, does not cost every run a request for good.
  await runBackfill({ job, db, sandbox });
  const requests = watchRequests(sandbox, []);
  await runBackfill({ job, db, sandbox });
  expect(requests.length).toBeLessThanOrEqual(askedAgain);
});
