import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { jobFromDefinition } from '../../src/config/read-job.ts';
import { manifestName } from '../../src/export/manifest.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { raiseAlert } from '../../src/warehouse/tables/alerts.ts';
import { addTasks, isQueued } from '../../src/warehouse/tables/queue.ts';
import { claim } from '../../src/warehouse/turns.ts';
import { exportJob } from '../../src/worker/export.ts';
import { exportTask } from '../../src/worker/queue.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { difference, none, rowsIn, rowsOfTable } from '../export/exporting.ts';
import { aStorage, bucket, download, envFor, type Storage } from '../support/a-storage.ts';
import {
  aWarehouseWithQueue,
  aWorker,
  aWorkerContext,
  registered,
  told,
  type WorkerInTest,
} from '../support/a-worker.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';

const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'] };
/** Of the job's period: its last window may bring a day more. */
const rows = `(select * from gmsi.headlines where published_at < '2024-04-01Z')`;
const days = `(select * from gmsi.sentiment_daily where day < '2024-04-01')`;
const schedule = { backfill: '0 * * * *' };
const lastNight = new Date('2026-11-19T20:00:00Z');

let sandbox: Sandbox;
let storage: Storage;
let warehouse: TestWarehouse;
let folder: Folder;
const kept: Record<string, string | undefined> = {};

