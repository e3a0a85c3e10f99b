import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refuseTooLong } from '../../src/export/excel.ts';
import { aFolder } from '../cli/gmsi.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { askDuckDB, runExport } from './exporting.ts';

/** What a spreadsheet could run, as it is and as it is exported. */
const harmful: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...['=1+1', '+1', '-1+1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠x', '﹦1', '=', '"=1"', ' =1'],
      // A no-break space, a space of zero width, a mark of direction, a mark of byte order, an ideographic space.
      ...['\u00a0=1', '\u200b+1', '\u202e-1', '\ufeff@x', '\u3000＋1', '\u00a0"\u0001=1'],
    ].map((text) => [text, `'${text}`]),
  ),
  '="a","b"': `'="a","b"`,
  '\t=1': "\t'=1",
  'a\r\n-1': "a\r\n'-1",
  'a;=1+1; @SUM;-1': "a;'=1+1;' @SUM;'-1",
  'a; +1;\u00a0-2;＋3;\u2003＋4;;=5': "a;' +1;'\u00a0-2;'＋3;'\u2003＋4;;'=5",
  'a,=1, +2\t=3\t\u200b-4': "a,'=1,' +2\t'=3\t'\u200b-4",
  'a;"=1': `a;'"=1`,
};
const harmless = ["'=1", 'a=b', '', 'Prices -3%', '😀', 'a; b - c', 'x, y@z', '\tx'];

/** Each text as a headline, a negative score with it, and a column of somebody's own with such a name. */
async function aWarehouseOf(texts: readonly string[]): Promise<TestWarehouse> {
  const warehouse = await aWarehouse();
  await sqlIn(warehouse.db)`select gmsi.ensure_month_partition('headlines', '2025-01-01'::date)`;
  await sqlIn(warehouse.db)`alter table gmsi.headlines add column "=note" text default '=2'`;
  await sqlIn(warehouse.db)`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, directional_score,
      extra, first_seen_at, changed_at, is_backfilled, load_id)
    select gen_random_uuid(), 'US', 'Elections', 'DOMESTIC', '2025-01-01Z', text, -0.5, '{"a": "=1"}', now(), now(), false, 1
    from unnest(${texts}::text[]) as text`;
  return warehouse;
}

test('a file for Excel begins with a byte-order mark, and no text or column of it begins a formula', async () => {
  await using warehouse = await aWarehouseOf([...Object.keys(harmful), ...harmless]);
  await using folder = await aFolder();
  const out = join(folder.path, 'sheet.csv');
  await runExport({ db: warehouse.db, folder: folder.path, format: 'excel', out });
  expect(await readdir(folder.path)).toEqual(['sheet.csv']);
  const modeOf = async () => (await stat(out)).mode & 0o777;
  expect(await modeOf()).toBe(0o600);
  await chmod(out, 0o644);
  await runExport({ db: warehouse.db, folder: folder.path, format: 'excel', out, mode: 'replace' });
  expect(await modeOf()).toBe(0o644);

  const bytes = await readFile(out);
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  expect(bytes.toString('utf8').split('\n')[0]).not.toMatch(/(^|,)"?=/);
  const rows = await askDuckDB(
    `select * from read_csv('${out}', header = true, all_varchar = true, allow_quoted_nulls = false)`,
  );
  expect(rows.map(({ headline }) => headline).toSorted()).toEqual(
    [...Object.values(harmful), ...harmless].toSorted(),
  );
  for (const row of rows) {
    expect(row).toMatchObject({
      headline_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      published_at: '2025-01-01 00:00:00',
      directional_score: '-0.5',
      extra: '{"a": "=1"}',
      "'=note": "'=2",
    });
  }
});

test('more rows than Excel opens are refused', () => {
  expect(() => refuseTooLong(1_048_575)).not.toThrow();
  expect(() => refuseTooLong(1_048_576)).toThrow(
    'The export has 1,048,576 rows, but Excel opens at most 1,048,575 of a file.',
  );
});
