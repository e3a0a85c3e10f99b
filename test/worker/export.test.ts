import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { jobFromDefinition } from '../../src/config/read-job.ts';
import { manifestName } from '../../src/export/manifest.ts';
import { raiseAlert } from '../../src/warehouse/tables/alerts.ts';
import { dueExports, markExportDue, takeExports } from '../../src/warehouse/tables/schedules.ts';
import { claimPlace } from '../../src/warehouse/turns.ts';
import { createExporter, exportJob } from '../../src/worker/export.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { askDuckDB, difference, none, rowsIn, rowsOfTable } from '../export/exporting.ts';
import { aLog } from '../support/a-log.ts';
import { listed } from '../support/a-process.ts';
import { aStorage, bucket, download, type Storage } from '../support/a-storage.ts';
import { aWorker, aWorkerContext, loadsEnded, registered, withJobFiles } from '../support/a-worker.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const scope = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'] };
/** Of the job's period: its last window may bring a day more. */
const rows = `(select * from gmsi.headlines where published_at < '2024-04-01Z')`;
const days = `(select * from gmsi.sentiment_daily where day < '2024-04-01')`;
const schedule = { backfill: '0 * * * *' };
const lastNight = new Date('2026-11-19T20:00:00Z');

const sandbox = await aSandboxForAll({ volume: 0.1 });
let storage: Storage;
const warehouse = await aWarehouseForAll();
let folder: Folder;

beforeAll(async () => {
  storage = await aStorage();
  await listed(warehouse.db, 'a test');
  folder = await aFolder();
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
});

function settingNow(definitions: Readonly<Record<string, object>> = {}) {
  const today = Temporal.PlainDate.from('2026-11-20');
  const jobs = new Map(
    Object.entries(definitions).map(([name, one]) => [name, jobFromDefinition(name, { ...one }, today)]),
  );
  return { warehouse, sandbox, jobFiles: withJobFiles(jobs), storage: storage.settings };
}

async function allExported(): Promise<void> {
  await vi.waitFor(async () => expect(await dueExports(warehouse.db, new Date())).toEqual([]), {
    timeout: 30_000,
    interval: 20,
  });
}

async function held(prefix: string) {
  const path = join(folder.path, `held ${prefix} ${Math.random()}`);
  await mkdir(path);
  const paths = await download(storage, prefix, path);
  return { path, paths };
}

it('exports a job after each of its loads, to every place that it names', async () => {
  const { db } = warehouse;
  const daily = join(folder.path, 'daily');
  const versions = join(folder.path, 'versions');
  const exports = [
    { to: `s3://${bucket}/g7` },
    { to: daily, format: 'csv', rollup: 'daily' },
    { to: versions, versions: true },
  ];
  const g7 = jobFor(scope, { schedule, exports });
  await registered(db, 'g7', g7, lastNight);
  await using _worker = aWorker(settingNow({ g7 }));
  await loadsEnded(db);
  await allExported();
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

  await sqlIn(db)`
    update gmsi.headlines set semantic_score = 0.25, changed_at = now() where published_at < '2024-02-01Z'`;
  await markExportDue(db, 'g7', new Date());
  await allExported();
  await expectWhole();
  const [replaced] = await askDuckDB(
    `select count(*) filter (known_to is null) as current, count(*) filter (reason = 'rescored') as rescored
     from read_parquet('${versions}/**/*.parquet')`,
  );
  const counts = await sqlIn(db)<{ current: string; rescored: string }>`
    select count(*)::text as current, (count(*) filter (where published_at < '2024-02-01Z'))::text as rescored
    from ${sql.raw(rows)} as h`;
  expect(replaced).toEqual(counts[0]);
});

it('reports an export that fails, which the load does not mind, and makes it good by the next one', async () => {
  const { db } = warehouse;
  const well = join(folder.path, 'well');
  const job = (place: string) => jobFor(scope, { exports: [{ to: `s3://${place}/failing` }, { to: well }] });
  const context = aWorkerContext(settingNow({ failing: job('nowhere') }));
  const alerts = async () => {
    const rows = await sqlIn(db)<object>`
      select kind, message, resolved_at is not null as is_over from gmsi.alerts where job = 'failing'`;
    return rows;
  };
  await expect(exportJob(context, 'failing')).rejects.toThrow(/does not accept s3:.*: NoSuchBucket/);
  const message = expect.stringMatching(
    /^The export of job failing failed: The storage at http:.* does not accept s3:.*: NoSuchBucket.* continues it\.$/,
  );
  expect(await alerts()).toEqual([{ kind: 'export failed', message, is_over: false }]);
  // The other place has its export.
  expect((await rowsIn(well, { format: 'parquet', columns: {}, partitioned_by: [] } as never)).length).toBe(
    (await rowsOfTable(db, rows)).length,
  );
  await exportJob(aWorkerContext(settingNow({ failing: job(bucket) })), 'failing');
  expect(await alerts()).toEqual([{ kind: 'export failed', message, is_over: true }]);
  expect((await held('failing')).paths).toContain(manifestName);
});

