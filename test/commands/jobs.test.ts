import { expect, it } from 'vitest';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlaceForAll } from '../cli/place.ts';

const { sandbox, folder, setting } = await aPlaceForAll({ volume: 0.01 });
const list = (...args: string[]) => gmsiHere(['status', ...args], setting);

it('lists no job if there is no folder of jobs', async () => {
  const { code, stdout } = await list();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Jobs: no file in jobs\/$/m);
  expect(stdout).toMatch(/\nNext: gmsi init\n$/);
  expect(sandbox.stats().requests).toBe(0);
});

it('says how far each job is covered, and suggests the one that is not', async () => {
  const job = {
    feed: 'gmsi-headlines',
    countries: ['US'],
    topics: ['Inflation-Food'],
    end_date: '2024-03-31',
  };
  await folder.write('jobs/done.yaml', { ...job, start_date: '2024-03-01' });
  await folder.write('jobs/part.yaml', { ...job, start_date: '2024-01-31' });
  // Recent days, which may still change, do not count.
  const start_date = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  await folder.write('jobs/new.yaml', { ...job, start_date, end_date: 'today' });
  const schedule = { sync: '15 * * * *', backfill: '0 1 * * *', timezone: 'Asia/Tokyo' };
  await folder.write('jobs/z.yaml', { ...job, countries: ['NO'], start_date: '2024-03-01', schedule });
  expect((await list()).stdout).toMatch(/Next: gmsi lookups\n$/);
  expect(await gmsiHere(['backfill', 'done'], setting)).toMatchObject({ code: 0 });

  const requests = sandbox.stats().requests;
  const { code, stdout } = await list();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^done +good +gmsi-headlines +2024-03-01 +2024-03-31 +1 of 1 +100% +2024-03-31$/m);
  // Complete is only what is complete: 31 of 61 days.
  expect(stdout).toMatch(
    /^part +behind +30 days missing +gmsi-headlines +2024-01-31 +2024-03-31 +0 of 1 +50\.8%$/m,
  );
  expect(stdout).toMatch(/^z +stopped +no worker runs it .* 0 of 1 +0\.0%$/m);
  expect(stdout).toMatch(/^z +no worker runs it +Nothing is loaded as scheduled\. +gmsi work +\d+$/m);
  expect(stdout).toMatch(/^part +30 days missing +gmsi backfill part +1$/m);
  expect(stdout).toMatch(/\nNext: gmsi work\n$/);
  // The plan of a backfill says what it costs.
  expect((await list('part')).stdout).toMatch(/\nNext: gmsi plan part\n$/);

  const { jobs } = JSON.parse((await list('--json')).stdout);
  expect(jobs.map(({ covered, wanted }: { covered: number; wanted: number }) => [covered, wanted])).toEqual([
    [31, 31],
    [null, null],
    [31, 61],
    [0, 31],
  ]);
  expect(sandbox.stats().requests).toBe(requests);
});

it('lists the others beside job files that cannot be read or name what the service does not list, and says what is wrong', async () => {
  await folder.write('jobs/broken.yaml', 'feed: gmsi-headlins\n');
  await folder.write('jobs/typo.yaml', 'countries: [US]\ntopics: [Inflation-Fod]\nstart_date: 2024-01-01\n');
  const { code, stdout } = await list();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^done +good .* 100% +2024-03-31$/m);
  expect(stdout).toMatch(/^broken +failing +cannot be read$/m);
  expect(stdout).toMatch(/^typo +failing +cannot run .*\n/m);
  expect(stdout).toMatch(/jobs\/broken\.yaml:1/);
  expect(stdout).toContain('did you mean "gmsi-headlines"?');
  expect(stdout).toContain('did you mean "Inflation-Food"?');
});
