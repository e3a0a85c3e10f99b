import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { makeReader } from '../../src/warehouse/make-reader.ts';
import { aFolder } from '../cli/gmsi.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { docPages, fencesOf } from './pages.ts';

/** What runs the blocks marked with `run` and a tool's name, and what is there only if the tool is. Debian has all of them. */
const tools: Record<string, { run: readonly string[]; probe: readonly string[] }> = {
  pandas: {
    run: ['/usr/bin/python3', '-'],
    probe: ['/usr/bin/python3', '-c', 'import pandas, sqlalchemy, psycopg2'],
  },
  R: { run: ['Rscript', '-'], probe: ['Rscript', '-e', 'library(DBI); library(RPostgreSQL)'] },
  isql: { run: ['sh'], probe: ['sh', '-c', 'command -v isql && odbcinst -q -d | grep "PostgreSQL Unicode"'] },
};

const blocksMarked = (mark: 'run' | 'csv') =>
  docPages()
    .flatMap(fencesOf)
    .filter(({ marks, language }) => marks[0] === mark && language !== 'sql')
    .map((fence) => ({ ...fence, tool: fence.marks[1]! }));
const blocks = blocksMarked('run');

const reader = `reader_${randomUUID().replaceAll('-', '')}`;
const warehouse = await aWarehouseForAll();
let environment: Record<string, string>;

beforeAll(async () => {
  await using sandbox = await startSandbox({ seed: 'demo', volume: 0.4, limits: null });
  const period = { start_date: '2025-12-01', end_date: '2025-12-31' };
  const job = aJob({ countries: ['US', 'NO'], topics: ['Inflation-Food'], ...period });
  await runBackfill({ job, db: warehouse.db, sandbox });
  const { password } = await makeReader(warehouse.db, reader);
  const { hostname: PGHOST, port: PGPORT, pathname } = new URL(warehouse.url);
  const login = { PGDATABASE: pathname.slice(1), PGUSER: reader, PGPASSWORD: password.reveal() };
  environment = { PATH: process.env.PATH!, HOME: tmpdir(), LANG: 'C.UTF-8', PGHOST, PGPORT, ...login };
});
afterAll(async () => {
  await sql.raw(`drop role ${reader}`).execute(warehouse.db);
});

test('every tool that can run here has a block in the page', () => {
  expect(blocks.map(({ tool }) => tool).toSorted()).toEqual(Object.keys(tools).toSorted());
});

for (const { tool, place, text: printed } of blocks) {
  const { run, probe } = tools[tool]!;
  const isThere = spawnSync(probe[0]!, probe.slice(1)).status === 0;
  test.skipIf(!isThere)(`${place} runs in ${tool} (skipped if it is not installed)`, async () => {
    const output = await outputOf(run, printed);
    const { rows } = await sql<{ total: number; last: number }>`
      select sum(headline_count)::int as total, max(headline_count) filter (where day = '2025-12-31')::int as last
      from gmsi.sentiment_by_day where country = 'US'`.execute(warehouse.db);
    expect(output).toContain('2025-12-31');
    // The test of ODBC asks for the days, the others for their sum.
    expect(output.match(/\d+/g)).toContain(String(tool === 'isql' ? rows[0]!.last : rows[0]!.total));
  });
}

async function outputOf(run: readonly string[], printed: string, cwd = tmpdir()): Promise<string> {
  const child = spawn(run[0]!, run.slice(1), { env: environment, cwd });
  child.stdin.end(printed);
  const [output, problems, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  expect({ code, problems: code === 0 ? '' : problems + output }).toEqual({ code: 0, problems: '' });
  return output;
}

for (const { tool, place, text: printed } of blocksMarked('csv')) {
  const { run, probe } = tools[tool]!;
  const isThere = spawnSync(probe[0]!, probe.slice(1)).status === 0;
  test.skipIf(!isThere)(
    `${place} reads the code of Namibia with ${tool} (skipped if it is not installed)`,
    async () => {
      await using folder = await aFolder();
      await folder.write(
        'export/gmsi-headlines/month=2025-12/part-0.csv',
        'country,published_at,headline,directional_score\nNA,2025-12-01 00:00:00+00,a,0.5\nNA,2025-12-01 00:00:00+00,,\nUS,2025-12-02 00:00:00+00,b,0.1\n',
      );
      expect(await outputOf(run, printed, folder.path)).toMatch(/\bNA +2$/m);
    },
  );
}

test('every line for pandas that reads CSV keeps the code of Namibia', () => {
  const reads = docPages().flatMap(({ text }) => text.match(/pd\.read_csv\([\s\S]*?\)\n/g) ?? []);
  expect(reads.length).toBeGreaterThan(1);
  for (const read of reads) expect(read).toContain('keep_default_na=False, na_values=[""]');
});
