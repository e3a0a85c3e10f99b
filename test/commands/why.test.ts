import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { why as whyCommand } from '../../src/commands/why.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { runCommand } from './run-command.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-31' };

const warehouse = await aWarehouseForAll();
const sandbox = await aSandboxForAll({ limits: null, volume: 1 });
let id: string;
const why = (asked: string, json = false) =>
  runCommand({ warehouse, sandbox, json }, (session) => whyCommand.run(session, asked, {}));

beforeAll(async () => {
  await runBackfill({ job: aJobFor(scope), db: warehouse.db, sandbox });
  const rows = await sqlIn(warehouse.db)<{ headline_id: string }>`
    select headline_id from gmsi.headlines where country = 'US' order by published_at limit 1`;
  id = rows[0]!.headline_id;
});

test('a row as it was loaded: its load, its window, and when that was requested and complete', async () => {
  const { output } = await why(id);
  expect(output).toMatch(/row of +gmsi\.headlines\nkey +US · Inflation-Food · COMBINED · 2024-01-/);
  expect(output).toMatch(/standing +current, in this version since \d{4}-\d\d-\d\d/);
  expect(output).toMatch(
    /loaded with its day .* 1 +backfill test +(\d+)\n\nwindow \1 .*\/US, 2024-01-01 to 2024-01-31, requested 2\d{3}-[-\d]+ [:\d]+ UTC, complete 2\d{3}-/,
  );
});

test('a row that was rescored and then retracted has all its versions, and why each was replaced', async () => {
  const change = async (set: string) => {
    await sql
      .raw(
        `update gmsi.headlines set ${set}, changed_at = changed_at + interval '1 second' where headline_id = '${id}'`,
      )
      .execute(warehouse.db);
  };
  await change('directional_score = 0.123');
  await change('retracted_at = now()');
  const { output } = await why(id);
  expect(output).toMatch(
    /loaded with its day[\s\S]*\n\S+ \S+ +rescored +0\.123[\s\S]*\n\S+ \S+ +retracted +0\.123/,
  );
  expect(output).toMatch(/standing +retracted \d{4}-.* UTC: the service no longer returned it/);
  const [row] = JSON.parse((await why(id, true)).output).rows;
  expect(row).toMatchObject({ table: 'gmsi.headlines', stands: false });
  expect(row.versions.map((one: { replaced_because: string }) => one.replaced_because)).toEqual([
    'rescored',
    'retracted',
    null,
  ]);
});

test('a headline of which the service has corrected the time has a row for each, and says so', async () => {
  const rows = await sqlIn(warehouse.db)<{ id: string }>`
    select headline_id as id from gmsi.headlines where country = 'DE' order by published_at offset 3 limit 1`;
  const moved = rows[0]!.id;
  await runBackfill({
    job: aJobFor({ ...scope, countries: ['DE'] }),
    db: warehouse.db,
    sandbox,
    plan: { fullRefresh: true, retryRefused: false },
    async aroundPage(ask) {
      const page = await ask();
      const records = ([...page.records] as { id: string; publication_time: string }[]).map((record) =>
        record.id === moved ? { ...record, publication_time: '2024-01-02T03:04:05Z' } : record,
      );
      return { ...page, records };
    },
  });
  const { output } = await why(moved);
  expect(output).toMatch(/\n\S+ \S+ +moved from 2024-01-0\d \S+ /);
  expect(output).toMatch(/\n\S+ \S+ +moved +\S+ /);
  expect(output).toMatch(
    /standing +moved \d{4}-.* UTC: the service returned it with another publication time, which has its own row/,
  );
});

test('a row that no window brought: the live answer, or the files that may have had it', async () => {
  const run = sqlIn(warehouse.db);
  const [row] = await run<{ id: string }>`
    update gmsi.headlines set window_id = null
    where headline_id = (select headline_id from gmsi.headlines where country = 'DE' order by published_at offset 5 limit 1)
    returning headline_id as id`;
  expect((await why(row!.id)).output).not.toMatch(/^(window|live answer|files)/m);
  await run`
    insert into gmsi.imported_files (feed, country, topic, ticker, match_type, variant, content, name, archive, made_at, load_id,
      records_by_day)
    select 'gmsi-headlines', '', topic, '', '', '', name, name, '', now(), load_id, json_build_object(day, 1)
    from gmsi.headlines cross join (values ('its.csv', 0), ('other.csv', 1)) as files (name, later)
    cross join lateral (select ((published_at at time zone 'UTC')::date + later)::text as day) as days
    where headline_id = ${row!.id}`;
  expect((await why(row!.id)).output).toMatch(/^files of load \d+ +its\.csv$/m);
  await run`delete from gmsi.imported_files`;
  await run`
    insert into gmsi.readings (load_id, series_id, first_day, last_day, asked_at, asked_on, settled_before, source, is_whole, is_first)
    select load_id, series_id, '2024-01-01', '2024-01-31', asked_at, '2024-01-31', '2024-01-31', 'l', false, false
    from gmsi.headlines join gmsi.series using (country, topic, match_type) where headline_id = ${row!.id}`;
  const { output } = await why(row!.id);
  expect(output).toMatch(
    /^live answer \d+ +\S+\/DE, 2024-01-01 to 2024-01-31, requested \S+ \S+ UTC, complete /m,
  );
});

test('an id that no row has, and a text that is no id', async () => {
  expect((await why('00000000-0000-0000-0000-000000000000')).output).toMatch(
    /No row has or ever had the id 0000/,
  );
  await expect(why('5f0c')).rejects.toThrow('"5f0c" is not an id.');
});
