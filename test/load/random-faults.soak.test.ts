import { expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };

it('all faults at random at once end in the exact truth', async ({ db }) => {
  const passing = { reset: 0.05, truncate: 0.05, html: 0.05, malformed: 0.05, 'server-error': 0.05 } as const;
  const paging = {
    ...{ 'repeat-token': 0.03, 'cycle-token': 0.03, 'missing-token': 0.03 },
    ...{ 'empty-page': 0.05, 'duplicate-record': 0.05 },
  } as const;
  const random = { ...passing, ...paging, hang: 0.02, refuse: 0.02, latency: 0 } as const;
  await using sandbox = await startSandbox({ limits: null, volume: 0.3, faults: { random, seed: 'one' } });
  // No faults for lookups: a lookup of unknown shape ends a run before it begins.
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
