import { expect } from 'vitest';
import type { Page } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { exactTime } from '../../src/warehouse/exact-time.ts';
import { type Rescoring, rescorings } from '../../src/warehouse/questions/runs.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { type Sent, scoredBy } from '../support/scored-by.ts';
import { serving } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const it = serving({ volume: 0.5 });
const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive', page_size: 50 } });
const refresh = { fullRefresh: true, retryRefused: false };

async function found(db: Warehouse, of: Parameters<typeof rescorings>[0] = {}): Promise<Rescoring[]> {
  return (await rescorings(of).query.execute(db)).rows;
}

it('a load in which most headlines have other scores is a mass rescoring', async ({ db, sandbox }) => {
  const run = { job, db, sandbox };
  const first = await runBackfill({ ...run, aroundPage: scoredBy('3.1') });
  expect(await found(db)).toEqual([]);
  const second = await runBackfill({ ...run, plan: refresh, aroundPage: scoredBy('3.2') });
  expect(second.totals.rows_changed).toBe(first.totals.records);
  const days = await sqlIn(db)<Record<string, string>>`
    select ${exactTime('first')} as first_published_at, ${exactTime('last')} as last_published_at
    from (select min(published_at) as first, max(published_at) as last from gmsi.headlines) as published`;
  const rescored = {
    load_id: second.loadId,
    command: 'backfill',
    job: 'test',
    headlines: first.totals.records,
    known_headlines: first.totals.records,
    ...days[0],
    old_model_version: '3.1',
    new_model_version: '3.2',
  };
  expect(await found(db)).toMatchObject([rescored]);
  const reasons = await sqlIn(db)`
    select distinct reason, model_version from gmsi.headline_revisions`;
  expect(reasons).toEqual([{ reason: 'rescored', model_version: '3.1' }]);

  // It stays what it was when later loads replace the same headlines.
  const third = await runBackfill({ ...run, plan: refresh, aroundPage: scoredBy('3.3') });
  expect(await found(db)).toMatchObject([
    { ...rescored, load_id: third.loadId, old_model_version: '3.2', new_model_version: '3.3' },
    rescored,
  ]);
  // Of the days and jobs that are asked for.
  const september = { from: '2026-09-30', to: '2026-11-20' };
  expect(await found(db, { published: september, jobs: ['test'] })).toHaveLength(2);
  expect(await found(db, { published: { from: '2026-10-01', to: '2026-11-20' } })).toEqual([]);
  expect(await found(db, { published: { from: '2026-08-01', to: '2026-08-31' } })).toEqual([]);
  expect(await found(db, { jobs: ['another'] })).toEqual([]);
});

it('also without versions, and if the load was killed', async ({ db, sandbox }) => {
  const run = { job, db, sandbox };
  await runBackfill(run);
  const { loadId } = await runBackfill({
    ...run,
    plan: refresh,
    aroundPage: scoredBy(undefined, ({ id }) => /^[0-7]/.test(id)),
  });
  await sqlIn(db)`update gmsi.loads set finished_at = null, outcome = null where load_id = ${loadId}`;
  const [{ headlines, known_headlines, ...others }] = (await found(db)) as [Rescoring];
  expect(others).toMatchObject({ load_id: loadId, old_model_version: null, new_model_version: null });
  const rows = await sqlIn(db)`
    select count(*) filter (where load_id = ${loadId}) as headlines, count(*) as known_headlines
    from gmsi.headlines`;
  expect(rows).toEqual([{ headlines, known_headlines }]);
});

it.for([
  ['a few headlines got new scores', scoredBy('3.1', ({ id }) => /^[0-1]/.test(id))],
  ['only the version of the model is another', scoredBy('3.1', () => false)],
  [
    'texts are others, too',
    async (ask: () => Promise<Page>) => {
      const page = await scoredBy('3.1')(ask);
      return {
        ...page,
        records: page.records.map((record) => ({ ...(record as Sent), headline: 'another' })),
      };
    },
  ],
] as const)('it is none if %s', async ([, aroundPage], { db, sandbox }) => {
  await runBackfill({ job, db, sandbox });
  const { totals } = await runBackfill({ job, db, sandbox, plan: refresh, aroundPage });
  expect(totals.rows_changed).toBeGreaterThan(100);
  expect(await found(db)).toEqual([]);
});
