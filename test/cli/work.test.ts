import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { manifestName } from '../../src/export/manifest.ts';
import { scrape } from '../observe/a-telemetry.ts';
import { aWebhook } from '../observe/a-webhook.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows } from '../support/warehouse-state.ts';
import { aFolder, says } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aSetting, atWork, isLoaded } from './working.ts';

/** Eight windows of some three pages. */
const pages = { step: 'P16D', service: { concurrency: 4, page_size: 10 } };

it('loads a job by one of two workers, while the other has its file and makes its export, and can be watched', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, bare, folder } = setting;
  const exported = join(folder.path, 'exported');
  await folder.write('jobs/shared.yaml', jobFor(january, { ...pages, exports: [{ to: exported }] }));
  const status = async () => JSON.parse((await gmsiHere(['status', 'shared', '--json'], cli)).stdout);
  expect(await status()).toMatchObject({ workers: 0, schedules: [] });

  const enqueued = await gmsiHere(['backfill', 'shared', '--enqueue', '--json'], cli);
  expect(enqueued).toMatchObject({ code: 0 });
  expect(JSON.parse(enqueued.stdout)).toMatchObject({ jobs: [{ job: 'shared', windows: 8, workers: 0 }] });
  const bareWorker = setting.start(['work'], bare);
  await atWork(warehouse, 1);
  const other = setting.start(['work'], cli);
  await atWork(warehouse, 2);
  await isLoaded(warehouse, [bareWorker, other]);

  await vi.waitFor(
    async () =>
      expect(await status()).toMatchObject({
        workers: 2,
        schedules: [
          { job: 'shared', command: 'backfill', is_loading: false, outcome: 'done', windows_drained: 8 },
        ],
      }),
    90_000,
  );
  await vi.waitFor(() => expect(existsSync(join(exported, manifestName)), other.stderr).toBe(true), 90_000);
  const worker = { url: /http:[^"]+(?=","msg":"serving)/.exec(other.stderr)![0] };
  await vi.waitFor(async () => expect(await scrape(worker)).toMatchObject({ gmsi_workers: 2 }), 20_000);
  expect((await fetch(`${worker.url}/readyz`)).status).toBe(200);
  bareWorker.kill('SIGTERM');
  other.kill('SIGINT');
  expect(await bareWorker.ended).toMatchObject({ code: 0 });
  expect(await other.ended).toMatchObject({ code: 130 });
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  const loads = await warehouse.db.selectFrom('gmsi.loads').selectAll().execute();
  expect(loads).toMatchObject([{ outcome: 'done', windows_drained: 8 }]);
  expect(await warehouse.db.selectFrom('gmsi.processes').select('stopped_at').execute()).not.toContainEqual({
    stopped_at: null,
  });
});

it('pauses a job until it is resumed, though its workers are killed meanwhile', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, bare, folder } = setting;
  const { db } = warehouse;
  await folder.write('jobs/shared.yaml', jobFor(january, pages));
  const run = (...args: string[]) => gmsiHere(args, cli);
  await run('backfill', 'shared', '--enqueue');
  sandbox.script([{ kind: 'latency', ms: 200, times: 10_000 }]);
  const workers = [setting.start(['work'], cli), setting.start(['work'], bare)];
  await atWork(warehouse, 2);
  await vi.waitFor(async () => {
    const begun = await db.selectFrom('gmsi.windows').select('state').where('pages', '>', 0).execute();
    expect(begun).not.toEqual([]);
  }, 90_000);
  const paused = JSON.parse((await run('job', 'pause', 'shared', '--json')).stdout);
  expect(paused).toMatchObject({ action: 'pause', jobs: [{ job: 'shared', loading: ['backfill'] }] });
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ ended }) => ended));
  const loaded = await countRows(db, 'headlines');

  sandbox.script([]);
  const { requests } = sandbox.stats();
  const next = setting.start(['work'], cli);
  await atWork(warehouse, 3);
  // Longer than the lease, so that it could take over what the killed ones had.
  await vi.waitFor(async () => {
    const silent = sql`
      select from gmsi.processes where command = 'work' and heartbeat_at < now() - interval '7 seconds'`;
    expect((await silent.execute(db)).rows).toHaveLength(2);
  }, 30_000);
  expect((await run('status', 'shared')).stdout).toMatch(/shared +backfill .*paused by an operator/);
  expect(sandbox.stats().requests).toBe(requests);
  expect(await countRows(db, 'headlines')).toBe(loaded);

  await run('job', 'resume', 'shared');
  await isLoaded(warehouse, [next]);
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
});

