import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { says } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { aLoad, silence } from '../support/a-process.ts';
import { registered } from '../support/a-worker.ts';
import { aWindowIn, changeWindowsIn, forgetWindowsIn } from '../support/warehouse-state.ts';

const { folder, setting, warehouse } = await aPlaceForAll({ volume: 0.01 });
const { db } = warehouse;
const run = (...args: string[]) => gmsiHere(args, setting);

const job = {
  countries: ['US'],
  topics: ['Inflation-Food', 'Elections'],
  start_date: '2025-01-01',
  end_date: '2025-06-30',
};

/** A window of each topic has failed, one of the first was refused before the job's period, and one waits. */
beforeEach(async () => {
  await run('lookups');
  await forgetWindowsIn(db);
  await sql`delete from gmsi.jobs; delete from gmsi.processes`.execute(db);
  const failed = { state: 'failed', last_error: '503 Service Unavailable' };
  await aWindowIn(db, '2025-01-01', '2025-01-31', failed);
  await aWindowIn(db, '2025-06-30', '2025-07-15', { ...failed, topic: 'Elections' });
  await aWindowIn(db, '2024-01-01', '2024-01-31', { state: 'refused', last_error: '422 too old' });
  await aWindowIn(db, '2025-01-01', '2025-01-31', { country: 'GB', state: 'pending' });
  await folder.write('jobs/food.yaml', job);
});

async function windows() {
  const all = db.selectFrom('gmsi.windows').select(['topic', 'state', 'first_day']);
  return (await all.orderBy('topic').orderBy('first_day').orderBy('state').execute()).map(
    ({ topic, state }) => `${topic} ${state}`,
  );
}

/** The windows that `gmsi status` names: their job, what of them, and which. */
async function told(): Promise<string[]> {
  const { causes } = JSON.parse((await run('status', '--json')).stdout);
  return causes
    .filter(({ windows }: { windows: number | null }) => windows !== null)
    .map(
      ({ job, severity, what, about }: Record<string, string>) =>
        `${severity === 'note' ? 'unwanted' : job}: ${what}, ${about?.split(';')[0]}`,
    );
}

it('shows windows that no job wants as such, and deletes them with gmsi check --repair windows and no others', async () => {
  expect((await run('check', '--repair', 'windows', '--dry-run')).stdout).toMatch(
    /refused +1 .*2024-01-01[\s\S]*Nothing was changed/,
  );
  await folder.write('jobs/food.yaml', { ...job, topics: ['Inflation-Food'] });
  expect(await told()).toEqual([
    'food: 1 window failed, US Inflation-Food',
    'unwanted: 1 window that no job wants, US Elections',
    'unwanted: 1 window that no job wants, GB Inflation-Food',
    'unwanted: 1 window that no job wants, US Inflation-Food',
  ]);
  expect((await run('status')).stdout).toMatch(
    /1 window that no job wants +422 too old .* gmsi check --repair windows +0\n/,
  );

  const { stdout, code } = await run('check', '--repair', 'windows');
  expect(code).toBe(0);
  expect(stdout).toContain('3 windows deleted that no job wants. Rows that they had loaded stay.\n');
  expect(await windows()).toEqual(['Inflation-Food failed']);
  expect(await told()).toEqual(['food: 1 window failed, US Inflation-Food']);
  expect((await run('check', '--repair', 'windows')).stdout).toBe('Every window is wanted by a job.\n');
  expect(await windows()).toHaveLength(1);
});

it('names a job that wants a window, though another one has last requested it', async () => {
  await sql`insert into gmsi.loads (load_id, command, job, feed, run_by) overriding system value
      values (900, 'backfill', 'gone', 'gmsi-headlines', 'x')`.execute(db);
  await changeWindowsIn(db, { load_id: 900 });
  expect(await told()).toEqual([
    'food: 2 windows failed, 2 series, such as US Elections',
    'unwanted: 1 window that no job wants, GB Inflation-Food',
    'unwanted: 1 window that no job wants, US Inflation-Food',
  ]);
});

it('deletes pending and half-drained windows, too, but none that a load is draining', async () => {
  await folder.write('jobs/food.yaml', { ...job, topics: ['Inflation-Food'] });
  await changeWindowsIn(db, { state: 'pending', next_token: 'half', pages: 2 });
  const loadId = await aLoad(db);
  await changeWindowsIn(db, { state: 'draining', load_id: loadId }, { topic: 'Elections' });

  expect(await run('check', '--repair', 'windows')).toMatchObject(
    says(2, /A load of job is running, and its job file is not in jobs/),
  );
  await sql`update gmsi.loads set job = 'food'`.execute(db);
  expect((await run('check', '--repair', 'windows', '--dry-run')).stdout).toMatch(
    /(pending +1 [\s\S]*){2}Nothing was changed/,
  );
  expect((await run('check', '--repair', 'windows')).stdout).toContain('2 windows deleted');
  expect(await windows()).toEqual(['Elections draining', 'Inflation-Food pending']);

  await silence(db, loadId);
  expect((await run('check', '--repair', 'windows')).stdout).toMatch(/pending +1 [\s\S]*1 window deleted/);
  expect(await windows()).toEqual(['Inflation-Food pending']);
});

it('says of each job that wants a window that it failed', async () => {
  await folder.write('jobs/twin.yaml', job);
  const failed = '2 windows failed, 2 series, such as US Elections';
  expect((await told()).slice(0, 2)).toEqual([`food: ${failed}`, `twin: ${failed}`]);
  await rm(join(folder.path, 'jobs/twin.yaml'));
});

it('wants no days before the history limit of a job', async () => {
  await folder.write('jobs/food.yaml', { ...job, start_date: '2020-01-01', history_limit: '2025-01-01' });
  expect((await run('check', '--repair', 'windows')).stdout).toMatch(/2 windows deleted/);
  expect(await windows()).not.toContain('Inflation-Food refused');
});

it('keeps what a job of another folder or another version wants, and all if a job cannot be read', async () => {
  await folder.write('jobs/food.yaml', { ...job, topics: ['Inflation-Food'] });
  // A living worker still runs the version with both topics.
  await registered(db, 'food', { ...job, schedule: { sync: '0 * * * *' } });
  const worker = { command: 'work', run_by: 'here', version: 'test', concurrency: 1 };
  await registerProcess(db, { ...worker, process_id: 'w', jobs: ['food'] });
  // Another folder's job wants the days before the period.
  await registered(db, 'british', { ...job, countries: ['GB'] });
  await registered(db, 'older', { ...job, start_date: '2024-01-01', end_date: '2024-01-01' });
  expect((await run('check', '--repair', 'windows')).stdout).toBe('Every window is wanted by a job.\n');
  expect(await windows()).toHaveLength(4);

  await sql`delete from gmsi.jobs; delete from gmsi.processes`.execute(db);
  for (const broken of ['feed: none\n', 'countries: [XX]\ntopics: [Elections]\nstart_date: 2025-01-01\n']) {
    await folder.write('jobs/broken.yaml', broken);
    const refused = await run('check', '--repair', 'windows');
    expect(refused).toMatchObject(says(2, 'jobs/broken.yaml:1'));
    expect((await told()).filter((one) => one.startsWith('unwanted'))).toEqual([]);
  }
  await rm(join(folder.path, 'jobs'), { recursive: true });
  expect(await run('check', '--repair', 'windows')).toMatchObject(
    says(2, 'there is no job file in jobs/ here'),
  );
  expect(await windows()).toHaveLength(4);
});
