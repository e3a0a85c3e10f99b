import { describe, expect } from 'vitest';
import { sending } from '../support/pages.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-20' };
const before = '2026-09-21T00:00:00Z';
const after = '2026-10-20T00:00:00Z';
const refresh = { fullRefresh: true, retryRefused: false };
/** Exactly the days of the scope, so that rows can be counted. */
const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive' } });

const it = serving({ clock: () => new Date(before), volume: 0.5 });

describe('a page that has a record twice', () => {
  /** Every fifth record again, behind the others and changed so. */
  const twice = (change: (record: object) => object) =>
    sending((records) => [...records, ...records.filter((_, index) => index % 5 === 0).map(change)]);

  it.for([
    ['gmsi-headlines', 'headline_revisions', { directional_positive: 0.123 }],
    ['gmsi-index', 'revisions', { sentiment_sum: 0.123 }],
  ] as const)('of %s, with other content, is two versions', async ([feed, table, other], { db, sandbox }) => {
    const run = {
      job: aJobFor(scope, { feed, lookback: 'P0D', service: { end_date: 'inclusive' } }),
      db,
      sandbox,
      clock: () => new Date(before),
      plan: refresh,
      aroundPage: twice((record) => ({ ...record, ...other })),
    };
    const { totals } = await runBackfill(run);
    expect(totals.rows_changed).toBeGreaterThan(10);
    expect(totals.rows_inserted + totals.rows_changed).toBe(totals.records);
    expect(await countRows(db, table)).toBe(totals.rows_changed);
    expect((await runBackfill(run)).totals).toMatchObject({
      rows_inserted: 0,
      rows_changed: 0,
      rows_retracted: 0,
    });
    expect(await countRows(db, table)).toBe(totals.rows_changed);
  });

  it('with its keys in another order is as if it had it once', async ({ db, sandbox }) => {
    const aroundPage = twice((record) => Object.fromEntries(Object.entries(record).reverse()));
    await runBackfill({ job, db, sandbox, clock: () => new Date(before), aroundPage });
    expect(await countRows(db, 'headline_revisions')).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('a headline that the service revises', () => {
  it('has its old version kept, known until the moment at which the new one was', async ({ db }) => {
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
    // What did not change was not touched.
    const touched = await sqlIn(db)`
      table gmsi.headlines except table public.old`;
    expect(touched).toHaveLength(changed);
  });
});
