import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { expect, vi } from 'vitest';
import type { Sandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { raiseAlert } from '../../src/warehouse/tables/alerts.ts';
import { markDue } from '../../src/warehouse/tables/schedules.ts';
import { openJobFiles } from '../../src/worker/job-files.ts';
import { aFolder } from '../cli/gmsi.ts';
import { january, jobFor } from '../cli/jobs.ts';
import { aLog } from '../support/a-log.ts';
import { aRound, aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { serving } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const clock = () => new Date();
const it = serving({ volume: 0.02, clock });

/** Never due by itself in the seconds of a test. */
const yearly = { sync: '0 0 1 1 *' };
const one = { ...january, countries: ['NO'], topics: ['Inflation-Food'] };

/** A folder with a worker that reads its job files all the time. */
async function atWork(
  { warehouse, sandbox }: { warehouse: TestWarehouse; sandbox: Sandbox },
  files: Readonly<Record<string, object>>,
  { names = [], readEvery = 20 }: { names?: readonly string[]; readEvery?: number } = {},
) {
  const folder = await aFolder();
  for (const [name, job] of Object.entries(files)) await folder.write(`jobs/${name}.yaml`, job);
  const { log, lines } = aLog();
  const today = () => Temporal.PlainDate.from(clock().toISOString().slice(0, 10));
  const jobFiles = await openJobFiles(names, { cwd: folder.path, today, by: 'test', log, readEvery });
  const worker = aWorker({ warehouse, sandbox, clock, log, jobFiles });
  return {
    ...folder,
    path: (name: string) => join(folder.path, 'jobs', name),
    jobFiles,
    lines,
    async said(job: string, atLeast = 1) {
      const said = () =>
        lines.filter((line) => line.job === job && /^a job file/.test(line.msg)).map(({ msg }) => msg);
      await vi.waitFor(() => expect(said().length).toBeGreaterThanOrEqual(atLeast), 20_000);
      return said();
    },
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function scheduled(db: Warehouse) {
  const rows = db
    .selectFrom('gmsi.schedules')
    .select(['job', 'command', 'cron'])
    .where('cron', 'is not', null);
  return (await rows.orderBy('job').execute()).map(({ job, command, cron }) => `${job} ${command} ${cron}`);
}

async function running(db: Warehouse): Promise<(string[] | null)[]> {
  const workers = db.selectFrom('gmsi.processes').select('jobs').where('command', '=', 'work');
  return (await workers.orderBy('started_at').execute()).map(({ jobs }) => jobs);
}

it('takes new, changed and removed job files, and says so once', async ({ warehouse, sandbox, db }) => {
  // Of a worker that has ended.
  await raiseAlert(db, { job: 'first', kind: 'job file' }, { message: 'It cannot be read.', details: {} });
  await using worker = await atWork({ warehouse, sandbox }, { first: jobFor(one, { schedule: yearly }) });
  await aRound(db);
  expect(await sqlIn(db)`select from gmsi.alerts where resolved_at is null`).toEqual([]);
  expect(await running(db)).toEqual([['first']]);

  await worker.write('jobs/second.yaml', jobFor(one, { schedule: { backfill: '* * * * *' } }));
  expect(await worker.said('second')).toEqual(['a job file is new']);
  expect(await scheduled(db)).toEqual(['first sync 0 0 1 1 *', 'second backfill * * * * *']);
  expect(await running(db)).toEqual([['first', 'second']]);

  await worker.write('jobs/second.yaml', jobFor({ ...one, to: '2024-01-10' }, { schedule: yearly }));
  expect(await worker.said('second', 2)).toEqual(['a job file is new', 'a job file has changed']);
  expect(await scheduled(db)).toEqual(['first sync 0 0 1 1 *', 'second sync 0 0 1 1 *']);
  await markDue(db, { job: 'second', command: 'backfill' }, clock());
  await loadsEnded(db);
  const [load] = await db.selectFrom('gmsi.windows').select('last_day').distinct().execute();
  expect(load).toEqual({ last_day: '2024-01-10' });

  await rm(worker.path('second.yaml'));
  expect((await worker.said('second', 3))[2]).toBe('a job file was removed; the job no longer runs');
  expect(await scheduled(db)).toEqual(['first sync 0 0 1 1 *']);
  expect(await running(db)).toEqual([['first']]);
  await aRound(db);
  expect(await worker.said('first', 0)).toEqual([]);
  expect(await worker.said('second')).toHaveLength(3);
});

it('goes on with the last readable version, and raises an alert', async ({ warehouse, sandbox, db }) => {
  const good = jobFor(one, { schedule: yearly });
  await using worker = await atWork({ warehouse, sandbox }, { good });
  const alerts = async () => {
    const rows = await sqlIn(db)<{ job: string; kind: string; message: string; is_over: boolean }>`
      select job, kind, message, resolved_at is not null as is_over from gmsi.alerts order by alert_id`;
    return rows;
  };
  await worker.write('jobs/good.yaml', 'feed: gmsi-headlins\n');
  await worker.write('jobs/new.yaml', 'feed: gmsi-headlins\n');
  expect(await worker.said('good')).toEqual([
    'a job file cannot be read; its last readable version stays in use',
  ]);
  expect(await worker.said('new')).toEqual(['a job file cannot be read; the job is not run']);
  expect(await alerts()).toMatchObject([
    {
      job: 'good',
      kind: 'job file',
      message: expect.stringContaining('did you mean "gmsi-headlines"?'),
      is_over: false,
    },
    { job: 'new', is_over: false },
  ]);
  expect(worker.jobFiles.unreadable).toEqual(['good', 'new']);
  expect(await running(db)).toEqual([['good']]);
  expect(await scheduled(db)).toEqual(['good sync 0 0 1 1 *']);

  await worker.write('jobs/good.yaml', good);
  await worker.write('jobs/new.yaml', good);
  expect((await worker.said('good', 2))[1]).toBe('a job file can be read again');
  expect((await worker.said('new', 2))[1]).toBe('a job file is new');
  expect((await alerts()).map(({ is_over }) => is_over)).toEqual([true, true]);

  // As with a disk that is not mounted.
  await rename(worker.path('.'), worker.path('../elsewhere'));
  expect((await worker.said('good', 3))[2]).toMatch(/cannot be read; its last readable version/);
  expect(await scheduled(db)).toEqual(['good sync 0 0 1 1 *', 'new sync 0 0 1 1 *']);
  await worker.said('new', 3);
  await mkdir(worker.path('.'));
  expect((await worker.said('good', 4))[3]).toMatch(/was removed/);
  await worker.said('new', 4);
  expect(await running(db), 'not every job').toEqual([[]]);
});

it('keeps a removed job that another living worker has', async ({ warehouse, sandbox, db }) => {
  const version = (minute: number) => jobFor(one, { schedule: { sync: `${minute} 0 1 1 *` } });
  await using older = await atWork({ warehouse, sandbox }, { shared: version(1) });
  await aRound(db);
  await using newer = await atWork({ warehouse, sandbox }, { shared: version(2) });
  await aRound(db);
  await aRound(db);
  expect(await scheduled(db), 'the last to start').toEqual(['shared sync 2 0 1 1 *']);
  await older.write('jobs/shared.yaml', version(3));
  await older.said('shared');
  await aRound(db);
  expect(await scheduled(db), 'the last to change').toEqual(['shared sync 3 0 1 1 *']);

  await rm(older.path('shared.yaml'));
  expect((await older.said('shared', 2))[1]).toBe(
    'a job file was removed; other workers that have the file go on',
  );
  expect(await scheduled(db)).toEqual(['shared sync 3 0 1 1 *']);
  expect(await running(db)).toEqual([[], ['shared']]);
  await rm(newer.path('shared.yaml'));
  await newer.said('shared');
  expect(await scheduled(db)).toEqual([]);
});

it('takes a file again if the warehouse did not take it', async ({ warehouse, sandbox, db }) => {
  const job = jobFor(one, { schedule: yearly });
  await registered(db, 'others', job, clock());
  await using worker = await atWork({ warehouse, sandbox }, { first: job });
  await aRound(db);
  await sqlIn(
    db,
  )`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
    create trigger refuse before update of jobs on gmsi.processes for each row execute function refuse()`;
  await worker.write('jobs/second.yaml', job);
  await vi.waitFor(
    () => expect(worker.lines.map(({ msg }) => msg)).toContain('the job files could not be read again'),
    20_000,
  );
  expect(await running(db)).toEqual([['first']]);
  await sqlIn(db)`drop function refuse cascade`;
  expect(await worker.said('second')).toEqual(['a job file is new']);
  expect(await running(db)).toEqual([['first', 'second']]);

  await worker.write('jobs/others.yaml', 'feed: none\n');
  await worker.said('others');
  await rm(worker.path('others.yaml'));
  await worker.said('others', 2);
  const stored = db.selectFrom('gmsi.jobs').select('job').orderBy('job');
  expect((await stored.execute()).map(({ job: name }) => name)).toEqual(['first', 'others', 'second']);
});

it('runs only the jobs that it names, though others are stored', async ({ warehouse, sandbox, db }) => {
  const job = jobFor(one, { schedule: yearly });
  await using worker = await atWork(
    { warehouse, sandbox },
    { energy: job, desk: job },
    { names: ['energy'] },
  );
  await using desk = await atWork({ warehouse, sandbox }, { desk: job });
  await aRound(db);
  await desk[Symbol.asyncDispose]();
  for (const name of ['desk', 'energy']) await markDue(db, { job: name, command: 'backfill' }, clock());
  await vi.waitFor(async () => {
    const ended = db.selectFrom('gmsi.loads').select(['job', 'outcome']).where('finished_at', 'is not', null);
    expect(await ended.execute()).toEqual([{ job: 'energy', outcome: 'done' }]);
  }, 30_000);
  await aRound(db);
  const due = db.selectFrom('gmsi.schedules').select(['job', 'command']).where('due_at', 'is not', null);
  expect(await due.execute()).toEqual([{ job: 'desk', command: 'backfill' }]);
  expect(await worker.said('desk', 0)).toEqual([]);
});

it('reads its files at once when told to', async ({ warehouse, sandbox, db }) => {
  const job = jobFor(one, { schedule: yearly });
  await using worker = await atWork({ warehouse, sandbox }, {}, { readEvery: 3_600_000 });
  await worker.write('jobs/told.yaml', job);
  await aRound(db);
  expect(await running(db), 'no job file yet: every stored job').toEqual([null]);
  worker.jobFiles.readSoon();
  expect(await worker.said('told')).toEqual(['a job file is new']);
  expect(await running(db)).toEqual([['told']]);
});

it('stops although the file system of its job files never answers', async ({ warehouse, sandbox, db }) => {
  const jobFiles = {
    ...{ jobs: new Map(), unreadable: [], running: [], readSoon() {}, register: async () => {} },
    isDue: () => true,
    readAgain: () => new Promise<void>(() => {}),
  };
  await using worker = aWorker({ warehouse, sandbox, clock, jobFiles });
  await aRound(db);
  await worker.stop();
});
