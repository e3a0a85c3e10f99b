import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { heldBy, servedBy } from '../support/truth.ts';
import { says } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlace } from './place.ts';

it('plans and reports on an empty, a half-loaded and a covered warehouse without a request', async () => {
  await using place = await aPlace({ volume: 0.05 });
  const { folder, sandbox, setting } = place;
  await folder.write('jobs/job.yaml', jobFor(quarter, { step: 'P30D', service: { end_date: 'inclusive' } }));
  await folder.write(
    'jobs/half.yaml',
    jobFor({ ...quarter, countries: ['US'] }, { service: { end_date: 'inclusive' } }),
  );
  const spendingNothing = async (...args: string[]) => {
    const before = sandbox.stats().requests;
    const ended = await gmsiHere(args, setting);
    expect(sandbox.stats().requests).toBe(before);
    return ended;
  };

  expect(await spendingNothing('plan', 'job')).toMatchObject(says(2, 'gmsi lookups'));
  expect((await spendingNothing('status', 'job')).stdout).toMatch(
    /its series are not known yet[\s\S]*Last loads: none yet/,
  );

  await gmsiHere(['lookups'], setting);
  // 91 days in windows of 30: four a series.
  expect((await spendingNothing('plan', 'job')).stdout).toMatch(
    /covered +0 of 364 days[\s\S]*windows +16 new\n[\s\S]*requests +at least 16/,
  );
  expect((await spendingNothing('status', 'job')).stdout).toMatch(
    /^job +behind +364 days missing .* 0 of 4 +0\.0%/m,
  );

  await gmsiHere(['backfill', 'half'], setting);
  const half = await spendingNothing('plan', 'job');
  expect(half.stdout).toMatch(
    /covered +182 of 364 days[\s\S]*windows +8 new\n[\s\S]*requests +at least 8, about \d+ expected/,
  );
  expect((await spendingNothing('status', 'job')).stdout).toMatch(
    /^job +behind +182 days missing .* 2 of 4 +50\.0%[\s\S]*^job +182 days missing .* gmsi backfill job +8$/m,
  );

  const planned = JSON.parse((await spendingNothing('plan', 'job', '--json')).stdout).jobs[0];
  const before = sandbox.stats().requests;
  await gmsiHere(['backfill', 'job'], setting);
  expect(sandbox.stats().requests - before).toBeGreaterThanOrEqual(planned.least_requests);

  expect((await spendingNothing('plan', 'job')).stdout).toMatch(
    /covered +364 of 364 days[\s\S]*none: everything is covered/,
  );
  const covered = await spendingNothing('status', 'job');
  expect(covered.stdout).toMatch(/^job +good .* 4 of 4 +100% /m);
  for (const line of covered.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

it('names the rows that are gone with a partition, and the command that loads them again', async () => {
  await using place = await aPlace({ volume: 0.5 });
  const { folder, sandbox, warehouse, setting } = place;
  await folder.write('jobs/job.yaml', jobFor(quarter));
  const run = (...args: string[]) => gmsiHere(args, setting);
  expect(await run('backfill', 'job')).toMatchObject({ code: 0 });
  expect((await run('status', 'job')).stdout).not.toContain('rows are gone');
  await sql`drop table gmsi.headlines_2024_02`.execute(warehouse.db);

  const again = 'gmsi backfill job --full-refresh --from 2024-02-01 --to 2024-02-29';
  for (const args of [
    ['plan', 'job'],
    ['backfill', 'job'],
    ['status', 'job'],
    ['status'],
    ['check', 'job', '--only', 'lost-rows'],
  ])
    expect((await run(...args)).stdout.replaceAll(/\s+/g, ' '), args.join(' ')).toContain(again);
  const { stdout } = await run('check', 'job', '--only', 'lost-rows');
  const later = /gmsi check job --from (\S+)/.exec(stdout)![1]!;
  expect(later > '2024-02-29' && later <= '2024-04-01', later).toBe(true);

  expect(await run(...again.split(' ').slice(1))).toMatchObject({ code: 0 });
  expect(await heldBy(warehouse.db, quarter)).toEqual(servedBy(sandbox, quarter));
  expect((await run('status', 'job')).stdout).not.toContain('rows are gone');
  expect(await run('check', 'job', '--only', 'lost-rows')).toMatchObject({ code: 0 });
});
