import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aRow, idOf, upsert } from '../warehouse/a-row.ts';
import { docPages, fencesOf } from './pages.ts';

const page = docPages()
  .filter(({ path }) => path === 'docs/analysis.md')
  .flatMap(fencesOf);

function printed(mark: string): string {
  const [fence, ...more] = page.filter(({ marks }) => marks.includes(mark));
  expect(more).toEqual([]);
  return fence!.text;
}

const texts = [
  'Food prices rise again',
  'Food prices: a forecast of a rise',
  'A rise in prices of food',
  'Calm',
];
/** So many others in a month that PostgreSQL has a reason to use an index. */
const others = 2000;

const warehouse = await aWarehouseForAll({ isNew: true });
let db: Warehouse;

/** The documented indexes, between a month that is loaded already and one that comes later. */
beforeAll(async () => {
  db = warehouse.db;
  const load = (month: string, from: number) => {
    const all = [...texts, ...Array.from({ length: others }, (_, n) => `Market wire, note ${n}`)];
    const published_at = `${month}-03T00:00:00Z`;
    return upsert(
      db,
      all.map((headline, n) => aRow({ headline_id: idOf(from + n), headline, published_at })),
    );
  };
  await load('2026-09', 1);
  await sql.raw(printed('find-index')).execute(db);
  await load('2026-10', 10_001);
  // Changed and retracted as without them.
  await upsert(db, [
    aRow({ headline_id: idOf(2), headline: 'Food prices rise', published_at: '2026-09-03T00:00:00Z' }),
  ]);
  await sql`update gmsi.headlines set retracted_at = now(), changed_at = clock_timestamp()
    where headline_id = ${idOf(4)}`.execute(db);
  const { rows } = await sql<{
    reason: string;
  }>`select reason from gmsi.headline_revisions order by 1`.execute(db);
  expect(rows).toEqual([{ reason: 'retracted' }, { reason: 'text changed' }]);
  await sql`analyze gmsi.headlines`.execute(db);
});

/** What a query prints, and which indexes it reads. */
async function ask(query: string) {
  const { rows } = await sql.raw<{ headline: string }>(query).execute(db);
  const plan = await sql.raw<{ 'QUERY PLAN': string }>(`explain (costs off) ${query}`).execute(db);
  const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
  const indexes = [...text.matchAll(/Index (?:Only )?Scan (?:using|on) (\S+)/g)].map(([, name]) => name);
  return { headlines: rows.map(({ headline }) => headline), indexes };
}

test('an id is found by its index in every month, also one that was loaded after the index was made', async () => {
  expect(await ask(printed('find-by-id'))).toEqual({
    headlines: ['Food prices rise again'],
    indexes: ['headlines_2026_09_headline_id_idx', 'headlines_2026_10_headline_id_idx'],
  });
});

test('words are found by theirs', async () => {
  const { headlines, indexes } = await ask(printed('find-by-words'));
  expect(headlines).toEqual(['Food prices rise again', 'Food prices rise', 'Food prices rise again']);
  expect(indexes).toEqual(['headlines_2026_09_to_tsvector_idx', 'headlines_2026_10_to_tsvector_idx']);
});
