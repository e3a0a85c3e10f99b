import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { accessTo, aFolder } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlace } from './place.ts';

it('1: a service that has nothing any more retracts nothing, unless that is accepted', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse } = place;
  await using empty = await startSandbox({ limits: null, volume: 0 });
  await folder.write(
    'jobs/job.yaml',
    jobFor({ ...january, countries: ['US'] }, { service: { end_date: 'inclusive' } }),
  );
  const run = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
  const withoutNews = { ...run, env: accessTo(warehouse, empty) };
  const retracted = async () => {
    const { rows } = await sql<{ rows: number; retracted: number }>`
      select count(*) as rows, count(retracted_at) as retracted from gmsi.headlines`.execute(warehouse.db);
    return rows[0]!;
  };
  await gmsiHere(['backfill', 'job'], run);
  const { rows } = await retracted();

  const failed = await gmsiHere(['backfill', 'job', '--full-refresh'], withoutNews);
  expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining('2 failed') });
  expect(failed.stderr).toMatch(
    /no longer returns (\d+) of the \1 rows .* none was retracted.*--accept-retractions/,
  );
  expect(await retracted()).toEqual({ rows, retracted: 0 });
  const planned = await gmsiHere(['plan', 'job', '--full-refresh'], withoutNews);
  expect(planned.stdout).toMatch(/^retractions .*--accept-retractions/m);

  const accept = '--accept-retractions';
  const accepted = await gmsiHere(['backfill', 'job', accept], withoutNews);
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining(`${rows} retracted`) });
  expect(await retracted()).toEqual({ rows, retracted: rows });
  const { stdout } = await gmsiHere(['status', 'job'], withoutNews);
  const loads = stdout.slice(stdout.indexOf('Last loads')).split('\n');
  const last = loads.slice(1, 5).map((line) => line.trim().split(/\s+/).at(-1));
  expect(last).toEqual(['retracted', `${rows}`, '0', '0']);
});

it('2: is not left to the workers', async () => {
  await using folder = await aFolder();
  const { code, stderr } = await gmsiHere(['backfill', 'job', '--enqueue', '--accept-retractions'], {
    cwd: folder.path,
    env: {},
  });
  expect(code).toBe(2);
  expect(stderr).toContain("'--accept-retractions'");
});
