import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { aFolder } from '../cli/gmsi.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { askDuckDB, runExport } from './exporting.ts';

const harmful = [
  '=1+1',
  '+1',
  '-1+1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
  '＝1+1',
  '＋1',
  '－1',
  '＠x',
  '=',
  '="a","b"',
];
const harmless = ["'=1", 'a=b', ' =1', '', '"=1"', 'Prices -3%', '😀'];

/** Each text as a headline, a negative score with it, and a column of somebody's own with such a name. */
async function aWarehouseOf(texts: readonly string[]): Promise<TestWarehouse> {
  const warehouse = await aWarehouse();
  await sql`select gmsi.ensure_month_partition('headlines', '2025-01-01'::date)`.execute(warehouse.db);
  await sql`alter table gmsi.headlines add column "=note" text default '=2'`.execute(warehouse.db);
  await sql`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, directional_score,
      extra, first_seen_at, changed_at, is_backfilled, load_id)
    select gen_random_uuid(), 'US', 'Elections', 'DOMESTIC', '2025-01-01Z', text, -0.5, '{"a": "=1"}', now(), now(), false, 1
    from unnest(${texts}::text[]) as text`.execute(warehouse.db);
  return warehouse;
}

async function exported(warehouse: TestWarehouse, defuseFormulas: boolean) {
  await using folder = await aFolder();
  const { db } = warehouse;
  const { out, manifest } = await runExport({ db, folder: folder.path, format: 'csv', defuseFormulas });
  const file = join(out!, manifest.files[0]!.path);
  const rows = await askDuckDB(
    `select * from read_csv('${file}', header = true, all_varchar = true, allow_quoted_nulls = false)`,
  );
  return { manifest, rows, header: (await readFile(file, 'utf8')).split('\n')[0]! };
}

test('with --defuse-formulas, no text and no column begins a formula; all else stays as it is', async () => {
  await using warehouse = await aWarehouseOf([...harmful, ...harmless]);
  const { manifest, rows, header } = await exported(warehouse, true);
  expect(rows.map(({ headline }) => headline).toSorted()).toEqual(
    [...harmful.map((text) => `'${text}`), ...harmless].toSorted(),
  );
  for (const row of rows) {
    expect(row).toMatchObject({ directional_score: '-0.5', extra: '{"a": "=1"}', "'=note": "'=2" });
  }
  expect(header).not.toMatch(/(^|,)"?=/);
  // The check of the files against the warehouse ran over them, or there would be none.
  expect(manifest).toMatchObject({ formulas_defused: true, rows: harmful.length + harmless.length });
});

test('without it, every text is as in the warehouse, and the manifest says so', async () => {
  await using warehouse = await aWarehouseOf([...harmful, ...harmless]);
  const { manifest, rows } = await exported(warehouse, false);
  expect(rows.map(({ headline }) => headline).toSorted()).toEqual([...harmful, ...harmless].toSorted());
  expect(manifest.formulas_defused).toBe(false);
});
