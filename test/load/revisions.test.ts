import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { type Rescoring, rescorings } from '../../src/questions/runs.ts';
import type { Page } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { exactTime } from '../../src/warehouse/exact-time.ts';
import { sqlMarked } from '../docs/pages.ts';
import { aJobFor, refresh, runBackfill } from '../support/run-backfill.ts';
import { type Sent, scoredBy } from '../support/scored-by.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-20' };
const before = '2026-09-21T00:00:00Z';
const after = '2026-10-20T00:00:00Z';
/** Exactly the days of the scope, so that rows can be counted. */
const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive' } });

const it = serving({ clock: () => new Date(before), volume: 0.5 });

it('a revised headline has its old version kept, known until the new one was', async ({ db }) => {
  let now = new Date(before);
  const clock = () => now;
  await using sandbox = await aSandbox({ clock, volume: 0.5, changes: { revised: 0.4 } });
  await runBackfill({ job, db, sandbox, clock });
  expect(await countRows(db, 'headline_revisions')).toBe(0);
  await sqlIn(db)`create table public.old as select * from gmsi.headlines`;

  now = new Date(after);
  const second = await runBackfill({ job, db, sandbox, clock, plan: refresh });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const rows = await sqlIn(db)<Record<string, unknown>>`
      select case when h.headline = old.headline then 'rescored' else 'text changed' end as what,
             r.reason, h.load_id, count(*) as changed,
             bool_and((r.headline, r.directional_positive, r.load_id) = (old.headline, old.directional_positive, 1)) as is_old,
             bool_and(r.known_from = old.changed_at and r.known_to = h.changed_at) as follow_each_other,
             bool_and(h.first_seen_at = old.first_seen_at and r.first_seen_at = old.first_seen_at) as are_one,
             bool_and(h.is_backfilled and r.is_backfilled) as are_backfilled
      from gmsi.headlines h join public.old using (headline_id) left join gmsi.headline_revisions r using (headline_id)
      where (h.headline, h.directional_positive) is distinct from (old.headline, old.directional_positive)
      group by 1, 2, 3 order by 1`;
  const isSo = { is_old: true, follow_each_other: true, are_one: true, are_backfilled: true };
  expect(rows).toMatchObject(
    ['rescored', 'text changed'].map((what) => ({ what, reason: what, load_id: second.loadId, ...isSo })),
  );
  const changed = rows.reduce((all, row) => all + Number(row.changed), 0);
  expect(changed).toBeGreaterThan(20);
  expect(second.totals).toMatchObject({ rows_inserted: 0, rows_changed: changed });
  expect(await countRows(db, 'headline_revisions')).toBe(changed);
  const touched = await sqlIn(db)`
      table gmsi.headlines except table public.old`;
  expect(touched).toHaveLength(changed);
});

describe('a mass rescoring', () => {
  const it = serving({ volume: 0.5 });
  const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
  const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive', page_size: 50 } });

  async function found(db: Warehouse, of: Parameters<typeof rescorings>[0] = {}): Promise<Rescoring[]> {
    return (await rescorings(of).query.execute(db)).rows;
  }

  const rounded = ({ day, headlines, mean }: { day: string; headlines: number; mean: number }) =>
    [day, headlines, mean.toFixed(9)].join(' ');

  /** The days of the US as they are now. */
  async function daysNow(db: Warehouse) {
    const days = await sqlIn(db)<Parameters<typeof rounded>[0]>`
      select day, directional_count as headlines, directional_mean as mean from gmsi.sentiment_by_day where country = 'US' order by day`;
    return days.map(rounded);
  }

  /** The same of one version of the model, by the query of docs/analysis.md. */
  async function daysOf(db: Warehouse, version: string) {
    const printed = sqlMarked('find-model-version')
      .replace('2025-12-01', '2026-09-01')
      .replace('2026-01-01', '2026-10-01');
    const { rows } = await sql
      .raw<Parameters<typeof rounded>[0]>(printed.replace("'3.1'", `'${version}'`))
      .execute(db);
    return rows.map(rounded);
  }

  it('a load in which most headlines have other scores is a mass rescoring', async ({ db, sandbox }) => {
    const run = { job, db, sandbox };
    const first = await runBackfill({ ...run, aroundPage: scoredBy('3.1') });
    expect(await found(db)).toEqual([]);
    const firstDays = await daysNow(db);
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

    // By the query of docs/analysis.md, each version of the model has the days that it had when it was the last one.
    expect(await daysOf(db, '3.1')).toEqual(firstDays);
    expect(await daysOf(db, '3.2')).toEqual(await daysNow(db));
    expect(await daysNow(db)).not.toEqual(firstDays);

    // It stays what it was when later loads replace the same headlines.
    const third = await runBackfill({ ...run, plan: refresh, aroundPage: scoredBy('3.3') });
    expect(await found(db)).toMatchObject([
      { ...rescored, load_id: third.loadId, old_model_version: '3.2', new_model_version: '3.3' },
      rescored,
    ]);
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
});
