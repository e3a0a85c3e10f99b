import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, type BackfillSetting, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-20' };
const before = '2026-09-21T00:00:00Z';
const after = '2026-10-20T00:00:00Z';
const refresh = { fullRefresh: true, retryRefused: false };
/** Exactly the days of the scope, so that rows can be counted. */
const job = aJobFor(scope, { lookback: 'P0D', service: { end_date: 'inclusive' } });

interface Version {
  readonly headline_id: string;
  readonly headline: string;
  readonly directional_positive: number;
  readonly first_seen_at: Date;
  readonly changed_at: Date;
  readonly known_from: string;
  readonly known_to: string;
  readonly load_id: number;
  readonly reason: string;
  readonly is_backfilled: boolean;
}

const it = serving({ limits: null, clock: () => new Date(before), volume: 0.5 });

describe('a page that has a record twice', () => {
  /** Every fifth record again, behind the others and changed so. */
  const twice =
    (change: (record: Record<string, unknown>) => object): NonNullable<BackfillSetting['aroundPage']> =>
    async (ask) => {
      const page = await ask();
      const records = [...page.records] as Record<string, unknown>[];
      const again = records.filter((_, index) => index % 5 === 0).map(change);
      return { ...page, records: [...records, ...again] };
    };

  it.for([
    ['gmsi-headlines', 'headline_revisions', { directional_positive: 0.123 }],
    ['gmsi-index', 'revisions', { sentiment_sum: 0.123 }],
  ] as const)(
    'of %s, with other content, keeps both as versions, once',
    async ([feed, table, other], { db, sandbox }) => {
      const run = {
        ...{
          job: aJobFor(scope, { feed, lookback: 'P0D', service: { end_date: 'inclusive' } }),
          db,
          sandbox,
        },
        ...{ clock: () => new Date(before), plan: refresh },
        aroundPage: twice((record) => ({ ...record, ...other })),
      };
      const { totals } = await runBackfill(run);
      expect(totals.rows_changed).toBeGreaterThan(10);
      expect(totals.rows_inserted + totals.rows_changed).toBe(totals.records);
      expect(await countRows(db, table)).toBe(totals.rows_changed);
      expect((await runBackfill(run)).totals).toMatchObject({
        ...{ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 },
      });
      expect(await countRows(db, table)).toBe(totals.rows_changed);
    },
  );

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
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.5, changes: { revised: 0.4 } });
    await runBackfill({ job, db, sandbox, clock });
    const old = new Map((await headlines(db)).map((row) => [row.headline_id, row]));
    expect(await countRows(db, 'headline_revisions')).toBe(0);

    now = new Date(after);
    const second = await runBackfill({ job, db, sandbox, clock, plan: refresh });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    const current = await headlines(db);
    const changed = current.filter((row) => !isSame(row, old.get(row.headline_id)!));
    expect(changed.length).toBeGreaterThan(20);
    expect(second.totals).toMatchObject({ rows_inserted: 0, rows_changed: changed.length });

    const revisions = new Map((await versions(db)).map((row) => [row.headline_id, row]));
    expect(new Set(revisions.keys())).toEqual(new Set(changed.map(({ headline_id }) => headline_id)));
    for (const row of changed) {
      const was = old.get(row.headline_id)!;
      const revision = revisions.get(row.headline_id)!;
      expect(isSame(revision, was)).toBe(true);
      expect(revision).toMatchObject({
        ...{ known_from: was.known_from, known_to: row.known_from },
        ...{ first_seen_at: was.first_seen_at, is_backfilled: true, load_id: 1 },
        reason: row.headline === was.headline ? 'rescored' : 'text changed',
      });
      expect(row).toMatchObject({
        ...{ first_seen_at: was.first_seen_at, is_backfilled: true, load_id: second.loadId },
      });
    }
    expect(new Set([...revisions.values()].map(({ reason }) => reason))).toEqual(
      new Set(['rescored', 'text changed']),
    );
    // What did not change was not touched.
    const same = current.filter((row) => isSame(row, old.get(row.headline_id)!));
    expect(same).toEqual(same.map(({ headline_id }) => old.get(headline_id)));
  });

  it('back and forth has versions that follow each other without a gap', async ({ db }) => {
    let now = new Date(before);
    const clock = () => now;
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3, changes: { revised: 1 } });
    for (const instant of [before, after, before, after]) {
      now = new Date(instant);
      await runBackfill({ job, db, sandbox, clock, plan: refresh });
    }
    const { rows } = await sql<{ headline_id: string; spans: string; versions: number; kept: number }>`
      select h.headline_id, count(*) as kept, range_agg(tstzrange(known_from, known_to))
               = tstzmultirange(tstzrange(h.first_seen_at, h.changed_at)) as spans,
             sum(known_to - known_from) = h.changed_at - h.first_seen_at as versions
      from gmsi.headlines h join gmsi.headline_revisions r using (country, topic, match_type, published_at, headline_id)
      group by h.headline_id, h.first_seen_at, h.changed_at
    `.execute(db);
    expect(rows.length).toBeGreaterThan(20);
    for (const row of rows) expect(row).toMatchObject({ spans: true, versions: true });
    expect(new Set(rows.map(({ kept }) => kept))).toContain(3);
  });
});

async function headlines(db: Warehouse): Promise<Version[]> {
  const { rows } = await sql<Version>`
    select headline_id, headline, directional_positive, first_seen_at, changed_at, changed_at::text as known_from,
           load_id, is_backfilled
    from gmsi.headlines order by headline_id
  `.execute(db);
  return rows;
}

async function versions(db: Warehouse): Promise<Version[]> {
  const { rows } = await sql<Version>`
    select headline_id, headline, directional_positive, first_seen_at, known_from::text, known_to::text, load_id,
           reason, is_backfilled
    from gmsi.headline_revisions
  `.execute(db);
  return rows;
}

function isSame(a: Version, b: Version): boolean {
  return a.headline === b.headline && a.directional_positive === b.directional_positive;
}