it('reads its job files again on SIGHUP, beside a worker that runs only what it names', async () => {
  await using setting = await aSetting();
  const { warehouse, cli, folder } = setting;
  const yearly = { schedule: { sync: '0 0 1 1 *' } };
  await folder.write('jobs/desk.yaml', jobFor(january, yearly));
  await folder.write('jobs/energy.yaml', jobFor(january, yearly));
  const energy = setting.start(['work', 'energy'], cli);
  await atWork(warehouse, 1);
  const all = setting.start(['work'], cli);
  await atWork(warehouse, 2);
  const running = async () => {
    const workers = warehouse.db.selectFrom('gmsi.processes').select('jobs').orderBy('started_at');
    return (await workers.execute()).map(({ jobs }) => jobs);
  };
  expect(await running()).toEqual([['energy'], ['desk', 'energy']]);
  await folder.write('jobs/new.yaml', jobFor(january, yearly));
  for (const worker of [energy, all]) worker.kill('SIGHUP');
  await vi.waitFor(() => expect(all.stderr).toMatch(/"job":"new",.*"msg":"a job file is new"/), 20_000);
  expect(await running()).toEqual([['energy'], ['desk', 'energy', 'new']]);
  for (const worker of [energy, all]) {
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
  }
  expect(energy.stderr).not.toContain('desk');
});

it('does not start with a bad job file, or with a named one that has no schedule', async () => {
  await using setting = await aSetting();
  const { sandbox, cli, folder } = setting;
  await folder.write('jobs/good.yaml', jobFor(january, { schedule: { sync: '15 * * * *' } }));
  await folder.write('jobs/bad.yaml', jobFor(january, { schedule: { sync: 'now and then' } }));
  await folder.write('jobs/plain.yaml', jobFor(january));

  const bad = await gmsiHere(['work'], cli);
  expect(bad).toMatchObject(says(2, 'schedule.sync'));
  const plain = await gmsiHere(['work', 'plain'], cli);
  expect(plain).toMatchObject(says(2, /has no schedule[\s\S]*--enqueue/));
  expect(sandbox.stats().requests).toBe(0);
});

it('posts a test message to each webhook, and says which did not accept it, without the address', async () => {
  await using folder = await aFolder();
  await using webhook = await aWebhook();
  await using own = await aWebhook();
  await folder.write('jobs/food.yaml', jobFor(january, { alerts: { webhook_url: own.url.reveal() } }));
  const place = { cwd: folder.path, env: { GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal() } };
  const well = await gmsiHere(['work', '--test-alert'], place);
  expect(well).toMatchObject({ code: 0 });
  expect([webhook, own].map(({ taken }) => taken.map(({ kind, job }) => [kind, job]))).toEqual([
    [['test', null]],
    [['test', 'food']],
  ]);
  own.answer = 404;
  const ill = await gmsiHere(['work', '--test-alert'], place);
  expect(ill).toMatchObject({ code: 1 });
  expect(ill.stdout).toMatch(/GMSI_ALERT_WEBHOOK_URL +accepted\n.*webhook_url of job food +it answered 404/);
  expect(ill.stdout + ill.stderr).not.toContain('t0ken');
  await folder.write('jobs/food.yaml', jobFor(january));
  const none = await gmsiHere(['work', '--test-alert'], { ...place, env: {} });
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('No webhook is set.') });
});
