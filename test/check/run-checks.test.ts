import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Check, parseCheck } from '../../src/check/check-file.ts';
import { type CheckedJob, runChecks } from '../../src/check/run-checks.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { sqlMarked } from '../docs/pages.ts';
import { aLogin } from '../support/a-login.ts';
import { cases } from '../support/cases.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJob } from '../support/run-backfill.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { countRows } from '../support/warehouse-state.ts';
import { series } from '../warehouse/a-row.ts';
import { busy, checkedJob, loaded, run } from './loaded.ts';

const job = aJob({ ...busy, end_date: '2024-01-31' });

let warehouse: TestWarehouse;
let checked: CheckedJob;
beforeAll(async () => {
  const wider = { countries: ['US', 'NO'], start_date: '2023-12-20', end_date: '2024-02-10' };
  const neighbours = aJob({ ...busy, ...wider });
  warehouse = await loaded([job, neighbours]);
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
});
afterAll(() => warehouse[Symbol.asyncDispose]());

function aCheck(query: string, ...head: string[]): Check {
  const text = ['-- check: A check', '-- why: A reason', ...head, query].join('\n');
  return parseCheck('team/own.sql', text, [...catalog.keys()]);
}

async function outcomeOf(check: Check, options: Partial<typeof run> = {}) {
  return (await runChecks(warehouse.db, [checked], [check], { ...run, ...options }))[0]![0]!;
}

test('a query without a row has passed; each row is a finding, and the first of them are kept', async () => {
  const passed = { result: 'passed', findings: 0, rows: [], reason: null };
  expect(await outcomeOf(aCheck('select 1 where false'))).toMatchObject(passed);
  const many = 'select n as "n°", \'x\' || n as b, now() as at from generate_series(1, 50) as n order by n';
  const { result, findings, rows } = await outcomeOf(aCheck(many), { rows: 2 });
  expect([result, findings, rows.length]).toEqual(['failed', 50, 2]);
  expect(Object.entries(rows[1]!)).toEqual([
    ['n°', 2],
    ['b', 'x2'],
    ['at', expect.stringMatching(/\+00:00$/)],
  ]);
  expect(await outcomeOf(aCheck(many), { rows: 0 })).toMatchObject({ findings: 50, rows: [] });
  expect(await outcomeOf(aCheck(many, '-- severity: warn'))).toMatchObject({
    result: 'warned',
    findings: 50,
  });
});

test('a query may begin with its own "with", and end with a semicolon or a comment', async () => {
  const query = 'with mine as (select 1 as a)\nselect a from mine';
  expect(await outcomeOf(aCheck(`${query};\n`))).toMatchObject({ rows: [{ a: 1 }] });
  expect(await outcomeOf(aCheck(`${query} -- that is all`))).toMatchObject({ rows: [{ a: 1 }] });
});

test("job_headlines holds the current headlines of the job's series and days, and no others", async () => {
  const { rows } = await sql<{ count: number; days: number }>`
    select count(*) as count, count(distinct (published_at at time zone 'UTC')::date) as days from gmsi.headlines
    where country = 'US' and published_at >= '2024-01-01T00:00Z' and published_at < '2024-02-01T00:00Z'
  `.execute(warehouse.db);
  expect(rows[0]).toMatchObject({ count: expect.any(Number), days: 31 });
  const query = `select count(*) as count, count(distinct (published_at at time zone 'UTC')::date) as days,
    min(country) as first, max(country) as last, (select count(*) from job_retracted_headlines) as retracted
    from job_headlines`;
  expect((await outcomeOf(aCheck(query))).rows).toEqual([
    { ...rows[0], first: 'US', last: 'US', retracted: 0 },
  ]);
});

test('job_series, job_days and job_period say what the job asks for, and what of it is covered', async () => {
  const query = `select p.*, s.*, d.* from job_period p cross join job_series s cross join (
    select count(*) as days, count(*) filter (where is_covered) as covered from job_days) as d`;
  const period = {
    ...{ first_day: '2024-01-01', last_day: '2024-01-31' },
    ...{ first_requested: '2024-01-01', first_unsettled: '2026-11-17' },
  };
  expect((await outcomeOf(aCheck(query))).rows).toEqual([
    { ...period, ...series, series_id: expect.any(Number), days: 31, covered: 31 },
  ]);
});

test('a check whose needs are not met is skipped, and so is one for another feed', async () => {
  const finding = 'select 1 as a';
  expect(await outcomeOf(aCheck(finding, '-- needs: gmsi.ticker_index'))).toMatchObject({
    result: 'skipped',
    reason: 'gmsi.ticker_index is empty',
  });
  expect(await outcomeOf(aCheck(finding, '-- needs: job_headlines'))).toMatchObject({ result: 'failed' });
  expect(await outcomeOf(aCheck(finding, '-- feeds: ticker-index'))).toMatchObject({ result: 'skipped' });
});

const broken = cases`
  names a column that there is not | select 1\nfrom job_headlines\nwhere sentimant > 1
      | ^team\/own\.sql:5: column "sentimant" does not exist
  has a typing error | select é\n\nfrom from | ^team\/own\.sql:5: syntax error at or near "from"
  is two queries | select 1; select 2 | ^team\/own\.sql:3: syntax error at or near ";"
  divides by zero | select 1 / (count(*) - count(*)) as a from job_headlines | ^team\/own\.sql: division by zero
  writes | delete from gmsi.headlines returning 1 | ^team\/own\.sql: cannot execute \w+ in a read-only transaction
  writes by a function | select gmsi.rebuild_rollups() | ^team\/own\.sql: permission denied for function rebuild_rollups
`;

