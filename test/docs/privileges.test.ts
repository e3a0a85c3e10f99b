import { sql } from 'kysely';
import { expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { missingPrivileges } from '../../src/warehouse/health.ts';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { forgetJob, registerJob } from '../../src/warehouse/tables/schedules.ts';
import { aLogin } from '../support/a-login.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { sqlMarked } from './pages.ts';

/** A user of the test's own with the privileges that docs/operating.md grants to `mark`, and a connection as it. */
async function aUser(warehouse: TestWarehouse, mark: 'loader' | 'reader') {
  const login = await aLogin(warehouse);
  const grants = sqlMarked(mark).replaceAll(mark === 'loader' ? 'etl' : 'analyst', login.name);
  for (const statement of grants.split(';').filter((text) => text.trim() !== ''))
    await sql.raw(statement).execute(warehouse.db);
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
