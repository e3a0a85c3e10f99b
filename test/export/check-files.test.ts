import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DuckDB, openDuckDB } from '../../src/duckdb.ts';
import { checkFiles } from '../../src/export/check-files.ts';
import type { ExportPlan } from '../../src/export/plan-export.ts';
import { stageRows } from '../../src/export/stage-rows.ts';
import { writeFile } from '../../src/export/write-file.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';

const columns = [
  { name: 'country', type: 'text' },
  { name: 'headline', type: 'text' },
  { name: 'score', type: 'double precision' },
];
const linesOf = (country: string) => [`"${country}","a",0.1`, `"${country}","b",0.7`, `"${country}","c",`];
const stop = new AbortController().signal;

/** What PostgreSQL would have counted of these, in two countries. */
const counted: ExportPlan['totals'] = ['NO', 'US'].map((series) => ({
  series,
  month: '2025-01',
  rows: 3,
  sums: { score: 800_000_000n },
}));

const [no, us] = [counted[0]!, counted[1]!];

let folder: Folder;
let duckdb: DuckDB;
beforeEach(async () => {
  folder = await aFolder();
  duckdb = await openDuckDB(`${folder.path}/spill`, stop);
});
afterEach(async () => {
  duckdb[Symbol.dispose]();
  await folder[Symbol.asyncDispose]();
});

function aPlan(totals: ExportPlan['totals'] = counted) {
  return { columns, scores: ['score'], series: 'country', totals };
}

describe.each(['parquet', 'csv'] as const)('files of %s', (format) => {
  /** Writes the rows of both countries, a file for each, and checks the files against a plan. */
  async function check(plan: ReturnType<typeof aPlan>): Promise<void> {
    const batches = (async function* () {
      yield linesOf('NO');
      yield linesOf('US');
    })();
    const pathOf = (n: number) => `${folder.path}/_${n}.csv`;
    const paths: string[] = [];
    for await (const staged of stageRows(batches, { pathOf, rowsPerFile: 3 })) {
      const writer = { duckdb, columns, format, root: folder.path };
      const { path } = await writeFile(writer, `month=2025-01/part-${paths.length}.${format}`, staged);
      paths.push(`${folder.path}/${path}`);
    }
    expect(paths).toHaveLength(2);
    await checkFiles(duckdb, format, paths, plan);
  }

  it('that hold what was counted pass', () => check(aPlan()));

  it.each([
    [
      'a row less than counted',
      [no, { ...us, rows: 4 }],
      'country US in 2025-01 have 3 rows, the warehouse 4.',
    ],
    [
      'another sum',
      [{ ...no, sums: { score: 800_000_001n } }, us],
      'have a sum of score of 0.8, the warehouse 0.800000001.',
    ],
    [
      'nothing of a month',
      [...counted, { ...no, month: '2025-02' }],
      'country NO in 2025-02 have 0 rows, the warehouse 3.',
    ],
    ['a country too many', [no], 'The files have rows of country US in 2025-01, the warehouse none.'],
  ])('that hold %s are refused', async (_, totals, message) => {
    await expect(check(aPlan(totals))).rejects.toMatchObject({
      message: expect.stringContaining(message),
      kind: 'retryable',
    });
  });
});
