import { expect } from 'vitest';
import type { Sandbox } from '#sandbox';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { repair } from '../../src/load/repair.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aProcess } from '../support/a-process.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { sending } from '../support/pages.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';

/*
 * For each kind of work: the reply to its n-th message is lost, for every n, after the server has executed it. Each time,
 * the work ends well, and leaves what it leaves without that.
 */

export const scope = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food'],
  from: '2026-09-01',
  to: '2026-09-06',
};
export const settings = {
  lookback: 'P0D',
  service: { end_date: 'inclusive', page_size: 25, concurrency: 1 },
};
const job = aJobFor(scope, settings);
const recent = { ...scope, from: '2026-11-18', to: '2026-11-20' };

interface Place {
  readonly warehouse: TestWarehouse;
  readonly sandbox: Sandbox;
}

interface Setting extends Place {
  /** By way of the proxy. */
  readonly db: Warehouse;
  readonly url: string;
}

export interface Kind {
  /** What it begins with: a migrated warehouse if not set. */
  readonly given?: () => Promise<TestWarehouse>;
  /** Done before, with no reply lost. */
  readonly before?: (setting: Place) => Promise<unknown>;
  readonly work: (setting: Setting) => Promise<unknown>;
  /** Loses only one in so many, of kinds that take long, and one in three where few are lost; `EVERY=1` loses all. */
  readonly oneIn?: number;
  /** What it leaves, beside what holds for every kind. */
  readonly after: (setting: Place) => Promise<unknown>;
  /** Versions that are replaced; 0 if not set. */
  readonly revisions?: 'some';
}

export async function isLoaded({ warehouse: { db }, sandbox }: Place): Promise<void> {
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  const days = '{[2026-09-01,2026-09-07)}';
  expect(await coverageOf(db)).toEqual({
    'NO Inflation-Food COMBINED': days,
    'US Inflation-Food COMBINED': days,
  });
  expect(sandbox.stats()).toMatchObject({ cursorReadsAtOnce: 1 });
}

export const load = ({ warehouse, sandbox }: Place) => runBackfill({ job, db: warehouse.db, sandbox });

/** The names that the service gives to fields that a repair is to read. */
const renamed = { publication_time: 'pubTime', topic_probability: 'tp' };

async function repaired(db: Warehouse, fields: Record<string, string[]>) {
  await using process = await aProcess(db);
  const about = { feed: feedNamed('gmsi-headlines'), scope: undefined, job: 'test', dryRun: false };
  const stop = new AbortController().signal;
  return await repair({ ...about, warehouse: db.patient({}), fields, process, batchSize: 40, stop });
}

