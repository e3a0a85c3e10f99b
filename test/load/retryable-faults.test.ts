import { describe, expect, it } from 'vitest';
import { type Fault, startSandbox } from '../../src/sandbox/index.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, {
  service: { end_date: 'inclusive', page_size: 12, body_timeout: 'PT0.2S', max_attempts: 4 },
});

const faults: Record<string, Fault> = {
  'a connection that is reset': { kind: 'reset' },
  'a body that is cut short': { kind: 'truncate' },
  'a body that stops half-way': { kind: 'hang' },
  "a gateway's page instead of JSON": { kind: 'html', status: 200 },
  "a gateway's 502": { kind: 'html', status: 502 },
  'JSON that is not the envelope': { kind: 'malformed' },
  'a 500': { kind: 'server-error', status: 500 },
  'a 503': { kind: 'server-error', status: 503 },
  'a 504': { kind: 'server-error', status: 504 },
  'a 429 that names seconds': { kind: 'rate-limited', retryAfter: 'seconds', seconds: 1 },
  'a 429 that names a date': { kind: 'rate-limited', retryAfter: 'date', seconds: 1 },
  'a 429 that names nothing': { kind: 'rate-limited', retryAfter: 'none' },
};

describe('a fault that passes', () => {
  it.each(Object.entries(faults))('%s: is retried, and nothing is lost or doubled', async (_, fault) => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, volume: 0.3 });
    const { db } = warehouse;
    sandbox.script([
      { ...fault, match: ({ path, token }) => path.endsWith('/US') && token === null },
      { ...fault, match: ({ token }) => token !== null },
    ]);
    const result = await runBackfill({ job, db, sandbox });
    expect(result.outcome).toBe('done');
    expect(sandbox.stats().faults[fault.kind]).toBe(2);
    expect(result.totals.pages).toBe(sandbox.stats().pages);
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('but outlasts all tries fails its window with the reason, and a rerun goes on from its page', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, volume: 0.3 });
    const { db } = warehouse;
    sandbox.script([
      {
        kind: 'server-error',
        status: 503,
        times: 4,
        match: ({ path, token }) => path.endsWith('/US') && token !== null,
      },
    ]);
    const first = await runBackfill({ job, db, sandbox });
    expect(first).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, drained: 1 } });
    const failed = (await windowsOf(db)).find(({ state }) => state === 'failed')!;
    expect(failed.last_error).toMatch(/503.*given up after 4 tries/);
    expect(failed.pages).toBe(1);

    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('all faults at random at once', () => {
  it.each(['one', 'two'])('(seed %s) end in the exact truth', async (seed) => {
    await using warehouse = await aWarehouse();
    const passing = {
      reset: 0.05,
      truncate: 0.05,
      html: 0.05,
      malformed: 0.05,
      'server-error': 0.05,
    } as const;
    const paging = {
      ...{ 'repeat-token': 0.03, 'cycle-token': 0.03, 'missing-token': 0.03 },
      ...{ 'empty-page': 0.05, 'duplicate-record': 0.05 },
    } as const;
    const random = { ...passing, ...paging, hang: 0.02, refuse: 0.02, latency: 0 } as const;
    await using sandbox = await startSandbox({ limits: null, volume: 0.3, faults: { random, seed } });
    const { db } = warehouse;
    // The lookups are spared: a shape of theirs that nobody knows ends a run before it begins.
    sandbox.script([{ kind: 'latency', ms: 0, times: 1e6, match: ({ path }) => !path.includes('/feed/') }]);
    const small = aJobFor(scope, {
      ...{ step: 'P10D' },
      service: { end_date: 'inclusive', page_size: 8, body_timeout: 'PT0.1S', max_attempts: 4 },
    });
    const outcomes: string[] = [];
    let pages = 0;
    while (outcomes.at(-1) !== 'done' && outcomes.length < 25) {
      const result = await runBackfill({ job: small, db, sandbox });
      outcomes.push(result.outcome);
      pages += result.totals.pages;
    }
    expect(outcomes.at(-1)).toBe('done');
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    const stats = sandbox.stats();
    expect(stats.cursorReadsAtOnce).toBe(1);
    expect(Object.keys(stats.faults).length).toBeGreaterThan(8);
    // A page with a broken token is given up and asked for again; every other page was committed when it came.
    const {
      'repeat-token': repeated = 0,
      'cycle-token': cycled = 0,
      'missing-token': missing = 0,
    } = stats.faults;
    expect(stats.pages - pages).toBeLessThanOrEqual(repeated + cycled + missing);
  });
});
