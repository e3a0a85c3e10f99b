import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { status } from '../../src/commands/status.ts';
import { typedJob } from '../../src/config/find-job-file.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { aWindowIn, coverIn } from '../support/warehouse-state.ts';
import { runCommand } from './run-command.ts';

const clock = () => new Date('2026-10-31T12:00:00Z');
const { folder, warehouse, sandbox } = await aPlaceForAll({ clock });
const path = join(folder.path, 'food.yaml');

/** In GB, days of every kind are missing; US has all but the days that may still change, and NO was never requested. */
beforeAll(async () => {
  await folder.write(
    'food.yaml',
    'countries: [US, GB, NO]\ntopics: [Inflation-Food]\nstart_date: 2026-10-01\nend_date: today\n',
  );
  const { db } = warehouse;
  await sql`insert into gmsi.countries (country, name) select c, c from unnest(array['US', 'GB', 'NO']) c;
    insert into gmsi.topics (topic) values ('Inflation-Food')`.execute(db);
  await coverIn(db, '{[2026-10-01,2026-10-25)}');
  await aWindowIn(db, '2026-10-25', '2026-10-31', { first_unsettled: '2026-10-29' });
  const inGb = (from: string, to: string, values = {}) =>
    aWindowIn(db, from, to, { country: 'GB', ...values });
  await inGb('2026-10-03', '2026-10-09');
  await inGb('2026-10-12', '2026-10-14', { state: 'failed', last_error: '503 Service Unavailable' });
  await inGb('2026-10-15', '2026-10-16', { state: 'refused', last_error: '422 no such days' });
  await inGb('2026-10-17', '2026-10-20', { state: 'pending' });
});

const show = (json: boolean) =>
  runCommand({ warehouse, sandbox, clock, json }, (session) => status.run(session, [path], { days: true }));

test('status --days names each range of days that is missing, why, and the command that loads it', async () => {
  const { jobs } = JSON.parse((await show(true)).output);
  const [{ missing }] = jobs;
  const rows = missing.map((one: Record<string, string>) =>
    [
      one.country,
      one.from!.slice(8),
      one.to!.slice(8),
      one.state,
      one.says,
      one.command!.replace(/^(npx )?gmsi /, ''),
    ].join(' | '),
  );
  const of = (command: string, more = '') => `${command} ${typedJob(path)}${more}`;
  expect(rows).toEqual([
    `GB | 01 | 02 | not loaded |  | ${of('backfill')}`,
    `GB | 10 | 11 | not loaded |  | ${of('backfill')}`,
    `GB | 12 | 14 | failed | 503 Service Unavailable | ${of('backfill')}`,
    `GB | 15 | 16 | refused | 422 no such days | ${of('backfill', ' --retry-refused')}`,
    `GB | 17 | 20 | pending |  | ${of('backfill')}`,
    `GB | 21 | 31 | not loaded |  | ${of('backfill')}`,
    `NO | 01 | 31 | not loaded |  | ${of('backfill')}`,
    `US | 29 | 31 | settling |  | ${of('sync')}`,
  ]);
  const { output } = await show(false);
  expect(output).toContain('Job food, 2026-10-01 to 2026-10-31: 8 ranges missing');
  expect(output).toContain('failed: 503 Service Unavailable');
});