it('says which folder must be writable, in the log and in the alert', async () => {
  const place = await folder.write('a-file', '');
  const exports = [{ to: join(place, 'food') }];
  const { log, lines } = aLog();
  const context = { ...aWorkerContext(settingNow({ unwritable: jobFor(scope, { exports }) })), log };
  const why = `The folder ${place}/food cannot be written: not a directory. The export is written to ${place} and then renamed`;
  await expect(exportJob(context, 'unwritable')).rejects.toThrow('cannot be written');
  expect(lines.map((line) => line.why)).toContainEqual(expect.stringContaining(why));
  const [alert] = await sqlIn(warehouse.db)<{ message: string }>`
    select message from gmsi.alerts where job = 'unwritable'`;
  expect(alert!.message).toContain(why);
});

it('of a worker that stops stays due, and a failed one is made again a minute later', async () => {
  const { db } = warehouse;
  const out = join(folder.path, 'stopped');
  const stopped = jobFor(scope, { exports: [{ to: out }] });
  await registered(db, 'stopped', stopped, lastNight);
  await markExportDue(db, 'stopped', lastNight);
  await createExporter(aWorkerContext(settingNow({ stopped }), AbortSignal.abort()))();
  expect(await dueExports(db, lastNight)).toEqual([
    { job: 'stopped', export_due_at: '2026-11-19 20:00:00+00', is_new: true },
  ]);
  expect(existsSync(out)).toBe(false);

  let now = new Date('2026-11-20T08:00:00Z');
  const makeExports = createExporter(aWorkerContext({ ...settingNow({ stopped }), clock: () => now }));
  {
    await using _other = await claimPlace(db, out);
    await makeExports();
  }
  await makeExports();
  expect(await dueExports(db, now)).toHaveLength(1);
  now = new Date('2026-11-20T08:01:00Z');
  await listed(db, 'another');
  expect(await takeExports(db, 'stopped', { processId: 'another', leaseSeconds: 30 })).toBe(true);
  await makeExports();
  expect(existsSync(out), 'another living worker makes it').toBe(false);
  // As after the loss of its host.
  await sqlIn(db)`
    update gmsi.processes set heartbeat_at = now() - interval '1 hour' where process_id = 'another'`;
  await sqlIn(db)`update gmsi.jobs set export_due_at = '2026-11-20 08:00:00.123456Z' where job = 'stopped'`;
  await makeExports();
  expect(await dueExports(db, now)).toEqual([]);
  expect(existsSync(out)).toBe(true);
});

it('is left to workers that have the job file, and after a minute its lack is reported', async () => {
  const { db } = warehouse;
  await registered(db, 'far', jobFor(scope, { exports: [{ to: join(folder.path, 'far') }] }), lastNight);
  let now = new Date('2026-11-20T08:00:00Z');
  await markExportDue(db, 'far', now);
  const makeExports = createExporter(aWorkerContext({ ...settingNow(), clock: () => now }));
  const alerts = async () => {
    const rows = await sqlIn(db)`select from gmsi.alerts where job = 'far'`;
    return rows.length;
  };
  await makeExports();
  expect(await alerts()).toBe(0);
  now = new Date('2026-11-20T08:01:00Z');
  await makeExports();
  expect(await alerts()).toBe(1);
  expect(await dueExports(db, now)).toHaveLength(1);
});

it('writes nowhere because the database says so, whatever a loader has put there', async () => {
  const { db } = warehouse;
  const [asked, own] = [join(folder.path, 'asked'), join(folder.path, 'own')];
  const exporting = (to: string) => jobFor(scope, { exports: [{ to }] });
  for (const job of ['theirs', 'ours']) await registered(db, job, exporting(asked), lastNight);
  const context = aWorkerContext(settingNow({ ours: exporting(own) }));
  await exportJob(context, 'ours');
  await expect(exportJob(context, 'theirs')).rejects.toThrow(
    'test has no job file theirs, and a worker exports only jobs that it has files for.',
  );
  expect([existsSync(own), existsSync(asked)]).toEqual([true, false]);
  const rows = await sqlIn(db)<{ job: string }>`
    select job from gmsi.alerts where kind = 'export failed' and message like '%no job file%' and job <> 'far'`;
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
      const rows = await sqlIn(db)<object>`
        select resolved_at is not null as is_over from gmsi.alerts where job = ${cause.job}`;
      expect(rows).toEqual([{ is_over: true }]);
    },
    { timeout: 30_000, interval: 50 },
  );
});
