import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { test } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlMarked } from './pages.ts';

test('the documented statements remove all of gmsi, and nothing else', async ({ db }) => {
  await sql`create table public.mine as select 1 as one`.execute(db);
  const own = async () => {
    const { rows } = await sql<{ name: string }>`
      select nspname as name from pg_namespace where nspname ~ '^gmsi$' order by 1`.execute(db);
    return rows.map(({ name }) => name);
  };
  expect(await own()).toEqual(['gmsi']);
  await sql.raw(sqlMarked('uninstall')).execute(db);
  expect(await own()).toEqual([]);
  expect((await sql`select * from public.mine`.execute(db)).rows).toEqual([{ one: 1 }]);
});

test('the documented statements remove the roles, with what they were granted, and not their members', async () => {
  await using warehouse = await aWarehouse();
  // The server's other databases use the real ones.
  const [reader, loader, analyst] = ['reader', 'loader', 'analyst'].map(
    (name) => `gmsi_${name}_${randomUUID().slice(0, 8)}`,
  );
  const admin = new pg.Client({ connectionString: warehouse.url });
  await admin.connect();
  try {
    await admin.query(
      `create role "${reader}"; create role "${loader}"; create role "${analyst}" in role "${reader}"`,
    );
    await admin.query(
      `grant usage on schema gmsi to "${reader}", "${loader}"; grant select on gmsi.headlines to "${reader}"`,
    );
    const statements = sqlMarked('uninstall-roles')
      .replaceAll('gmsi_reader', `"${reader}"`)
      .replaceAll('gmsi_loader', `"${loader}"`);
    await admin.query(statements);
    const { rows } = await admin.query('select rolname from pg_roles where rolname = any($1)', [
      [reader, loader, analyst],
    ]);
    expect(rows).toEqual([{ rolname: analyst }]);
  } finally {
    await admin.query(`drop role if exists "${analyst}"`);
    await admin.end();
  }
});
