import { sql } from 'kysely';
import { expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { missingPrivileges } from '../../src/warehouse/health.ts';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { forgetJob, registerJob } from '../../src/warehouse/tables/schedules.ts';
import { aLogin } from '../support/a-login.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { sqlMarked } from './pages.ts';

/** Runs what docs/operating.md marks, for the user and the database of the test. */
async function runMarked(
  { db, url }: TestWarehouse,
  mark: 'loader' | 'reader' | 'forbid',
  user: string,
): Promise<void> {
  const statements = sqlMarked(mark)
    .replaceAll(mark === 'loader' ? 'etl' : 'analyst', user)
    .replaceAll('database gmsi', `database ${new URL(url).pathname.slice(1)}`);
  for (const statement of statements.split(';').filter((text) => text.trim() !== ''))
    await sql.raw(statement).execute(db);
}

/** A user of the test's own with the privileges that docs/operating.md grants to `mark`, and a connection as it. */
async function aUser(warehouse: TestWarehouse, mark: 'loader' | 'reader') {
  const login = await aLogin(warehouse);
  await runMarked(warehouse, mark, login.name);
  return login;
}

test('the documented privileges of a loader are enough to load and to work', async ({ warehouse }) => {
  await using loader = await aUser(warehouse, 'loader');
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const job = aJob({ countries: ['NO'], topics: ['Inflation-Food'] });

  expect(await missingPrivileges(loader.db)).toEqual([]);
  expect(await runBackfill({ job, db: loader.db, sandbox })).toMatchObject({ outcome: 'done' });
  const plan = { fullRefresh: true, retryRefused: true };
  expect(await runBackfill({ job, db: loader.db, sandbox, plan })).toMatchObject({ outcome: 'done' });
  const worker = {
    process_id: 'w',
    command: 'work',
    run_by: 'test',
    version: 'test',
    concurrency: 1,
  };
  await registerProcess(loader.db, worker);
  const stored = { job: 'gone', definition: {}, schedule: undefined };
  await registerJob(loader.db, stored, { at: new Date(), by: 'test' });
  expect(await forgetJob(loader.db, 'gone', { processId: 'w', leaseSeconds: 30 })).toBe(true);
});

test('what forbids a reader to fill the disk lets a loader load', async ({ warehouse }) => {
  await using reader = await aUser(warehouse, 'reader');
  await using loader = await aUser(warehouse, 'loader');
  const filling = ['create temporary table t ()', 'select lo_create(0)', `select lo_from_bytea(0, 'x')`];
  for (const statement of filling) await sql.raw(statement).execute(reader.db);
  await runMarked(warehouse, 'forbid', reader.name);
  for (const statement of filling)
    await expect(sql.raw(statement).execute(reader.db)).rejects.toThrow(
      /permission denied (for function lo_|for schema pg_temp|to create temporary)/,
    );
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const job = aJob({ countries: ['NO'], topics: ['Inflation-Food'] });
  expect(await runBackfill({ job, db: loader.db, sandbox })).toMatchObject({ outcome: 'done' });
});
