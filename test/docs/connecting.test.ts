import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { startSandbox } from '#sandbox';
import { aFolder } from '../cli/gmsi.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { docPages, fencesOf } from './pages.ts';
import { asReader, isThere, tools } from './run-program.ts';

const blocksMarked = (mark: 'run' | 'csv') =>
  docPages()
    .flatMap(fencesOf)
    .filter(({ marks, language }) => marks[0] === mark && language !== 'sql')
    .map((fence) => ({ ...fence, tool: fence.marks[1]! }));
const blocks = blocksMarked('run');

const warehouse = await aWarehouseForAll();
const outputOf = asReader(warehouse);

beforeAll(async () => {
  await using sandbox = await startSandbox({ seed: 'demo', volume: 0.4, limits: null });
  const period = { start_date: '2025-12-01', end_date: '2025-12-31' };
  const job = aJob({ countries: ['US', 'NO'], topics: ['Inflation-Food'], ...period });
  await runBackfill({ job, db: warehouse.db, sandbox });
});

test('every tool that can run here has a block in the page', () => {
  expect(blocks.map(({ tool }) => tool).toSorted()).toEqual(Object.keys(tools).toSorted());
});

for (const { tool, place, text: printed } of blocks) {
  test.skipIf(!isThere(tool))(`${place} runs in ${tool} (skipped if it is not installed)`, async () => {
    const output = await outputOf(tool, printed);
    const { rows } = await sql<{ total: number; last: number }>`
      select sum(headline_count)::int as total, max(headline_count) filter (where day = '2025-12-31')::int as last
      from gmsi.sentiment_by_day where country = 'US'`.execute(warehouse.db);
    expect(output).toContain('2025-12-31');
    // The test of ODBC asks for the days, the others for their sum.
    expect(output.match(/\d+/g)).toContain(String(tool === 'isql' ? rows[0]!.last : rows[0]!.total));
  });
}

for (const { tool, place, text: printed } of blocksMarked('csv')) {
  test.skipIf(!isThere(tool))(`${place} reads NA (Namibia) in ${tool} (skipped without it)`, async () => {
    await using folder = await aFolder();
    await folder.write(
      'export/gmsi-headlines/month=2025-12/part-0.csv',
      'country,published_at,headline,directional_score\nNA,2025-12-01,a,0.5\nNA,2025-12-01,,\nUS,2025-12-02,b,0.1\n',
    );
    expect(await outputOf(tool, printed, folder.path)).toMatch(/\bNA +2$/m);
  });
}

test('every line for pandas that reads CSV keeps the code of Namibia, where there are countries', () => {
  const reads = docPages()
    .flatMap(({ text }) => text.match(/pd\.read_csv\([\s\S]*?\)\n/g) ?? [])
    .filter((read) => !/"prices\.csv"/.test(read));
  expect(reads.length).toBeGreaterThan(1);
  for (const read of reads) expect(read).toContain('keep_default_na=False, na_values=[""]');
});
