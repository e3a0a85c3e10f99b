import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { namedDatabaseError, WarehouseUnavailable } from '../../src/warehouse/errors.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

test('a statement with parameters is prepared once a connection, one without is not', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  for (const n of [1, 2, 3]) await sql`select ${n}::int`.execute(db);
  await sql`select 4`.execute(db);
  const { rows } = await sql<{ statement: string }>`
    select statement from pg_prepared_statements where statement not like '%pg_prepared%'`.execute(db);
  expect(rows).toEqual([{ statement: 'select $1::int' }]);
});

test('a pooler that loses prepared statements is told apart from a bug', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await sql`select ${1}::int`.execute(db);
  // What transaction pooling comes to: the next statement meets a server connection that knows nothing of the first.
  await sql`deallocate all`.execute(db);
  const lost = await sql`select ${2}::int`.execute(db).catch(namedDatabaseError);
  expect(lost).toBeInstanceOf(ConfigError);
  expect((lost as ConfigError).hint).toMatch(/session pooling/);
});

test('a connection that has missed a partition is not used again, and the page is tried on another one', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  const connection = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid;
  const before = await connection();
  const missed = sql`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, is_backfilled, load_id)
    values (gen_random_uuid(), 'US', 'Wars', 'COMBINED', '2026-01-01', true, ${1})`.execute(db);
  expect(namedDatabaseError(await missed.catch((error) => error))).toBeInstanceOf(WarehouseUnavailable);
  expect(await connection()).not.toBe(before);
});
