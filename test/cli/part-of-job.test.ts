import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../support/cases.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { accessTo, prints } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll({ volume: 0.3 });

beforeAll(async () => {
  const settings = { service: { end_date: 'inclusive' } };
  await folder.write('jobs/january.yaml', jobFor(january, settings));
  const recent = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10);
  await folder.write(
    'jobs/recent.yaml',
    jobFor({ ...january, countries: ['DE'], from: recent, to: 'today' }, settings),
  );
  expect(await gmsi('lookups')).toMatchObject({ code: 0 });
});
const gmsi = (...args: string[]) => gmsiHere(args, { cwd: folder.path, env: accessTo(warehouse, sandbox) });

async function covered() {
  const { rows } = await sql<{ country: string; topic: string; days: string }>`
    select country, topic, days::text from gmsi.coverage order by country, topic`.execute(warehouse.db);
  return rows.map(({ country, topic, days }) => `${country} ${topic} ${days}`);
}

describe('a part of a job', () => {
  it('1: is planned, loaded and checked alone; the whole job then loads only the rest', async () => {
    const part = ['--country', 'US', '--topic', 'Inflation*', '--from', '2024-01-10', '--to', '2024-01-19'];
    const planned = await gmsi('plan', 'january', ...part);
    expect(planned).toMatchObject(prints(0, /covered +0 of 10 days/));
    expect(planned.stdout).toContain(
      'gmsi backfill january --country US --topic "Inflation*" --from 2024-01-10 --to 2024-01-19\n',
    );
    expect(await covered()).toEqual([]);

    expect(await gmsi('backfill', 'january', ...part)).toMatchObject({ code: 0 });
    expect(await covered()).toEqual(['US Inflation-Food {[2024-01-10,2024-01-20)}']);
    const checked = await gmsi('check', 'january', ...part, '--json');
    expect(JSON.parse(checked.stdout).jobs).toMatchObject([
      { series: 1, period: { from: '2024-01-10', to: '2024-01-19' } },
    ]);

    const whole = JSON.parse((await gmsi('backfill', 'january', '--json')).stdout).jobs[0];
    // Before and after the part, and the three other series.
    expect(whole.totals.windows_drained).toBe(5);
    expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
  });

  it('2: is loaded again by --full-refresh, and the reason is kept', async () => {
    const part = ['--country', 'NO', '--from', '2024-01-30'];
    const reason = 'the vendor has corrected Norway';
    const again = ['--full-refresh', '--reason', reason, '--json'];
    const refreshed = await gmsi('backfill', 'january', ...part, ...again);
    expect(JSON.parse(refreshed.stdout).jobs[0].totals.windows_drained).toBe(2);
    const { rows } = await sql`
      select l.reason, w.country, w.first_day::text, w.last_day::text
      from gmsi.windows w join gmsi.loads l on l.load_id = (select max(load_id) from gmsi.loads)
      where w.window_id > (select max(window_id) - 2 from gmsi.windows)`.execute(warehouse.db);
    const norway = { reason, country: 'NO', first_day: '2024-01-30', last_day: '2024-01-31' };
    expect(rows).toEqual([norway, norway]);
    expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
  });

  it('a sync of a period that is over does not say that everything is covered', async () => {
    const { code, stdout } = await gmsi('sync', 'january');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^january: nothing to sync, because its period is over, .*\n\nNext: gmsi check january\n/,
    );
  });

  it('3: is synced alone, the live feed too', async () => {
    const { code, stdout } = await gmsi('sync', 'recent', '--topic', 'Inflation-Food', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).jobs[0].live).toMatchObject({ series: 1 });
    const { rows } = await sql`select distinct topic from gmsi.headlines where country = 'DE'`.execute(
      warehouse.db,
    );
    expect(rows).toEqual([{ topic: 'Inflation-Food' }]);
  });

  it('4: --all loads every job of the folder', async () => {
    const { jobs } = JSON.parse((await gmsi('backfill', '--all', '--json')).stdout);
    expect(jobs).toMatchObject([
      { job: 'january', outcome: 'done' },
      { job: 'recent', outcome: 'done' },
    ]);
    expect((await covered()).filter((line) => line.startsWith('DE'))).toHaveLength(2);
    expect(await gmsi('check')).toMatchObject(prints(0, /january[\s\S]*recent/));
  });

  it('5: --all loads the others beside files that are wrong, says what is wrong with these, and exits with 2', async () => {
    const wrong = {
      broken: 'feed: gmsi-headlins\n',
      misspelt: jobFor({ ...january, topics: ['Inflation-Fod'] }),
    };
    for (const [name, text] of Object.entries(wrong)) await folder.write(`jobs/${name}.yaml`, text);
    for (const args of [['plan', '--all'], ['check'], ['backfill', '--all'], ['sync', '--all']]) {
      const { code, stdout, stderr } = await gmsi(...args);
      expect(stdout).toMatch(/january[\s\S]*recent/);
      expect(stderr).toMatch(/gmsi-headlins[\s\S]*did you mean "Inflation-Food"/);
      expect(code).toBe(2);
    }
    const { jobs } = JSON.parse((await gmsi('backfill', '--all', '--json')).stdout);
    expect(jobs.map(({ job, outcome }: Record<string, string>) => `${job} ${outcome}`).toSorted()).toEqual([
      'broken failed',
      'january done',
      'misspelt failed',
      'recent done',
    ]);
    for (const name of Object.keys(wrong)) await rm(join(folder.path, 'jobs', `${name}.yaml`));
  });

  it.each(cases`
    a country that the job does not have | --country FR | --country FR: january has no such country
    a name in other letters | --topic inflation-food | Did you mean Inflation-Food\?
    a dimension that the feed does not have | --ticker A | gmsi-headlines, has no ticker
    days before its period | --from 2023-12-31 | 2024-01-01 to 2024-01-31, does not include 2023-12-31
    days after its period | --to 2024-02-01 | does not include 2024-02-01
    days in the wrong order | --from 2024-01-09 --to 2024-01-08 | --from 2024-01-09 is after --to 2024-01-08
    a day to come | --from 2199-01-01 | --from 2199-01-01 is after today
    all and one | --all | Name jobs, or use --all, but not both
  `)('6: %s ends with what is wrong, before any request', async (_, args, what) => {
    const before = sandbox.stats().requests;
    for (const command of ['plan', 'backfill', 'sync']) {
      const { code, stderr } = await gmsi(command, 'january', ...args!.split(' '));
      expect(stderr).toMatch(new RegExp(what!));
      expect(code).toBe(2);
    }
    expect(sandbox.stats().requests).toBe(before);
  });
});
