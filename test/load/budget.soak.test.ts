import { expect } from 'vitest';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-08-01', to: '2026-10-30' };
const service = { end_date: 'inclusive', page_size: 12, concurrency: 4 };

it('a request budget that ends lets requests under way come to their end however slow the service is', {
  timeout: 60_000,
}, async ({ db }) => {
  await using sandbox = await aSandbox({ volume: 0.3 });
  // Longer than a run that is stopped from outside waits; the other series lets it be asked for before the budget is spent.
  sandbox.script([
    { kind: 'latency', ms: 11_000, match: ({ path }) => path.endsWith('/DE') },
    { kind: 'latency', ms: 1_500, match: ({ path }) => path.endsWith('/US') },
  ]);
  // Two requests go to the lookups, one to the slow page, two to the other series.
  const job = aJobFor(scope, { budget: { requests_per_month: 5 }, service: { ...service, concurrency: 2 } });
  const result = await runBackfill({ job, db, sandbox });
  expect(result).toMatchObject({ outcome: 'budget', totals: { requests: 5, pages: 3 } });
  const germany = (await windowsOf(db)).find(({ country }) => country === 'DE');
  expect(germany).toMatchObject({ state: 'pending', pages: 1, records: 12 });

  const richer = aJobFor(scope, { service });
  expect((await runBackfill({ job: richer, db, sandbox })).outcome).toBe('done');
  expect(sandbox.stats().pagesServedTwice).toBe(0);
});