test.for(broken)('a check that %s is named, with its line if there is one', async ([, query, says]) => {
  await expect(outcomeOf(aCheck(query!.replaceAll('\\n', '\n')))).rejects.toMatchObject({
    name: 'BrokenCheck',
    kind: 'fatal',
    message: expect.stringMatching(new RegExp(says!)),
  });
});

test.skipIf(isMoved)('a check that takes too long has failed, and those after it still run', async () => {
  const slow = aCheck('select pg_sleep(60)::text as a');
  const short = { ...run, timeout: 1 };
  const [results] = await runChecks(warehouse.db, [checked], [slow, aCheck('select 1 as a')], short);
  expect(results).toMatchObject([
    { result: 'failed', findings: 0, reason: 'canceling statement due to statement timeout' },
    { result: 'failed', findings: 1, reason: null },
  ]);
});

test('all checks of a run see the same moment', async () => {
  const counting = aCheck('select count(*) as headlines, now() as at from gmsi.headlines');
  const [first, second] = (await runChecks(warehouse.db, [checked, checked], [counting], run)).flat();
  expect(second!.rows).toEqual(first!.rows);
});

test('a stopped run ends the check in hand, and begins no other', async () => {
  const stop = new AbortController();
  const checking = outcomeOf(aCheck('select pg_sleep(600)::text as a'), { stop: stop.signal, timeout: 0 });
  const isUnderWay = sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
  await vi.waitFor(async () => expect((await isUnderWay.execute(warehouse.db)).rows).toHaveLength(1), 20_000);
  stop.abort();
  await expect(checking).rejects.toMatchObject({ name: 'AbortError' });
  await expect(outcomeOf(aCheck('select 1'), { stop: stop.signal })).rejects.toThrow(/abort/i);
});

async function rowsOf(query: string, db = warehouse.db) {
  return (await runChecks(db, [checked], [aCheck(query)], run))[0]![0]!.rows;
}

test('a check runs as gmsi_reader, whoever runs it', async () => {
  const query = `select current_user::text as name, current_setting('transaction_read_only') as only_reads`;
  expect(await rowsOf(query)).toEqual([{ name: 'gmsi_reader', only_reads: 'on' }]);
});

const escapes = cases`
  calls a function that writes | select trap.write() as x | read-write mode|permission denied
  lets the transaction write | select set_config('transaction_read_only', 'off', true) | read-write mode
  ends the query and begins another | select 1) select 2; reset role; select (1 | syntax error
  closes the parenthesis around it | select 1 as a) select to_json(1) as row from pg_read_file('/etc/passwd') as (x text
      | permission denied|syntax error|column definition
  reads a file | select pg_read_file('/etc/passwd') as x | permission denied for function pg_read_file
  reads it by a text | select query_to_xml('select pg_read_file(''/etc/passwd'')', true, true, '')::text as x
      | permission denied for function pg_read_file
  lists a folder | select pg_ls_dir('.') as x | permission denied for function pg_ls_dir
  reads passwords | select rolpassword from pg_authid | permission denied for table pg_authid
  reads what is not for readers | select * from gmsi.api_usage | permission denied for table api_usage
  has the server read its settings again | select pg_reload_conf() | permission denied for function pg_reload_conf
  turns triggers off | select set_config('session_replication_role', 'replica', true) | permission denied to set parameter
  counts a sequence on | select nextval('gmsi.loads_load_id_seq') | permission denied|read-only transaction
`;

test.for(escapes)('a check that %s is refused', async ([, query, reason]) => {
  const before = await countRows(warehouse.db, 'headlines');
  await expect(rowsOf(query!)).rejects.toMatchObject({
    name: 'BrokenCheck',
    message: expect.stringMatching(new RegExp(reason!)),
  });
  expect(await countRows(warehouse.db, 'headlines')).toBe(before);
});

test('what a check sets does not reach the next one, nor the program', async () => {
  const set = `select set_config('search_path', 'trap, pg_catalog', false), set_config('statement_timeout', '0', false),
    set_config('TimeZone', 'Asia/Tokyo', false), pg_catalog.set_config('DateStyle', 'German', false)`;
  const look = `select current_setting('search_path') as path, current_setting('TimeZone') as zone,
    current_setting('statement_timeout') as most, current_setting('DateStyle') as style`;
  const [, then] = (await runChecks(warehouse.db, [checked], [aCheck(set), aCheck(look)], run))[0]!;
  expect(then!.rows).toEqual([{ path: 'pg_catalog, pg_temp', zone: 'UTC', most: '1min', style: 'ISO, YMD' }]);
  const after = sql`select current_setting('search_path') as path, current_setting('role') as role,
    current_setting('transaction_read_only') as only_reads`;
  expect((await after.execute(warehouse.db)).rows).toEqual([
    { path: 'pg_catalog, pg_temp', role: 'none', only_reads: 'off' },
  ]);
});

test('who may not take the role runs checks with their own rights, and reads only', async () => {
  await using login = await aLogin(warehouse, 'gmsi_loader');
  const { db, name } = login;
  expect(await rowsOf('select current_user::text as name', db)).toEqual([{ name }]);
  for (const write of ["ensure_month_partition('headlines', '2050-01-01')::text", 'rebuild_rollups()'])
    await expect(rowsOf(`select gmsi.${write} as x`, db)).rejects.toThrow(/read-only transaction/);
});

test('the check that docs/reference.md shows runs as it is printed', async () => {
  const check = parseCheck('docs/reference.md', sqlMarked('check'), [...catalog.keys()]);
  expect(await outcomeOf(check)).toMatchObject({ result: 'passed' });
  const query = check.query.replace('< 2', '< 1000');
  expect(await outcomeOf({ ...check, query })).toMatchObject({ result: 'warned', findings: 23 });
});
