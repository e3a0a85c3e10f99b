import { beforeEach, expect, it } from 'vitest';
import { takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { prints, says } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { january, jobFor } from '../cli/jobs.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { listed } from '../support/a-process.ts';
import { registered } from '../support/a-worker.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const { folder, sandbox, setting, warehouse } = await aPlaceForAll({ volume: 0.01 });
const { db } = warehouse;
const run = (...args: string[]) => gmsiHere(args, setting);
const food = jobFor({ ...january, countries: ['NO'], topics: ['Inflation-Food'] });
const now = new Date();

beforeEach(async () => {
  await sqlIn(db)`delete from gmsi.schedules; delete from gmsi.jobs; delete from gmsi.processes`;
  await folder.write('jobs/us-food.yaml', food);
});

/** A living worker loads the job. */
async function loading(): Promise<void> {
  await listed(db, 'w');
  await sqlIn(db)`update gmsi.schedules set due_at = now() where job = 'us-food' and command = 'backfill'`;
  expect(
    await takeDueJobs(db, 'backfill', { processId: 'w', leaseSeconds: 30, atMost: 1, now }),
  ).toHaveLength(1);
}

it('says of a paused job in every place that it is, also if no worker knows it', async () => {
  await sqlIn(
    db,
  )`insert into gmsi.schedules (job, command, fired_at, timezone) values ('us-food', 'backfill', now(), 'UTC')`;
  expect((await run('job', 'pause', 'us-food')).code).toBe(0);
  expect((await run('status')).stdout).toMatch(/^us-food +stopped +paused by an operator /m);
  expect((await run('status', '--check')).code).toBe(1);
});

it('says what it did for each job, also if there was nothing to do', async () => {
  await registered(db, 'us-food', { ...food, schedule: { sync: '0 * * * *' } }, now);
  await registered(db, 'idle', food, now);
  await loading();
  await sqlIn(db)`
    update gmsi.schedules set paused_because = 'failures', resumes_at = now() where job = 'us-food' and command = 'sync'`;
  const paused = await run('job', 'pause', 'us-food', 'idle', 'idle');
  expect(paused).toMatchObject(
    prints(
      0,
      'us-food: paused. Its backfill ends after the requests in flight, and will continue. Queued until it is resumed: sync.\n' +
        'idle: paused.\n\nTo continue: gmsi job resume us-food idle\n',
    ),
  );
  expect(await run('job', 'pause', 'idle')).toMatchObject(prints(0, 'idle: was paused already.'));
  expect((await run('status')).stdout).toMatch(/us-food +sync .*paused by an operator/);
  expect(await run('job', 'stop', 'us-food')).toMatchObject(
    prints(
      0,
      'us-food: stopped. Its backfill ends after the requests in flight. Cancelled: sync. It is still paused.',
    ),
  );
  expect(await run('job', 'resume', 'us-food', 'idle')).toMatchObject(
    prints(0, 'us-food: resumed. Its schedule goes on.\nidle: resumed.\n'),
  );
  expect(await run('job', 'resume', 'idle')).toMatchObject(prints(0, 'idle: was not paused.'));
  expect(await run('job', 'stop', 'idle')).toMatchObject(prints(0, 'idle: nothing was running or queued.'));

  await loading();
  const { stdout } = await run('job', 'stop', 'jobs/us-food.yaml', '--json');
  expect(JSON.parse(stdout)).toEqual({
    action: 'stop',
    jobs: [
      {
        job: 'us-food',
        was_paused: false,
        loading: ['backfill'],
        queued: [],
        waiting: [],
        is_scheduled: true,
      },
    ],
  });
  expect(sandbox.stats().requests).toBe(0);
});

it('does not say that it ends a sync that a person has started', async () => {
  await registered(db, 'us-food', food, now);
  await listed(db, 'p', 'sync');
  await sqlIn(db)`update gmsi.schedules set due_at = now(), process_id = 'p' where command = 'sync'`;
  expect(await run('job', 'stop', 'us-food')).toMatchObject(
    prints(0, 'us-food: stopped. Cancelled: sync.\n'),
  );
});

it('refuses jobs that no worker knows, and changes nothing for the others', async () => {
  expect(await run('job', 'stop', 'us-food')).toMatchObject(
    says(2, /No worker knows the job us-food[\s\S]*gmsi backfill us-food --enqueue/),
  );
  expect(await run('job', 'stop', 'other')).toMatchObject(says(2, 'No worker has stored a job yet'));
  await registered(db, 'gone', food, now);
  expect(await run('job', 'pause', 'gone', 'gon')).toMatchObject(
    says(2, /There is no job gon\.\n.*Did you mean gone\?/),
  );
  expect(await sqlIn(db)`select from gmsi.schedules where paused_because is not null`).toEqual([]);
  expect(await run('job', 'halt', 'gone')).toMatchObject(says(2, 'pause, resume, stop'));
  expect(await run('job', 'pause')).toMatchObject(says(2, 'job'));
});

it('leaves a person to load a paused job, and queues it until it is resumed', async () => {
  await registered(db, 'us-food', food, now);
  await run('job', 'pause', 'us-food');
  const { stdout } = await run('backfill', 'us-food', '--enqueue');
  expect(stdout).toMatch(/queued, but paused by an operator[\s\S]*To run them: gmsi job resume us-food\n/);
  expect(JSON.parse((await run('backfill', 'us-food', '--enqueue', '--json')).stdout)).toMatchObject({
    jobs: [{ job: 'us-food', is_paused: true }],
  });
  for (const command of ['backfill', 'sync'])
    expect(await run(command, 'us-food')).toMatchObject({ code: 0 });
  expect(await db.selectFrom('gmsi.windows').select('state').distinct().execute()).toEqual([
    { state: 'drained' },
  ]);
  const paused = await sqlIn(db)`select from gmsi.schedules where paused_because = 'operator'`;
  expect(paused).toHaveLength(3);
  expect(await run('job', 'resume', 'us-food')).toMatchObject(prints(0, 'Continues now: backfill.'));
});
