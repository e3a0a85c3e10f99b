import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import { sqlMarked } from './pages.ts';

test('the statements that CONTRIBUTING.md prints for a column are enough', async ({ db }) => {
  await sql`create view public.before as select * from gmsi.headlines_as_of(now())`.execute(db);
  await sql.raw(sqlMarked('new-column')).execute(db);
  await migrate(db, { again: true });
  for (const source of [
    'headlines',
    'headline_revisions',
    'headlines_point_in_time',
    'headlines_as_of(now())',
  ])
    await sql.raw(`select example_score from gmsi.${source}`).execute(db);
  await sql`select * from public.before`.execute(db);
});

test('the table that CONTRIBUTING.md prints for a feed is enough', async ({ db }) => {
  await sql.raw(sqlMarked('new-feed')).execute(db);
  await migrate(db, { again: true });
  await sql`select gmsi.ensure_month_partition('example_feed', '2026-09-01')`.execute(db);
  await sql`
    insert into gmsi.example_feed (variant, entry_id, published_at, sentiment_score, changed_at, is_backfilled, load_id)
    values ('', gen_random_uuid(), '2026-09-01 10:00Z', 1, '2026-09-02Z', true, 1)`.execute(db);
  await sql`update gmsi.example_feed set sentiment_score = 2, changed_at = '2026-09-03Z'`.execute(db);
  // At the very instant of a change, the new version counts.
  const { rows } = await sql`
    select past.sentiment_score, has_table_privilege('gmsi_reader', 'gmsi.example_feed_2026_09', 'select') as readable
    from unnest(array['2026-09-02Z', '2026-09-03Z']::timestamptz[]) as moment
    cross join lateral gmsi.example_feed_as_of(moment) as past order by moment`.execute(db);
  expect(rows).toEqual([
    { sentiment_score: 1, readable: true },
    { sentiment_score: 2, readable: true },
  ]);
  const { rows: silent } = await sql`
    select attname from pg_attribute
    where attrelid = 'gmsi.example_feed'::regclass and attnum > 0 and col_description(attrelid, attnum) is null`.execute(
    db,
  );
  expect(silent).toEqual([]);
});

test.for([
  ['inclusive', true],
  ['exclusive', false],
] as const)('the documented query finds end_date %s', async ([endDate, wanted], { db }) => {
  await using sandbox = await startSandbox({ limits: null, endDate });
  const period = { start_date: '2025-09-01', end_date: '2025-09-30' };
  const job = aJob({ countries: ['US'], topics: ['Inflation-Food'], ...period });
  await runBackfill({ job, db, sandbox });

  const { rows } = await sql.raw(sqlMarked('end-date')).execute(db);
  expect(rows).toEqual([
    { country: 'US', topic: 'Inflation-Food', request_end: '2025-10-01', was_answered: wanted },
  ]);
});

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

test('the documented statements remove the roles, and not their members', async ({ warehouse }) => {
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
