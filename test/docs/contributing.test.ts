import { sql } from 'kysely';
import { expect } from 'vitest';
import { migrate } from '../../src/warehouse/migrate.ts';
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
