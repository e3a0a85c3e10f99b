import { expect, it, vi } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { accessTo, aFolder, type Running, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';

const service = { concurrency: 4, page_size: 30 };

it('drains a job between three workers, each page asked for by one of them; only one of them has the job file', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, bare, folder } = setting;
  await folder.write('jobs/shared.yaml', jobFor(quarter, { service }));
  // So slow that none of them can drain it all before the others have begun.
  sandbox.script([{ kind: 'latency', ms: 300, times: 1e6, match: ({ path }) => path.includes('/feed/') }]);
  const workers = [1, 2, 3].map((n) => setting.start(['work', '--concurrency', '2'], n === 1 ? cli : bare));
  await atWork(warehouse, 3);

  const enqueued = await gmsiHere(['backfill', 'shared', '--enqueue', '--json'], cli);
  expect(enqueued).toMatchObject({ code: 0 });
  expect(JSON.parse(enqueued.stdout)).toMatchObject({
    jobs: [{ job: 'shared', run: 1, windows: 8 }],
    workers: 3,
  });
  await runIsOver(warehouse, workers);

  for (const worker of workers) worker.kill('SIGTERM');
  for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0 });
  expect(await heldBy(warehouse.db, quarter)).toEqual(servedBy(sandbox, quarter));
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  const loads = await warehouse.db.selectFrom('loads').selectAll().execute();
  expect(loads.map(({ outcome }) => outcome)).toEqual(loads.map(() => 'done'));
  expect(loads.filter(({ windows_drained }) => windows_drained > 0).length).toBeGreaterThan(1);
  expect(await warehouse.db.selectFrom('workers').select('stopped_at').execute()).not.toContainEqual({
    stopped_at: null,
  });
});

it('loses nothing to a kill: what the worker held moves on once its lease is over', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, folder } = setting;
  const job = await folder.write(
    'held.yaml',
    jobFor(quarter, { service: { ...service, headers_timeout: 'PT10M' } }),
  );
  // Of four windows the second page never comes while this worker lives, however long the other takes to start.
  sandbox.script([{ kind: 'latency', ms: 3_600_000, times: 4, match: ({ token }) => token !== null }]);
  const killed = setting.start(['work', '--concurrency', '4'], cli);
  expect(await gmsiHere(['backfill', job, '--enqueue'], cli)).toMatchObject({ code: 0 });
  await vi.waitFor(async () => {
    const halfDrained = (await windowsOf(warehouse.db)).filter((w) => w.state === 'draining' && w.pages > 0);
    expect(halfDrained, killed.stderr).toHaveLength(4);
    expect(sandbox.stats().faults).toMatchObject({ latency: 4 });
  }, 90_000);
  const other = setting.start(['work'], cli);
  await atWork(warehouse, 2);
  killed.kill('SIGKILL');

  await runIsOver(warehouse, [other]);
  other.kill('SIGTERM');
  expect(await other.ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('took over tasks that nobody was working on any more'),
  });
  expect(await heldBy(warehouse.db, quarter)).toEqual(servedBy(sandbox, quarter));
  const { pagesServedTwice, cursorReadsAtOnce } = sandbox.stats();
  // The page on its way to the table and the one on its way here, of each window in hand.
  expect(pagesServedTwice).toBeLessThanOrEqual(2 * 4);
  expect(cursorReadsAtOnce).toBe(1);
});

it('commits the pages in hand, leaves the rest to others at once, and exits with 0 on SIGTERM, 130 on SIGINT', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, folder } = setting;
  const job = await folder.write('slow.yaml', jobFor(quarter, { service }));
  // So slow that both are in the middle when they are told to stop, however late that is.
  sandbox.script([{ kind: 'latency', ms: 1_000, times: 1e6, match: ({ path }) => path.includes('/feed/') }]);
  const stopped = [1, 2].map(() => setting.start(['work', '--concurrency', '4'], cli));
  await atWork(warehouse, 2);
  expect(await gmsiHere(['backfill', job, '--enqueue'], cli)).toMatchObject({ code: 0 });
  await vi.waitFor(() => expect(sandbox.stats().pages, stopped[0]!.stderr).toBeGreaterThan(8), 90_000);
  stopped[0]!.kill('SIGTERM');
  stopped[1]!.kill('SIGINT');
  expect(await stopped[0]!.ended).toMatchObject({ code: 0 });
  expect(await stopped[1]!.ended).toMatchObject({ code: 130 });
  sandbox.script([]);

  const left = await windowsOf(warehouse.db);
  expect(left.filter(({ state }) => state === 'draining')).toEqual([]);
  expect(left.filter(({ state, next_token }) => state === 'pending' && next_token !== null)).not.toEqual([]);
  expect(left.reduce((sum, { pages }) => sum + pages, 0)).toBe(sandbox.stats().pages);

  const other = setting.start(['work'], cli);
  await runIsOver(warehouse, [other]);
  other.kill('SIGTERM');
  expect(await other.ended).toMatchObject({ code: 0 });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(warehouse.db, quarter)).toEqual(servedBy(sandbox, quarter));
});