/** Everything that writes rows. */
export const loads: Readonly<Record<string, Kind>> = {
  'a backfill': {
    oneIn: 2,
    async work({ db, sandbox }) {
      const rows = servedBy(sandbox, scope).length;
      const totals = { pages: expect.any(Number), records: rows, rows_inserted: rows };
      expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done', totals });
    },
    async after(setting) {
      await isLoaded(setting);
      const { pages, records, pagesServedTwice } = setting.sandbox.stats();
      expect(pagesServedTwice).toBe(0);
      const windows = await windowsOf(setting.warehouse.db);
      expect(windows).toMatchObject([1, 2].map(() => ({ state: 'drained' })));
      const sum = (name: 'pages' | 'records') => windows.reduce((all, window) => all + window[name], 0);
      expect([sum('pages'), sum('records')]).toEqual([pages, records]);
    },
  },
  'a refresh of which a row is gone and another one new': {
    oneIn: 2,
    async before(place) {
      await load(place);
      await sqlIn(place.warehouse.db)`
        update gmsi.headlines set headline_id = gen_random_uuid(), changed_at = now()
        where headline_id = (select headline_id from gmsi.headlines order by 1 limit 1)`;
    },
    work: async ({ db, sandbox }) =>
      expect(await runBackfill({ job, db, sandbox, plan: refresh })).toMatchObject({
        outcome: 'done',
        totals: { rows_inserted: 1, rows_changed: 0, rows_retracted: 1 },
      }),
    after: isLoaded,
    revisions: 'some',
  },
  'a refresh with corrected times': {
    oneIn: 2,
    before: load,
    async work({ db, sandbox, warehouse }) {
      const corrected = (time: string) => time.replace(/T\d\d:/, 'T07:');
      const aroundPage = sending((records) =>
        records.map((one) => ({ ...one, publication_time: corrected(one.publication_time) })),
      );
      const before = await countRows(warehouse.db, 'headlines');
      const { totals, outcome } = await runBackfill({ job, db, sandbox, plan: refresh, aroundPage });
      const moved = (await countRows(warehouse.db, 'headlines')) - before;
      expect(moved).toBeGreaterThan(12);
      const counted = { rows_inserted: moved, rows_changed: 0, rows_retracted: moved };
      expect({ outcome, ...totals }).toMatchObject({ outcome: 'done', ...counted });
      const reasons = await sqlIn(
        warehouse.db,
      )`select reason, count(*) from gmsi.headline_revisions group by 1`;
      expect(reasons).toEqual([{ reason: 'moved', count: moved }]);
    },
    after: async () => {},
    revisions: 'some',
  },
  'a sync': {
    async work({ db, sandbox, warehouse }) {
      const result = await runSync({ job: aJobFor(recent, { end_date: 'today' }), db, sandbox });
      expect(result).toMatchObject({ outcome: 'done', isElsewhere: false });
      expect(result.totals.rows_inserted).toBe(await countRows(warehouse.db, 'headlines'));
    },
    async after({ warehouse: { db }, sandbox }) {
      expect(await heldBy(db, recent)).toEqual(servedBy(sandbox, recent));
      expect(await sqlIn(db)`select from gmsi.schedules where process_id is not null`).toEqual([]);
    },
  },
  'an import': {
    async work({ db }) {
      await using folder = await aFolder();
      const path = await folder.write('many.ndjson', manyRecords(1500));
      const days = { from: '2024-01-01', to: '2024-01-01' };
      expect(await runImport(db, [path], { stated: statedOfMany, days })).toMatchObject({
        outcome: 'done',
        loaded: 1,
        covered: { days: 1 },
        loads: [{ totals: { records: 1500, rows_inserted: 1500 } }],
      });
    },
    async after({ warehouse: { db } }) {
      expect(await countRows(db, 'headlines')).toBe(1500);
      const files = await sqlIn(db)`select records, rows_inserted from gmsi.imported_files`;
      expect(files).toEqual([{ records: 1500, rows_inserted: 1500 }]);
      expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2024-01-01,2024-01-02)}' });
    },
  },
  'a repair of records, then of columns': {
    oneIn: 2,
    async before({ warehouse, sandbox }) {
      await using drifting = await aRewritingProxy(sandbox, renaming(renamed));
      await runBackfill({ job, db: warehouse.db, sandbox: drifting });
    },
    async work({ db, sandbox, warehouse }) {
      const rows = servedBy(sandbox, scope).length;
      const [records, columns] = [{ published_at: ['pubTime'] }, { topic_probability: ['tp'] }];
      expect(await repaired(db, records)).toMatchObject({ outcome: 'done', rows });
      expect(await repaired(db, columns)).toMatchObject({ outcome: 'done', rowsFilled: rows });
      const counted = await sqlIn(warehouse.db)`
        select records, rows_inserted, rows_changed from gmsi.loads where command = 'repair' order by 1, 2`;
      expect(counted).toEqual([
        { records: 0, rows_inserted: 0, rows_changed: rows },
        { records: rows, rows_inserted: rows, rows_changed: 0 },
      ]);
    },
    async after({ warehouse: { db }, sandbox }) {
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
      expect(await countRows(db, 'rejected_records')).toBe(0);
    },
    revisions: 'some',
  },
};

/** Does a kind of work with the reply to the `nth` such message lost. @returns false if it has fewer */
async function losing(nth: number, to: RegExp, kind: Kind): Promise<boolean> {
  await using warehouse = await (kind.given ?? aWarehouse)();
  await using sandbox = await aSandbox({ volume: 0.3 });
  await kind.before?.({ warehouse, sandbox });
  await using proxy = await aCuttingProxy(warehouse.url);
  await using db = connect({ kind: 'url', url: new Secret(proxy.url) }, 4);
  proxy.loseReplyTo(to, nth);
  await kind.work({ warehouse, sandbox, db, url: proxy.url });
  if (proxy.lost === 0) return false;
  await kind.after({ warehouse, sandbox });
  const unended = await sqlIn(warehouse.db)`select command from gmsi.loads where outcome is null`;
  expect(unended, 'a load without an end').toEqual([]);
  if (!kind.revisions) expect(await countRows(warehouse.db, 'headline_revisions')).toBe(0);
  return true;
}

/**
 * Loses the reply to each message of a kind of work in which `to` is found, and expects that it ends well each time.
 * @param atOnce how many at a time; most of it is waiting
 */
export async function loseEachReply(kind: Kind, atOnce: number, to?: RegExp): Promise<void> {
  const failures: string[] = [];
  const step = process.env.EVERY || !kind.oneIn ? 1 : to ? 3 : kind.oneIn;
  let lost = 0;
  let nth = 1;
  let isOver = false;
  async function work(): Promise<void> {
    while (!isOver && failures.length < 20) {
      const own = nth;
      nth += step;
      try {
        if (await losing(own, to ?? /^/, kind)) lost++;
        else isOver = true;
      } catch (error) {
        failures.push(`${own}: ${(error as Error).message.slice(0, 300)}`);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  expect(failures).toEqual([]);
  expect(lost).toBeGreaterThan(to ? 1 : 5);
}
