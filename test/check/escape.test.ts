import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Check, parseCheck } from '../../src/check/check-file.ts';
import { type CheckedJob, runChecks } from '../../src/check/run-checks.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { cases } from '../support/cases.ts';
import { aJob } from '../support/run-backfill.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { busy, checkedJob, loaded, run } from './loaded.ts';

/** Checks run here by a superuser, as on the embedded server. */
let warehouse: TestWarehouse;
let checked: CheckedJob;
beforeAll(async () => {
  const job = aJob({ ...busy, end_date: '2024-01-31' });
  warehouse = await loaded([job]);
  checked = await checkedJob(warehouse.db, job);
  // What somebody could have put there before, for a check of theirs to call.
  await sql
    .raw(`
    create schema trap;
    grant usage on schema trap to public;
    create function trap.out() returns text language plpgsql as $$ begin
      execute 'set role none'; return pg_catalog.current_setting('is_superuser'); end $$;
    create function trap.write() returns text language plpgsql as $$ begin
      set transaction read write; delete from gmsi.headlines; return 'gone'; end $$;
    create function trap.set_config(text, text, boolean) returns text language sql as 'select trap.out()';
    create function trap.pg_backend_pid() returns int language sql as 'select length(trap.out())';
  `)
    .execute(warehouse.db);
}, 60_000);
afterAll(() => warehouse[Symbol.asyncDispose]());

function aCheck(query: string, name = 'own'): Check {
  const text = ['-- check: A check', '-- why: A reason', query].join('\n');
  return parseCheck(`team/${name}.sql`, text, [...catalog.keys()]);
}

async function rowsOf(query: string, db = warehouse.db) {
  return (await runChecks(db, [checked], [aCheck(query)], run))[0]![0]!.rows;
}

test('a check runs as gmsi_reader, whoever runs it', async () => {
  expect(
    await rowsOf(`select current_user::text as name, current_setting('transaction_read_only') as only_reads`),
  ).toEqual([{ name: 'gmsi_reader', only_reads: 'on' }]);
});

const escapes = cases`
  calls a function that writes | select trap.write() as x | read-write mode|permission denied
  lets the transaction write | select set_config('transaction_read_only', 'off', true) | read-write mode
  ends the query and begins another | select 1) select 2; reset role; select (1 | syntax error
  closes the parenthesis around it | select 1 as a) select to_json(1) as row from pg_read_file('/etc/passwd') as (x text | permission denied|syntax error|column definition
  reads a file | select pg_read_file('/etc/passwd') as x | permission denied for function pg_read_file
  reads it by a text | select query_to_xml('select pg_read_file(''/etc/passwd'')', true, true, '')::text as x | permission denied for function pg_read_file
  lists a folder | select pg_ls_dir('.') as x | permission denied for function pg_ls_dir
  reads passwords | select rolpassword from pg_authid | permission denied for table pg_authid
  reads what is not for readers | select * from gmsi.api_usage | permission denied for table api_usage
  has the server read its settings again | select pg_reload_conf() | permission denied for function pg_reload_conf
  turns triggers off | select set_config('session_replication_role', 'replica', true) | permission denied to set parameter
  counts a sequence on | select nextval('gmsi.loads_load_id_seq') | permission denied|read-only transaction
`;

test.for(escapes)('a check that %s is refused', async ([, query, reason]) => {
  const { rows: before } = await sql`select count(*) as count from gmsi.headlines`.execute(warehouse.db);
  await expect(rowsOf(query!)).rejects.toMatchObject({
    name: 'BrokenCheck',
    message: expect.stringMatching(new RegExp(reason!)),
  });
  expect((await sql`select count(*) as count from gmsi.headlines`.execute(warehouse.db)).rows).toEqual(
    before,
  );
});

test('what a check sets does not reach the next one, nor the program', async () => {
  const set = `select set_config('search_path', 'trap, pg_catalog', false), set_config('statement_timeout', '0', false),
    set_config('TimeZone', 'Asia/Tokyo', false), pg_catalog.set_config('DateStyle', 'German', false)`;
  const look = `select current_setting('search_path') as path, current_setting('TimeZone') as zone,
    current_setting('statement_timeout') as most, current_setting('DateStyle') as style`;
  const [, then] = (await runChecks(warehouse.db, [checked], [aCheck(set, 'a'), aCheck(look, 'b')], run))[0]!;
  expect(then!.rows).toEqual([{ path: 'pg_catalog, pg_temp', zone: 'UTC', most: '1min', style: 'ISO, YMD' }]);
  const after = sql`select current_setting('search_path') as path, current_setting('role') as role,
    current_setting('transaction_read_only') as only_reads`;
  expect((await after.execute(warehouse.db)).rows).toEqual([
    { path: 'pg_catalog, pg_temp', role: 'none', only_reads: 'off' },
  ]);
});

test('who may not take the role runs checks with their own rights, and reads only', async () => {
  const name = `someone_${randomUUID().replaceAll('-', '')}`;
  await sql.raw(`create role ${name} login password 'x' in role gmsi_loader`).execute(warehouse.db);
  const url = new URL(warehouse.url);
  Object.assign(url, { username: name, password: 'x' });
  const db: Warehouse = connect({ kind: 'url', url: new Secret(url.href) }, 2);
  try {
    expect(await rowsOf('select current_user::text as name', db)).toEqual([{ name }]);
    await expect(
      rowsOf(`select gmsi.ensure_month_partition('headlines', '2050-01-01')::text as x`, db),
    ).rejects.toThrow(/read-only transaction/);
    await expect(rowsOf('select gmsi.rebuild_rollups() as x', db)).rejects.toThrow(/read-only transaction/);
  } finally {
    await db.destroy();
    await sql.raw(`drop role ${name}`).execute(warehouse.db);
  }
});
