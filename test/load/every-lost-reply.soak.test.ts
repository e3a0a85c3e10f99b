import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { repair } from '../../src/load/repair.ts';
import { jobFor } from '../cli/jobs.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aProcess } from '../support/a-process.ts';
import { aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn } from '../support/warehouse-state.ts';
import { isLoaded, job, type Kind, load, loseEachReply, scope, settings } from './losing-replies.ts';

const workerJob = jobFor(scope, { ...settings, schedule: { backfill: '0 1 * * *' } });
const recent = { ...scope, from: '2026-11-18', to: '2026-11-20' };

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
      const rows = await sqlIn(
        setting.warehouse.db,
      )`select job from gmsi.schedules where process_id is not null or due_at is not null`;
      expect(rows).toEqual([]);
      expect(await countRows(setting.warehouse.db, 'processes')).toBe(1);
    },
  },
};

it.each(Object.entries(kinds))('%s may lose any reply', { timeout: 900_000 }, (_, kind) =>
  loseEachReply(kind, 6),
);
