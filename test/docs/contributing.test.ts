import { sql } from 'kysely';
import { expect } from 'vitest';
import { test } from '../support/serving.ts';
import { sqlMarked } from './pages.ts';

test('the migration that CONTRIBUTING.md prints for a column is enough', async ({ db }) => {
  await sql`create view public.before as select * from gmsi.headlines_as_of(now())`.execute(db);
  await sql.raw(sqlMarked('new-column')).execute(db);
  for (const source of [
    'headlines',
    'headline_revisions',
    'headlines_point_in_time',
    'headlines_as_of(now())',
  ])
    await sql.raw(`select example_score from gmsi.${source}`).execute(db);
  await sql`select * from public.before`.execute(db);
});

test('the migration that CONTRIBUTING.md prints for a feed is enough', async ({ db }) => {
  await sql.raw(sqlMarked('new-feed')).execute(db);
  await sql`select gmsi.grant_roles(), gmsi.ensure_month_partition('example_index', '2026-09-01')`.execute(
    db,
  );
  await sql`
    insert into gmsi.example_index (variant, entry_id, published_at, sentiment_sum, changed_at, is_backfilled, load_id)
    values ('align_to_period_end=true', gen_random_uuid(), '2026-09-01 10:00Z', 1, '2026-09-02Z', true, 1)`.execute(
    db,
  );
  await sql`update gmsi.example_index set sentiment_sum = 2, changed_at = '2026-09-03Z'`.execute(db);
  // At the very instant of a change, the new version counts.
  const { rows } = await sql`
    select past.sentiment_sum, hour_stamp, has_table_privilege('gmsi_reader', 'gmsi.example_index_2026_09', 'select') as readable
    from unnest(array['2026-09-02Z', '2026-09-03Z']::timestamptz[]) as moment
    cross join lateral gmsi.example_index_as_of(moment) as past order by moment`.execute(db);
  const isSo = { hour_stamp: 'end', readable: true };
  expect(rows).toEqual([
    { sentiment_sum: 1, ...isSo },
    { sentiment_sum: 2, ...isSo },
  ]);
  const { rows: silent } = await sql`
    select attname from pg_attribute
    where attrelid = 'gmsi.example_index'::regclass and attnum > 0 and col_description(attrelid, attnum) is null`.execute(
    db,
  );
  expect(silent).toEqual([]);
});
