import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlace } from '../cli/place.ts';
import { aWindowIn, forgetOpenIn, sqlIn } from '../support/warehouse-state.ts';

const desk = {
  countries: ['US'],
  topics: ['Inflation-Food'],
  start_date: '2026-01-01',
  end_date: '2026-01-31',
};

it('status --check ends with 0 only if every job is good or working, and says why not', async () => {
  await using place = await aPlace({ volume: 0.02 });
  const { db } = place.warehouse;
  const write = (more: object = {}) => place.folder.write('jobs/desk.yaml', { ...desk, ...more });
  const run = (...args: string[]) => gmsiHere(args, place.setting);
  const told = async () => {
    const { jobs } = JSON.parse((await run('status', '--json')).stdout);
    const { code } = await run('status', '--check');
    return [jobs[0].state, jobs[0].why, code];
  };
  await write();
  expect(await told()).toEqual(['behind', 'its series are not known yet', 1]);
  await run('lookups');
  expect(await told()).toEqual(['behind', '31 days missing', 1]);
  await sqlIn(
    db,
  )`insert into gmsi.loads (command, job, feed, run_by, process_id) values ('backfill', 'desk', 'gmsi-headlines', 'test', 'own')`;
  expect(await told()).toEqual(['behind', '31 days missing', 1]);
  await registerProcess(db, {
    ...{ process_id: 'own', command: 'backfill', run_by: 'here', version: 'test', concurrency: null },
  });
  expect(await told()).toEqual(['working', null, 0]);
  await sqlIn(db)`update gmsi.loads set finished_at = now(), outcome = 'interrupted'`;
  await run('backfill', 'desk');
  expect(await told()).toEqual(['good', null, 0]);
  expect((await run('status')).stdout).toMatch(/^desk +good +gmsi-headlines/m);

  await aWindowIn(db, '2026-01-01', '2026-01-02', { state: 'failed', last_error: 'No answer' });
  expect(await told()).toEqual(['failing', '1 window failed', 1]);
  await forgetOpenIn(db);
  await aWindowIn(db, '2026-01-01', '2026-01-02', { state: 'pending' });
  expect(await told()).toEqual(['behind', '1 window left', 1]);
  await forgetOpenIn(db);

  // Nothing more is to be requested.
  await write({ budget: { requests_per_month: 1 } });
  expect(await told()).toEqual(['good', null, 0]);
  // As by cron: something else has just loaded it.
  await write({ schedule: { backfill: '0 1 * * *' } });
  expect(await told()).toEqual(['good', null, 0]);
  await sqlIn(
    db,
  )`update gmsi.loads set finished_at = now() - interval '3 days', updated_at = now() - interval '3 days'`;
  expect(await told()).toEqual(['stopped', 'no worker runs it', 1]);
  await write({ schedule: { backfill: '0 1 * * *' }, budget: { requests_per_month: 1 } });
  expect(await told()).toEqual(['stopped', "the month's requests are spent", 1]);
  await sqlIn(db)`update gmsi.loads set finished_at = now()`;
  expect(await told()).toEqual(['stopped', "the month's requests are spent", 75]);
  await write({ alerts: { max_lag: 'P5D' }, end_date: 'today' });
  expect(await told()).toEqual(['failing', expect.stringMatching(/^\d+\.\d days late$/), 1]);
  await write();
  await sqlIn(db)`delete from gmsi.headlines`;
  expect(await told()).toEqual(['failing', 'rows are gone', 1]);
  await run('backfill', 'desk', '--full-refresh');
  expect(await told()).toEqual(['good', null, 0]);
  // Days before the history limit, such as those of archives, cannot be requested.
  await write({ start_date: '2025-12-01' });
  await run('backfill', 'desk');
  await sqlIn(db)`delete from gmsi.headlines where published_at < '2026-01-01 00:00+00'`;
  expect(await told()).toEqual(['failing', 'rows are gone', 1]);
  await write({ start_date: '2025-12-01', history_limit: '2026-01-01' });
  expect(await told()).toEqual(['good', null, 0]);
  await write();
  await place.folder.write('jobs/another.yaml', 'countries: [US');
  expect(await told()).toEqual(['failing', 'cannot be read', 1]);
  await rm(join(place.folder.path, 'jobs'), { recursive: true });
  expect((await run('status', '--check')).code).toBe(2);
});
