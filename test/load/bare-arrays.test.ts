import { expect } from 'vitest';
import { aJobOf } from '../feeds/cases.ts';
import { aRewritingProxy } from '../support/rewriting-proxy.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-10' };
const refresh = { fullRefresh: true, retryRefused: false };

/** A page's records without their envelope. */
const withoutEnvelope = ({ data }: { data: unknown }) => data;

const it = serving({ volume: 0.3 });

it('reads bare arrays that are shorter than the page asked for', async ({ db, sandbox }) => {
  await using bare = await aRewritingProxy(sandbox, withoutEnvelope);
  const job = aJobFor(scope, { service: { end_date: 'inclusive' } });
  expect(await runBackfill({ job, db, sandbox: bare })).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-09-01,2026-09-11)}' });
});

it('covers no window whose bare array is as long as the page asked for', async ({ db, sandbox }) => {
  await using bare = await aRewritingProxy(sandbox, withoutEnvelope);
  const all = servedBy(sandbox, scope).length;
  const asking = (page_size: number) => aJobFor(scope, { service: { end_date: 'inclusive', page_size } });

  const cut = await runBackfill({ job: asking(all), db, sandbox: bare });
  expect(cut).toMatchObject({ outcome: 'incomplete', totals: { requests: expect.any(Number), records: 0 } });
  expect(await windowsOf(db)).toMatchObject([
    { state: 'failed', last_error: expect.stringContaining(`a bare array of ${all} records`) },
  ]);
  expect(await coverageOf(db)).toEqual({});

  const whole = await runBackfill({ job: asking(all + 1), db, sandbox: bare });
  expect(whole.outcome).toBe('done');
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('reads a live feed that answers with an envelope', async ({ db }) => {
  await using sandbox = await aSandbox({ liveEnvelope: true });
  const today = { ...scope, from: '2026-11-18', to: '2026-11-20' };
  const job = aJobFor(today, { end_date: 'today' });
  const result = await runSync({ job, db, sandbox });
  expect(result).toMatchObject({ outcome: 'done', live: { series: 1, failed: 0 } });
  expect(result.live.records).toBeGreaterThan(0);
  expect(await heldBy(db, today)).toEqual(servedBy(sandbox, today));
  expect(await runBackfill({ job, db, sandbox, plan: refresh })).toMatchObject({
    totals: { rows_inserted: 0, rows_changed: 0 },
  });
});

it.for([
  [undefined, 'true'],
  [{ sparse: false }, 'false'],
])(
  'asks a live ticker index for sparse hours unless the job (%o) does not',
  async ([parameters, sparse], { db }) => {
    await using sandbox = await aSandbox();
    const asked: (string | undefined)[] = [];
    const result = await runSync({
      job: aJobOf('ticker-index', { parameters, start_date: '2026-11-18', end_date: 'today' }),
      db,
      sandbox,
      aroundPage(ask, { isLive, query }) {
        if (isLive) asked.push(query.sparse);
        return ask();
      },
    });
    expect(result).toMatchObject({ outcome: 'done' });
    expect(new Set(asked)).toEqual(new Set([sparse]));
  },
);
