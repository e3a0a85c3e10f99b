import { describe, expect } from 'vitest';
import { aJobFor, runBackfill, stoppedAt, usualClock } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-15' };
const service = { end_date: 'inclusive', page_size: 20 };
const job = aJobFor(scope, { service });

const it = serving({ volume: 0.3 });

describe('a cursor that is broken', () => {
  it.for([
    ['repeats a token', 'repeat-token', /second time/],
    ['goes round in a circle', 'cycle-token', /second time/],
    ['lacks a token', 'missing-token', /no next_token/],
  ] as const)('because it %s fails its window alone', async ([_, kind, reason], { db, sandbox }) => {
    sandbox.script([{ kind, match: ({ path, token }) => path.endsWith('/US') && token !== null }]);

    const first = await runBackfill({ job, db, sandbox });
    expect(first).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, drained: 1 } });
    expect(first.totals).toMatchObject({ windows_failed: 1, windows_drained: 1 });
    const failed = (await windowsOf(db)).find(({ state }) => state === 'failed')!;
    expect(failed).toMatchObject({ country: 'US', last_error: expect.stringMatching(reason) });
    const german = { ...scope, countries: ['DE'] };
    expect(await heldBy(db, german)).toEqual(servedBy(sandbox, german));

    const requests = watchRequests(sandbox);
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(requests[0]!.token).toBe(failed.next_token);
    expect(firstPages(requests)).toEqual([]);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('on a first page, because it lacks a token, is begun anew by a rerun', async ({ db, sandbox }) => {
    sandbox.script([{ kind: 'missing-token', match: ({ token }) => token === null }]);
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('incomplete');
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

it.for(['\0', '\ud800'])(
  'a next_token with %j fails its window, at one request a run',
  async (character, { db, sandbox }) => {
    const one = { ...scope, countries: ['US'] };
    const run = { job: aJobFor(one, { service }), db, sandbox };
    const requests = watchRequests(sandbox);
    for (const tries of [1, 2]) {
      const spoilt = await runBackfill({
        ...run,
        async aroundPage(ask) {
          const page = await ask();
          return { ...page, nextToken: `${page.nextToken}${character}` };
        },
      });
      expect(spoilt.outcome).toBe('incomplete');
      expect(requests).toHaveLength(tries);
    }
    const [window] = await windowsOf(db);
    expect(window!.last_error).toMatch(/^The service sent a next_token with a NUL or half a character/);
    expect((await runBackfill(run)).outcome).toBe('done');
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  },
);

it('an empty page that has a token is followed, wherever it is', async ({ db, sandbox }) => {
  sandbox.script([
    { kind: 'empty-page', match: ({ path, token }) => path.endsWith('/DE') && token === null },
    { kind: 'empty-page', times: 3, match: ({ token }) => token !== null },
  ]);
  expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
  expect(sandbox.stats().faults['empty-page']).toBe(4);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

describe('a token that the service takes no longer', () => {
  const one = { ...scope, countries: ['US'] };
  const oneJob = aJobFor(one, { service });
  const hour = 3_600_000;

  it.for([400, 404, 422])('because it expired (%i) restarts its window', async (tokenErrorStatus, { db }) => {
    let now = usualClock().getTime();
    const moving = () => new Date(now);
    await using sandbox = await aSandbox({
      clock: moving,
      volume: 0.3,
      tokenLifetimeMs: hour,
      tokenErrorStatus,
    });
    await runBackfill({ job: oneJob, db, sandbox, clock: moving, ...stoppedAt(3) });
    now += 2 * hour;

    const requests = watchRequests(sandbox);
    expect((await runBackfill({ job: oneJob, db, sandbox, clock: moving })).outcome).toBe('done');
    expect(requests.slice(0, 2).map(({ token }) => token === null)).toEqual([false, true]);
    expect(firstPages(requests)).toHaveLength(1);
    const [window] = await windowsOf(db);
    expect(window).toMatchObject({ state: 'drained' });
    expect(window!.records).toBe(servedBy(sandbox, one).length);
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });

  it("time and again, restarts twice, then fails with the service's words", async ({ db, sandbox }) => {
    const requests = watchRequests(sandbox, [
      { kind: 'refuse', times: 1e6, detail: 'Expired next_token', match: ({ token }) => token !== null },
    ]);
    const result = await runBackfill({ job: oneJob, db, sandbox });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
    expect(requests.map(({ token }) => token === null)).toEqual([true, false, true, false, true, false]);
    const [window] = await windowsOf(db);
    expect(window).toMatchObject({ last_error: expect.stringContaining('Expired next_token') });

    sandbox.script([]);
    expect((await runBackfill({ job: oneJob, db, sandbox })).outcome).toBe('done');
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });
});
