import { readdirSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect, openPool } from '../../src/warehouse/connect.ts';
import { queueDepth } from '../../src/warehouse/questions/status.ts';
import { ownsQueue, queueSummary, unlessQueueIsMissing } from '../../src/warehouse/tables/queue.ts';
import { openQueue } from '../../src/worker/open-queue.ts';
import { aLog } from '../support/a-log.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

const never = new AbortController().signal;
/** graphile-worker's migrations in their order. */
const migrationsOfQueue = new URL('../../node_modules/graphile-worker/sql/', import.meta.url);
const versions = readdirSync(migrationsOfQueue).sort();

it.each([
  ['makes the schema', /create schema if not exists/, 1],
  ['begins one in the middle', /graphile_worker"?\.migrations \(id/, 11],
  ['is about to commit one', /pg_notify/, 3],
  ['has committed one', /commit.$/s, 2],
] as const)('installs the queue although its connection is cut as it %s', async (_, statement, nth) => {
  await using warehouse = await aWarehouse();
  await using proxy = await aCuttingProxy(warehouse.url);
  const pool = openPool({ kind: 'url', url: new Secret(proxy.url) }, 1);
  try {
    proxy.loseReplyTo(statement, nth);
    await openQueue(warehouse.db, pool, aLog().log, never);
  } finally {
    await pool.end();
  }
  expect(proxy.lost).toBe(1);
  const { rows } = await sql<{ installed: number }>`
    select count(*)::int as installed from graphile_worker.migrations`.execute(warehouse.db);
  expect(rows).toEqual([{ installed: versions.length }]);
  expect(await queueSummary(warehouse.db)).toEqual({ waiting: 0, running: 0, retrying: 0 });
});

it('stops trying as soon as it is aborted', async () => {
  const nowhere = { kind: 'url', url: new Secret('postgres://nobody@127.0.0.1:1/none') } as const;
  const pool = openPool(nowhere, 1);
  const db = connect(nowhere, 1);
  const stop = new AbortController();
  const opening = openQueue(db, pool, aLog().log, stop.signal);
  stop.abort(new Error('told to stop'));
  await expect(opening).rejects.toThrow('told to stop');
  await Promise.all([pool.end(), db.destroy()]);
});

it('can be looked at before it is installed, and with any version of it half way', async () => {
  await using warehouse = await aWarehouse();
  const { db, url } = warehouse;
  const look = async () => [
    await unlessQueueIsMissing(() => queueSummary(db)),
    await unlessQueueIsMissing(() => queueDepth(db)),
  ];
  expect(await look()).toEqual([undefined, undefined]);
  expect(await ownsQueue(db)).toBe(true);
  const migrating = new pg.Client({ connectionString: url });
  await migrating.connect();
  await migrating.query('create schema graphile_worker');
  let missing = 0;
  for (const version of versions) {
    const text = readFileSync(new URL(version, migrationsOfQueue), 'utf8');
    await migrating.query(text.replace(/:GRAPHILE_WORKER_SCHEMA\b/g, 'graphile_worker'));
    if ((await look()).includes(undefined)) missing += 1;
  }
  await migrating.end();
  expect(missing, 'versions that cannot be read').toBeGreaterThan(0);
  expect(await look()).toEqual([{ waiting: 0, running: 0, retrying: 0 }, []]);
});
