import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { missingPrivileges } from '../../src/warehouse/health.ts';
import { registerWorker } from '../../src/warehouse/tables/workers.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { sqlMarked } from './pages.ts';

/** A user of the test's own with the privileges that docs/operating.md grants to `mark`, and a connection as it. */
async function aUser(warehouse: TestWarehouse, mark: 'loader' | 'reader') {
  const name = `gmsi_${mark}_${randomUUID().slice(0, 8)}`;
  await sql.raw(`create role ${name} login password 'secret'`).execute(warehouse.db);
  const grants = sqlMarked(mark).replace(mark === 'loader' ? 'etl' : 'analyst', name);
  for (const statement of grants.split(';').filter((text) => text.trim() !== '')) {
    await sql.raw(statement).execute(warehouse.db);
  }
  const url = new URL(warehouse.url);
  url.username = name;
  url.password = 'secret';
  const db = connect({ kind: 'url', url: new Secret(url.href) }, 2);
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await dropRole(warehouse.db, name);
    },
  };
}

async function dropRole(db: Kysely<Database>, name: string): Promise<void> {
  await sql.raw(`drop owned by ${name}`).execute(db);
  await sql.raw(`drop role ${name}`).execute(db);
}

test('the documented privileges of a loader are enough to load and to work', async ({ warehouse }) => {
  await using loader = await aUser(warehouse, 'loader');
  await using sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const job = aJob({ countries: ['NO'], topics: ['Inflation-Food'] });

  expect(await missingPrivileges(loader.db)).toEqual([]);
  expect(await runBackfill({ job, db: loader.db, sandbox })).toMatchObject({ outcome: 'done' });
  const plan = { fullRefresh: true, retryRefused: true };
  expect(await runBackfill({ job, db: loader.db, sandbox, plan })).toMatchObject({ outcome: 'done' });
  const worker = { worker_id: 'w', run_by: 'test', version: 'test', key_fingerprint: 'k', concurrency: 1 };
  await registerWorker(loader.db, worker);
});

test('each of these privileges is needed: without it the doctor says so', async ({ warehouse }) => {
  await using reader = await aUser(warehouse, 'reader');
  const missing = await missingPrivileges(reader.db);
  expect(missing).toContain('INSERT on gmsi.headlines');
  expect(missing).toContain('UPDATE on gmsi.windows');
  expect(missing).toContain('DELETE on gmsi.windows');
  expect(missing).toContain('EXECUTE on gmsi.ensure_month_partition');
  expect(missing).toContain('DELETE on gmsi.drain_sightings');
});
