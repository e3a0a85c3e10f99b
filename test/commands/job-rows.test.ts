import { expect, it } from 'vitest';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { markDue } from '../../src/warehouse/tables/schedules.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { registered } from '../support/a-worker.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const { sandbox, folder, setting, warehouse } = await aPlaceForAll({ volume: 0.01 });
const { db } = warehouse;
const clock = () => new Date();
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

const run = async (...args: string[]) => {
  const ended = await gmsiHere(args, setting);
  return { ...ended, json: args.includes('--json') ? JSON.parse(ended.stdout) : undefined };
};

/** When a day of January begins next. */
function nextInJanuary(day: number): string {
  const now = clock();
  const thisYear = Date.UTC(now.getUTCFullYear(), 0, day);
  return new Date(
    thisYear > now.getTime() ? thisYear : Date.UTC(now.getUTCFullYear() + 1, 0, day),
  ).toISOString();
}

/** What gmsi status says of a job, among all and by its name. */
async function told(name: string) {
  const [all, named] = [(await run('status', '--json')).json, (await run('status', name, '--json')).json];
  const [planned] = (await run('plan', name, '--json')).json.jobs;
  const of = all.jobs.find((one: { job: string }) => one.job === name);
  expect([planned.covered, planned.wanted]).toEqual([of.covered, of.wanted]);
  expect(named.jobs[0]).toMatchObject(of);
  return of;
}

const job = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food'],
  start_date: ago(100),
  end_date: 'today',
  lookback: 'P2D',
  schedule: { sync: '0 0 1 1 *' },
  alerts: { max_lag: 'P5D' },
};

it('says that a job is late, and complete by its whole period', async () => {
  await folder.write('jobs/desk.yaml', job);
  await run('lookups');
  const { json } = await run('sync', 'desk', '--json');
  // A sync loads the settling days only.
  expect(json.jobs[0]).toMatchObject({ outcome: 'done', series: 2, complete: 0, covered: 0, wanted: 2 * 98 });
  const idle = await told('desk');
  expect(idle).toMatchObject({
    series: 2,
    complete: 0,
    covered: 0,
    wanted: 2 * 98,
    is_scheduled: true,
    workers: 0,
    next_run: null,
    state: 'failing',
    why: expect.stringMatching(/^10\d\.\d days late$/),
  });
  expect((await run('plan', 'desk')).stdout).toMatch(/^recent days +\S+ to \S+ may still change/m);
  const status = await run('status');
  expect(status.stdout).toMatch(/^desk +failing +10\d\.\d days late .* 0 of 2 +0\.0%$/m);
  expect(status.stdout).toMatch(
    /^desk +10\d\.\d days late +At least one series has no covered day yet; 5 days are allowed\. +gmsi backfill desk +\d+$/m,
  );
});

it('ends a sync of a job that lacks days with what is missing and the command that loads it', async () => {
  const { stdout, code } = await run('sync', 'desk');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /\nTo do\n.*\ndesk +10\d\.\d days late +At least one series has no covered day yet.* gmsi backfill desk +\d+\n\nNext/,
  );
  expect(stdout).toMatch(/\nNext: gmsi backfill desk\n$/);
  const loaded = await run('backfill', 'desk');
  expect(loaded.stdout).not.toMatch(/^To do$/m);
  expect(loaded.stdout).toMatch(/\nNext: gmsi check desk\n$/);
  expect((await run('sync', 'desk')).stdout).toMatch(/\nNext: gmsi check desk\n$/);
  expect(await told('desk')).toMatchObject({
    is_complete: true,
    complete: 2,
    covered: 196,
    wanted: 196,
    state: 'good',
  });

  // A window that failed counts, although it misses no day.
  await sqlIn(db)`insert into gmsi.queue (series_id, first_day, last_day, state, last_error, left_at)
                  select series_id, ${ago(9)}, ${ago(5)}, 'failed', 'broken', '2026-01-01' from gmsi.series limit 1`;
  expect(await told('desk')).toMatchObject({
    is_complete: false,
    complete: 2,
    covered: 196,
    wanted: 196,
    why: '1 window failed',
  });
  expect(await run('sync', 'desk')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nNext: gmsi backfill desk\n$/),
  });
  await run('backfill', 'desk');
  expect(await told('desk')).toMatchObject({ is_complete: true });
});

it('names the next run only of a job that a living worker runs, by what workers have stored', async () => {
  await registered(db, 'desk', job, clock());
  const worker = { command: 'work', run_by: 'here', version: 'test', concurrency: 1 };
  await registerProcess(db, { ...worker, process_id: 'other', jobs: ['energy'] });
  expect(await told('desk')).toMatchObject({ workers: 0, next_run: null });
  await registerProcess(db, { ...worker, process_id: 'own', jobs: ['desk'] });
  const next = nextInJanuary(1);
  expect(await told('desk')).toMatchObject({
    workers: 1,
    ...{ next_command: 'sync', next_run: next },
    other_version_by: null,
  });
  await registerProcess(db, { ...worker, process_id: 'every' });
  expect(await told('desk')).toMatchObject({ workers: 2 });

  // The file has changed, and no worker has read it yet.
  await folder.write('jobs/desk.yaml', { ...job, schedule: { sync: '0 0 2 1 *' } });
  expect(await told('desk')).toMatchObject({ next_run: next, other_version_by: 'test' });
  expect((await run('status')).stdout).toMatch(
    /^desk +workers run another version of the file +test has stored it/m,
  );

  // Queued, the file's version counts, with its schedule.
  expect(await run('backfill', 'desk', '--enqueue')).toMatchObject({ code: 0 });
  const second = nextInJanuary(2);
  await db.updateTable('gmsi.schedules').set({ due_at: null }).execute();
  expect(await told('desk')).toMatchObject({ next_run: second, other_version_by: null });

  await markDue(db, { job: 'desk', command: 'backfill' }, clock());
  expect(await told('desk')).toMatchObject({ next_command: 'backfill' });
  await db.updateTable('gmsi.processes').set({ stopped_at: new Date() }).execute();
  expect(await told('desk')).toMatchObject({ workers: 0, next_run: null });
  expect((await run('status', 'desk')).stdout).toMatch(/^desk +backfill +no worker runs it/m);
  expect(sandbox.stats().requests).toBeGreaterThan(0);
});
