import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { repair } from '../../src/load/repair.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { COUNTRIES } from '../../src/sandbox/world/countries.ts';
import { TOPICS } from '../../src/sandbox/world/topics.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { migrationStatus } from '../../src/warehouse/migrate.ts';
import { schemaDrift } from '../../src/warehouse/schema-objects.ts';
import { readLookups } from '../../src/warehouse/tables/lookups.ts';
import { aFolder as aCommandFolder, accessTo, type Ended } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aProcess } from '../support/a-process.ts';
import { aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { aCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, runBackfill, runSync, usualClock } from '../support/run-backfill.ts';
import { anEmptyDatabase, aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf } from '../support/warehouse-state.ts';

/*
 * For each kind of work: the reply to its n-th message is lost, for every n, after the server has executed it. Each time, the work
 * ends well, and leaves what it leaves without that.
 */

const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-06' };
const settings = { lookback: 'P0D', service: { end_date: 'inclusive', page_size: 25, concurrency: 1 } };
const job = aJobFor(scope, settings);
const workerJob = jobFor(scope, { ...settings, schedule: { backfill: '0 1 * * *' } });
const recent = { ...scope, from: '2026-11-18', to: '2026-11-20' };

interface Setting {
  readonly warehouse: TestWarehouse;
  readonly sandbox: Sandbox;
  /** By way of the proxy. */
  readonly db: Warehouse;
  readonly url: string;
}

interface Kind {
  /** What it begins with: a migrated warehouse if not set. */
  readonly given?: () => Promise<TestWarehouse>;
  /** Done before, with no reply lost. */
  readonly before?: (setting: Omit<Setting, 'db' | 'url'>) => Promise<unknown>;
  readonly work: (setting: Setting) => Promise<unknown>;
  /** Loses only one in so many, of kinds that take long; `EVERY=1` loses all. */
  readonly oneIn?: number;
  /** What it leaves, beside what holds for every kind. */
  readonly after: (setting: Omit<Setting, 'db' | 'url'>) => Promise<void>;
}

async function isLoaded({ warehouse, sandbox }: Omit<Setting, 'db' | 'url'>): Promise<void> {
  expect(await heldBy(warehouse.db, scope)).toEqual(servedBy(sandbox, scope));
  const days = '{[2026-09-01,2026-09-07)}';
  expect(await coverageOf(warehouse.db)).toEqual({
    'NO Inflation-Food COMBINED': days,
    'US Inflation-Food COMBINED': days,
  });
  expect(sandbox.stats()).toMatchObject({ cursorReadsAtOnce: 1 });
}

/** Runs a command in a folder with the job, by way of the proxy. */
async function command(args: readonly string[], { url, sandbox }: Setting): Promise<Ended> {
  await using folder = await aCommandFolder();
  await folder.write('jobs/small.yaml', jobFor(scope, { ...settings }));
  const env = { ...accessTo({ url } as TestWarehouse, sandbox) };
  const ended = await gmsiHere([...args], { cwd: folder.path, env });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended;
}

const load = ({ warehouse, sandbox }: Omit<Setting, 'db' | 'url'>) =>
  runBackfill({ job, db: warehouse.db, sandbox });

const kinds: Readonly<Record<string, Kind>> = {
  'a backfill': {
    oneIn: 2,
    work: async ({ db, sandbox }) =>
      expect(await runBackfill({ job, db, sandbox })).toMatchObject({
        outcome: 'done',
        totals: { rows_inserted: servedBy(sandbox, scope).length },
      }),
    async after(setting) {
      await isLoaded(setting);
      expect(setting.sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
    },
  },
  'a refresh': {
    oneIn: 2,
    before: load,
    work: async ({ db, sandbox }) =>
      expect(
        await runBackfill({ job, db, sandbox, plan: { fullRefresh: true, retryRefused: false } }),
      ).toMatchObject({ outcome: 'done', totals: { rows_inserted: 0, rows_changed: 0, rows_retracted: 0 } }),
    after: isLoaded,
  },
  'a sync': {
    work: async ({ db, sandbox }) =>
      expect(await runSync({ job: aJobFor(recent, { end_date: 'today' }), db, sandbox })).toMatchObject({
        outcome: 'done',
        isElsewhere: false,
      }),
    async after({ warehouse, sandbox }) {
      expect(await heldBy(warehouse.db, recent)).toEqual(servedBy(sandbox, recent));
      const owned = sql`select from gmsi.schedules where process_id is not null`;
      expect((await owned.execute(warehouse.db)).rows).toEqual([]);
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
    async after({ warehouse }) {
      expect(await countRows(warehouse.db, 'headlines')).toBe(1500);
      expect(await coverageOf(warehouse.db)).toEqual({
        'US Inflation-Food COMBINED': '{[2024-01-01,2024-01-02)}',
      });
    },
  },
  'a repair': {
    oneIn: 2,
    async before({ warehouse, sandbox }) {
      await using renamed = await aRewritingProxy(sandbox, renaming({ publication_time: 'pubTime' }));
      await runBackfill({ job, db: warehouse.db, sandbox: renamed });
    },
    async work({ db, sandbox }) {
      await using process = await aProcess(db);
      expect(
        await repair({
          warehouse: db.patient({}),
          feed: feedNamed('gmsi-headlines'),
          fields: { published_at: ['pubTime'] },
          scope: undefined,
          job: 'test',
          dryRun: false,
          process,
          batchSize: 40,
          stop: new AbortController().signal,
        }),
      ).toMatchObject({ outcome: 'done', rows: servedBy(sandbox, scope).length });
    },
    async after({ warehouse, sandbox }) {
      expect(await heldBy(warehouse.db, scope)).toEqual(servedBy(sandbox, scope));
      expect(await countRows(warehouse.db, 'rejected_records')).toBe(0);
    },
  },
  'gmsi snapshot': {
    work: (setting) => command(['snapshot', 'paper'], setting),
    after: async ({ warehouse }) => expect(await countRows(warehouse.db, 'moments')).toBe(1),
  },
  'gmsi check': {
    before: load,
    work: (setting) =>
      command(['check', 'small', '--only', 'gaps', '--only', 'duplicates', '--json'], setting),
    after: async ({ warehouse }) => expect(await countRows(warehouse.db, 'check_results')).toBe(2),
  },
  'gmsi export': {
    oneIn: 2,
    before: load,
    async work(setting) {
      await using folder = await aFolder();
      await command(['export', 'small', '--format', 'csv', '--out', join(folder.path, 'out')], setting);
    },
    after: isLoaded,
  },
  'gmsi plan': {
    before: load,
    work: (setting) => command(['plan', 'small', '--json'], setting),
    after: isLoaded,
  },
  'gmsi lookups': {
    work: (setting) => command(['lookups'], setting),
    async after({ warehouse, sandbox }) {
      const { countries, topics } = await readLookups(warehouse.db);
      expect([countries.length, topics.length]).toEqual([COUNTRIES.length, TOPICS.length]);
      const { rows } = await sql<{ requests: number }>`select requests from gmsi.api_usage`.execute(
        warehouse.db,
      );
      // A booking that is repeated counts twice: the budget is spent too early rather than passed.
      expect(rows[0]!.requests - sandbox.stats().requests).toBeOneOf([0, 1]);
    },
  },
  'gmsi migrate': {
    oneIn: 6,
    given: anEmptyDatabase,
    work: async (setting) => {
      const missing = await migrationStatus(setting.warehouse.db);
      const { stdout } = await command(['migrate', '--json'], setting);
      expect(JSON.parse(stdout).applied).toEqual(missing.map(({ name }) => name));
    },
    async after({ warehouse }) {
      const status = await migrationStatus(warehouse.db);
      expect(status.map(({ applied, checksum }) => applied === checksum)).not.toContain(false);
      expect(await countRows(warehouse.db, 'kysely_migration')).toBe(status.length);
      expect((await schemaDrift(warehouse.db)).gone).toEqual([]);
    },
  },
  'a worker': {
    oneIn: 6,
    before: ({ warehouse }) => registered(warehouse.db, 'small', workerJob, new Date('2026-11-19T20:00:00Z')),
    async work({ warehouse, db, sandbox, url }) {
      await using worker = aWorker({ warehouse: { db, url }, sandbox });
      expect(await loadsEnded(warehouse.db)).toMatchObject([{ job: 'small', outcome: 'done' }]);
      await worker.stop();
    },
    async after(setting) {
      await isLoaded(setting);
      expect(setting.sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
      const { rows } =
        await sql`select job from gmsi.schedules where process_id is not null or due_at is not null`.execute(
          setting.warehouse.db,
        );
      expect(rows).toEqual([]);
      expect(await countRows(setting.warehouse.db, 'processes')).toBe(1);
    },
  },
};

/** Does a kind of work on a warehouse of its own, with the reply to the `nth` message lost. @returns false if it has fewer */
async function losing(nth: number, { given = aWarehouse, before, work, after }: Kind): Promise<boolean> {
  await using warehouse = await given();
  await using sandbox = await startSandbox({ limits: null, volume: 0.3, clock: usualClock });
  await before?.({ warehouse, sandbox });
  await using proxy: CuttingProxy = await aCuttingProxy(warehouse.url);
  await using db = connect({ kind: 'url', url: new Secret(proxy.url) }, 4);
  proxy.loseReplyTo(/^/, nth);
  await work({ warehouse, sandbox, db, url: proxy.url });
  if (proxy.lost === 0) return false;
  await after({ warehouse, sandbox });
  const { rows: unended } = await sql`select command from gmsi.loads where outcome is null`.execute(
    warehouse.db,
  );
  expect(unended, 'a load without an end').toEqual([]);
  expect(await countRows(warehouse.db, 'headline_revisions')).toBe(0);
  return true;
}

describe('the reply to any message can be lost', { timeout: 900_000 }, () => {
  it.each(Object.entries(kinds))('%s', async (name, kind) => {
    const failures: string[] = [];
    let lost = 0;
    let nth = 1;
    let isOver = false;
    async function work(): Promise<void> {
      while (!isOver && failures.length < 20) {
        const own = nth;
        nth += process.env.EVERY ? 1 : (kind.oneIn ?? 1);
        try {
          if (await losing(own, kind)) lost++;
          else isOver = true;
        } catch (error) {
          failures.push(`${own}: ${(error as Error).message.slice(0, 300)}`);
        }
      }
    }
    // Most of the time is waiting. A command has this process to itself.
    await Promise.all(Array.from({ length: name.startsWith('gmsi') ? 1 : 6 }, work));
    expect(failures).toEqual([]);
    expect(lost).toBeGreaterThan(5);
  });
});
