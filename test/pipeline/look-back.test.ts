import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const lookBackDays = 100;
const words = 'start_date must not be before 2026-08-12';
const period = { from: '2024-01-01', to: '2026-11-15' };
const one = { ...period, countries: ['US'], topics: ['Inflation-Food'] };
const several = { ...period, countries: ['US', 'DE'], topics: ['Inflation-Food', 'Policy Outlook'] };

describe('a service that does not answer windows older than its look-back', () => {
  it.each([
    ['one series, newest first', one, 'newest-first', 4],
    ['one series, oldest first', one, 'oldest-first', 4],
    ['several series, newest first', several, 'newest-first', 8],
    ['several series, oldest first', several, 'oldest-first', 8],
    ['one series, newest first, many at a time', one, 'newest-first', 20],
    ['several series, oldest first, many at a time', several, 'oldest-first', 20],
  ] as const)('is noticed: %s', async (_, scope, order, concurrency) => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
    const { db } = warehouse;
    const job = aJobFor(scope, { step: 'P10D', order, service: { concurrency } });
    const requests = watchRequests(sandbox);
    const result = await runBackfill({ job, db, sandbox, clock });
    expect(result.outcome).toBe('incomplete');

    const windows = await windowsOf(db);
    const served = windows.filter(({ state }) => state === 'drained');
    const rest = windows.filter(({ state }) => state !== 'drained');
    expect(served.length).toBeGreaterThanOrEqual(9 * scope.countries.length * scope.topics.length);
    expect(served.every(({ first_day }) => first_day >= '2026-08-12')).toBe(true);
    expect(rest.every(({ first_day }) => first_day < '2026-08-12')).toBe(true);
    // Not a day that the service answers is lost with older ones.
    expect(served.filter(({ first_day }) => first_day === '2026-08-12')).toHaveLength(
      scope.countries.length * scope.topics.length,
    );
    expect(rest.every(({ last_day }) => last_day < '2026-08-12')).toBe(true);
    expect(rest.filter(({ state }) => state !== 'refused')).toEqual([]);
    expect(rest.every(({ last_error }) => last_error!.includes(words))).toBe(true);
    expect(requests.length - served.length).toBeLessThanOrEqual(2 * concurrency + 8);
    expect(rest.length).toBeGreaterThan(requests.length - served.length);

    const inReach = { ...scope, from: served.map(({ first_day }) => first_day).sort()[0]! };
    expect(await heldBy(db, inReach)).toEqual(servedBy(sandbox, inReach));

    // Nothing is asked again, until somebody wants it to be.
    const again = watchRequests(sandbox);
    expect(await runBackfill({ job, db, sandbox, clock })).toMatchObject({ outcome: 'incomplete' });
    expect(again).toEqual([]);
  });

  it('is noticed though every refusal comes in before the first answer', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
    const { db } = warehouse;
    const job = aJobFor(one, { step: 'P10D', service: { concurrency: 12 } });
    let answer = () => {};
    const refusedThrice = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let refused = 0;
    const requests = watchRequests(sandbox);
    const result = await runBackfill({
      ...{ job, db, sandbox, clock },
      aroundPage: async (ask) => {
        const page = await ask().catch((error) => {
          if (++refused === 3) answer();
          throw error;
        });
        await refusedThrice;
        return page;
      },
    });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 0, pending: 0 } });
    expect(requests.length).toBeLessThan(45);
  });

  it('is noticed though refusals of the oldest days come in after the first answers', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
    const { db } = warehouse;
    const job = aJobFor(several, { step: 'P10D', order: 'oldest-first' });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const seen = { answers: 0, refusals: 0 };
    const requests = watchRequests(sandbox);
    const result = await runBackfill({
      ...{ job, db, sandbox, clock },
      aroundPage: async (ask) => {
        try {
          return await ask();
        } catch (error) {
          // The first two make the run turn to the newest days.
          if (++seen.refusals > 2) await answered;
          throw error;
        } finally {
          if (++seen.answers - seen.refusals === 5) answer();
        }
      },
    });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 0, pending: 0 } });
    expect(requests.length).toBeLessThan(60);
  });

  it('is noticed though all of a short job is asked for at once', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
    const scope = { ...several, from: '2026-06-01' };
    const job = aJobFor(scope, { step: 'P60D', service: { concurrency: 20 } });
    const result = await runBackfill({ job, db: warehouse.db, sandbox, clock });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 0, pending: 0 } });
    const inReach = { ...scope, from: '2026-08-12' };
    expect(await heldBy(warehouse.db, inReach)).toEqual(servedBy(sandbox, inReach));
  });

  it('leaves a job that asks for newer days as well not done', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
    const { db } = warehouse;
    const earlier = aJobFor({ ...one, to: '2026-11-10' }, { step: 'P30D', service: { concurrency: 1 } });
    expect((await runBackfill({ job: earlier, db, sandbox, clock })).outcome).toBe('incomplete');
    const requests = watchRequests(sandbox);
    const result = await runBackfill({ job: aJobFor(one, { step: 'P30D' }), db, sandbox, clock });
    expect(requests).toHaveLength(1);
    expect(result).toMatchObject({
      outcome: 'incomplete',
      totals: { windows_drained: 1, windows_failed: 0 },
    });
  });

  it('that has come to answer them is asked for the rest where refused windows are to be retried', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const job = aJobFor(one, { step: 'P30D' });
    {
      await using sandbox = await startSandbox({ limits: null, clock, lookBackDays, volume: 0.1 });
      expect((await runBackfill({ job, db, sandbox, clock })).windows.refused).toBeGreaterThan(10);
    }
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
    const plan = { fullRefresh: false, retryRefused: true };
    const result = await runBackfill({ job, db, sandbox, clock, plan });
    expect(result).toMatchObject({ outcome: 'done', windows: { refused: 0, failed: 0 } });
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });
});

describe('a single broken window', () => {
  it.each(['newest-first', 'oldest-first'])(
    'is not taken for a look-back, whatever its age (%s)',
    async (order) => {
      await using warehouse = await aWarehouse();
      await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
      const { db } = warehouse;
      const job = aJobFor(several, { step: 'P30D', order });
      sandbox.script([
        {
          ...{ kind: 'refuse', status: 400, detail: 'broken', times: 1e6 },
          match: ({ path, query }) =>
            path.endsWith('/DE') && query.topic === 'Policy Outlook' && query.start_date! < '2024-01-20',
        },
      ]);
      const result = await runBackfill({ job, db, sandbox, clock });
      expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, refused: 0, pending: 0 } });
    },
  );
});
