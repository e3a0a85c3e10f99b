import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { type SandboxOptions, startSandbox } from '#sandbox';
import { findChecks, onlyThese } from '../../src/check/find-checks.ts';
import { type CheckedJob, type CheckResult, type CheckRun, runChecks } from '../../src/check/run-checks.ts';
import type { Job } from '../../src/config/job.ts';
import { catalog, feedNamed } from '../../src/feeds/catalog.ts';
import { firstUnsettledDay, wantedDays } from '../../src/plan/days.ts';
import { scopeOf } from '../../src/plan/scope.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { readLookups } from '../../src/warehouse/tables/lookups.ts';
import { runBackfill } from '../support/run-backfill.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

/** One busy series of four months, in windows of one. */
export const busy = {
  countries: ['US'],
  topics: ['Inflation-Food'],
  start_date: '2024-01-01',
  end_date: '2024-04-30',
  step: 'P30D',
};

export const ordinary: SandboxOptions = { limits: null, volume: 1 };

/** Loads jobs from a sandbox. */
export async function loaded(jobs: readonly Job[], options = ordinary): Promise<TestWarehouse> {
  const warehouse = await aWarehouse();
  await using sandbox = await startSandbox(options);
  for (const job of jobs) await runBackfill({ job, db: warehouse.db, sandbox });
  return warehouse;
}

/** Changes a warehouse behind the program's back and that of its triggers. @returns how many rows */
export async function change({ db }: TestWarehouse, statement: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    return Number((await sql.raw(statement).execute(trx)).numAffectedRows);
  });
}

/** Changes one table so, looks at it, and puts it back as it was. */
export async function whileChanged(
  warehouse: TestWarehouse,
  statement: string,
  look: (rows: number) => Promise<void>,
): Promise<void> {
  const [, table] = /^(?:update|insert into|delete from) (gmsi\.\w+)/.exec(statement)!;
  const { rows } = await sql<{ columns: string }>`
    select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`.execute(
    warehouse.db,
  );
  const { columns } = rows[0]!;
  await change(
    warehouse,
    `create table public.kept as select tableoid as part, ctid as place, ${columns} from ${table}`,
  );
  const stands = (row: string, where: string) =>
    `exists (select from ${where} where part = ${row}.tableoid and place = ${row}.ctid)`;
  try {
    await look(await change(warehouse, statement));
  } finally {
    // A row that stands where it stood has not changed.
    await change(warehouse, `delete from ${table} now where not ${stands('now', 'public.kept')}`);
    await change(
      warehouse,
      `insert into ${table} (${columns}) overriding system value
       select ${columns} from public.kept where not ${stands('now', `${table} now`)}`,
    );
    await change(warehouse, 'drop table public.kept');
  }
}

export async function checkedJob(db: Warehouse, job: Job): Promise<CheckedJob> {
  const feed = feedNamed(job.feed);
  const today = Temporal.PlainDate.from('2026-11-20');
  const window = scopeOf(job, wantedDays(job, today)!, await readLookups(db));
  const settled = firstUnsettledDay(today, job.lookbackDays).toString();
  return {
    name: job.name,
    feed,
    scope: {
      window,
      table: feed.table,
      fields: [feed.fields],
      firstRequested: window.from,
      firstUnsettled: settled,
    },
  };
}

const builtIn = findChecks('/', [...catalog.keys()]);

export const run: CheckRun = { rows: 20, timeout: 60, stop: new AbortController().signal };

/** Runs the built-in checks over a job. */
export async function checkAll(db: Warehouse, job: Job | CheckedJob): Promise<CheckResult[]> {
  const checked = 'scope' in job ? job : await checkedJob(db, job);
  return (await runChecks(db, [checked], await builtIn, run))[0]!;
}

/** Runs one of them. */
export async function checkOne({ db }: TestWarehouse, job: Job, name: string): Promise<CheckResult> {
  return (await runChecks(db, [await checkedJob(db, job)], onlyThese(await builtIn, [name]), run))[0]![0]!;
}