it('shows what the workers are at: a JSON document a line, each time something has changed', async () => {
  await using setting = await aSetting();
  const { warehouse, cli, folder } = setting;
  await folder.write('jobs/shared.yaml', jobFor(quarter, { service: { ...service, rate: 100, burst: 10 } }));
  const watch = setting.start(['status', 'shared', '--watch', '--json'], cli);
  const lines = () =>
    watch.stdout
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(lines(), watch.stderr).not.toHaveLength(0), 90_000);
  expect(lines()[0]).toMatchObject({ workers: 0, runs: [], queue: { waiting: 0, running: 0, retrying: 0 } });

  const enqueued = await gmsiHere(['backfill', 'shared', '--enqueue'], cli);
  expect(enqueued).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/shared +1 +8\n\nNo worker is running/),
  });
  const worker = setting.start(['work'], cli);
  await runIsOver(warehouse, [worker]);
  await vi.waitFor(() => {
    const last = lines().at(-1);
    expect(last, watch.stderr).toMatchObject({ workers: 1, slots: 8, used: expect.any(Number) });
    expect(last.runs).toMatchObject([
      { job: 'shared', outcome: 'done', windows: { drained: 8, pending: 0 } },
    ]);
  }, 90_000);
  watch.kill('SIGINT');
  expect(await watch.ended).toMatchObject({ code: 130 });
});

it('does not start with a job file that is bad, or that it is told to run and has no schedule', async () => {
  await using setting = await aSetting();
  const { sandbox, cli, folder } = setting;
  await folder.write('jobs/good.yaml', jobFor(quarter, { schedule: { sync: '15 * * * *' } }));
  await folder.write('jobs/bad.yaml', jobFor(quarter, { schedule: { sync: 'now and then' } }));
  await folder.write('jobs/plain.yaml', jobFor(quarter));

  const bad = await gmsiHere(['work'], cli);
  expect(bad).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('schedule.sync') });
  const plain = await gmsiHere(['work', 'plain'], cli);
  expect(plain).toMatchObject({ code: 2, stderr: expect.stringMatching(/has no schedule[\s\S]*--enqueue/) });
  expect(sandbox.stats().requests).toBe(0);
});

it('ends with 2 once the service refuses the key, and spends no more on it', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, folder } = setting;
  await folder.write('jobs/any.yaml', jobFor(quarter, { service }));
  expect(await gmsiHere(['backfill', 'any', '--enqueue'], cli)).toMatchObject({ code: 0 });
  const before = sandbox.stats().requests;
  const worker = setting.start(['work', '--concurrency', '3'], {
    ...cli,
    env: { ...cli.env, GMSI_API_KEY: 'not-a-key' },
  });

  expect(await worker.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('GMSI_API_KEY') });
  expect(sandbox.stats().requests - before).toBeLessThanOrEqual(3);
  expect((await windowsOf(warehouse.db)).map(({ state }) => state)).toEqual(Array(8).fill('pending'));
});

/** A service, a warehouse, and processes that are gone with them. */
async function aSetting() {
  const warehouse: TestWarehouse = await aWarehouse();
  const sandbox: Sandbox = await startSandbox({ limits: null, volume: 0.3 });
  const folder = await aFolder();
  const elsewhere = await aFolder('gmsi elsewhere ');
  const env: Record<string, string> = { ...accessTo(warehouse, sandbox), GMSI_LEASE_SECONDS: '6' };
  const cli = { cwd: folder.path, env };
  const started: Running[] = [];
  return {
    ...{ warehouse, sandbox, folder, cli },
    /** A machine without job files. */
    bare: { cwd: elsewhere.path, env },
    start(args: readonly string[], setting: typeof cli): Running {
      const running = startGmsi(args, setting);
      started.push(running);
      return running;
    },
    async [Symbol.asyncDispose]() {
      for (const running of started) running.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      for (const owned of [elsewhere, folder, sandbox, warehouse]) await owned[Symbol.asyncDispose]();
    },
  };
}

async function atWork({ db }: TestWarehouse, workers: number): Promise<void> {
  await vi.waitFor(
    async () => expect(await db.selectFrom('workers').select('worker_id').execute()).toHaveLength(workers),
    90_000,
  );
}

async function runIsOver({ db }: TestWarehouse, workers: readonly Running[]): Promise<void> {
  await vi.waitFor(async () => {
    const runs = await db.selectFrom('runs').select(['outcome']).execute();
    expect(runs, workers.map(({ stderr }) => stderr).join('')).toEqual([{ outcome: 'done' }]);
  }, 90_000);
}