beforeAll(async () => {
  sandbox = await startSandbox({ limits: null, volume: 0.1 });
  storage = await aStorage();
  warehouse = await aWarehouseWithQueue();
  folder = await aFolder();
  for (const [name, value] of Object.entries(envFor(storage.endpoint))) {
    kept[name] = process.env[name];
    process.env[name] = value;
  }
});
afterAll(async () => {
  for (const [name, value] of Object.entries(kept)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await folder[Symbol.asyncDispose]();
  await warehouse[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
  await sandbox.stop();
});

/** Of a worker that has the files of these jobs. */
function settingNow(definitions: Readonly<Record<string, object>> = {}) {
  const today = Temporal.PlainDate.from('2026-11-20');
  const ownJobs = new Map(
    Object.entries(definitions).map(([name, one]) => [name, jobFromDefinition(name, { ...one }, today)]),
  );
  return { warehouse, sandbox, ownJobs, storage: { endpoint: storage.endpoint, region: undefined } };
}

/** Waits until the worker has made this many exports. */
async function exported(worker: WorkerInTest, times: number): Promise<void> {
  await vi.waitFor(
    () => {
      const ended = worker.events.filter(
        (event) => event.type === 'task finished' && event.task === 'gmsi.export',
      );
      expect(ended.length).toBeGreaterThanOrEqual(times);
    },
    { timeout: 30_000, interval: 20 },
  );
}

/** What a reader of the bucket finds. */
async function held(prefix: string) {
  const path = join(folder.path, `held ${prefix} ${Math.random()}`);
  await mkdir(path);
  const paths = await download(storage, prefix, path);
  return { path, paths };
}

it('exports a job after each of its runs, to every place that it names', async () => {
  const { db } = warehouse;
  const daily = join(folder.path, 'daily');
  const exports = [{ to: `s3://${bucket}/g7` }, { to: daily, format: 'csv', rollup: 'daily' }];
  const g7 = jobFor(scope, { schedule, exports });
  await registered(db, 'g7', g7, lastNight);
  await using worker = aWorker(settingNow({ g7 }));
  await told(worker, 'run finished');
  await exported(worker, 1);
  const manifest = { format: 'parquet', columns: {}, partitioned_by: ['month'] } as never;
  const expectWhole = async () => {
    const { path, paths } = await held('g7');
    expect(paths).toContain(manifestName);
    expect(difference(await rowsIn(path, manifest), await rowsOfTable(db, rows))).toEqual(none);
  };
  await expectWhole();
  const types = { day: 'DATE', headline_count: 'INTEGER', sentiment_sum: 'DOUBLE', month: 'VARCHAR' };
  const ofDays = { format: 'csv', columns: types, partitioned_by: ['month'] } as never;
  expect((await rowsIn(daily, ofDays)).length).toBe((await rowsOfTable(db, days)).length);

  await sql`update gmsi.headlines set semantic_score = 0.25, changed_at = now() where published_at < '2024-02-01Z'`.execute(
    db,
  );
  await addTasks(db, [exportTask('g7')]);
  await exported(worker, 2);
  await expectWhole();
});

it('reports an export that fails, which the run does not mind, and makes it good by the next one', async () => {
  const { db } = warehouse;
  const well = join(folder.path, 'well');
  const job = (place: string) => jobFor(scope, { exports: [{ to: `s3://${place}/failing` }, { to: well }] });
  const context = aWorkerContext(settingNow({ failing: job('nowhere') }));
  const alerts = async () => {
    const { rows } = await sql<object>`
      select kind, message, resolved_at is not null as is_over from gmsi.alerts where job = 'failing'`.execute(
      db,
    );
    return rows;
  };
  await expect(exportJob(context, { job: 'failing' }, false)).rejects.toThrow('There is no bucket nowhere');
  const message = expect.stringMatching(
    /^The export of job failing failed: There is no bucket nowhere at http:.* continues it\.$/,
  );
  expect(await alerts()).toEqual([{ kind: 'export failed', message, is_over: false }]);
  // The other place has its export.
  expect((await rowsIn(well, { format: 'parquet', columns: {}, partitioned_by: [] } as never)).length).toBe(
    (await rowsOfTable(db, rows)).length,
  );
  await exportJob(aWorkerContext(settingNow({ failing: job(bucket) })), { job: 'failing' }, false);
  expect(await alerts()).toEqual([{ kind: 'export failed', message, is_over: true }]);
  expect((await held('failing')).paths).toContain(manifestName);
});

it('of a worker that stops is left to the next one', async () => {
  const { db } = warehouse;
  const out = join(folder.path, 'stopped');
  const stopped = jobFor(scope, { exports: [{ to: out }] });
  await registered(db, 'stopped', stopped, lastNight);
  await exportJob(aWorkerContext(settingNow({ stopped }), AbortSignal.abort()), { job: 'stopped' }, true);
  expect(await isQueued(db, exportTask('stopped').key)).toBe(true);
  expect(existsSync(out)).toBe(false);
});

it('raises an alert for what may pass only once it is not tried again', async () => {
  const { db } = warehouse;
  const out = join(folder.path, 'taken');
  const taken = jobFor(scope, { exports: [{ to: out }] });
  await registered(db, 'taken', taken, lastNight);
  await using _other = await claim(db, 'exporting to', out);
  const alerts = async (isLast: boolean) => {
    const failed = exportJob(aWorkerContext(settingNow({ taken })), { job: 'taken' }, isLast);
    await expect(failed).rejects.toThrow('Another export to');
    const { rows } = await sql`select from gmsi.alerts where job = 'taken'`.execute(db);
    return rows.length;
  };
  expect(await alerts(false)).toBe(0);
  expect(await alerts(true)).toBe(1);
});

it('writes nowhere because the database says so, whatever a loader has put there', async () => {
  const { db } = warehouse;
  const [asked, own] = [join(folder.path, 'asked'), join(folder.path, 'own')];
  const exporting = (to: string) => jobFor(scope, { exports: [{ to }] });
  for (const job of ['theirs', 'ours']) await registered(db, job, exporting(asked), lastNight);
  const context = aWorkerContext(settingNow({ ours: exporting(own) }));
  await exportJob(context, { job: 'ours' }, true);
  await expect(exportJob(context, { job: 'theirs' }, true)).rejects.toThrow(
    'test has no job file theirs, and a worker exports only jobs that it has files for.',
  );
  expect([existsSync(own), existsSync(asked)]).toEqual([true, false]);
  const { rows } = await sql<{ job: string }>`
    select job from gmsi.alerts where kind = 'export failed' and message like '%no job file%'`.execute(db);
  expect(rows).toEqual([{ job: 'theirs' }]);
});

it('ends the alert of an export that a job no longer has', async () => {
  const { db } = warehouse;
  await registered(db, 'once exported', jobFor(scope, { schedule }), lastNight);
  const cause = { job: 'once exported', kind: 'export failed' } as const;
  await raiseAlert(db, cause, { message: 'It failed.', details: {} });
  await using _worker = aWorker(settingNow());
  await vi.waitFor(
    async () => {
      const { rows } = await sql<object>`
        select resolved_at is not null as is_over from gmsi.alerts where job = ${cause.job}`.execute(db);
      expect(rows).toEqual([{ is_over: true }]);
    },
    { timeout: 30_000, interval: 50 },
  );
});
