import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkFiles } from '../../src/export/check-files.ts';
import { type DuckDB, openDuckDB } from '../../src/export/duckdb.ts';
import type { ExportPlan } from '../../src/export/export-table.ts';
import { createStage, writePartition } from '../../src/export/write-partition.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';

const columns = [
  { name: 'headline', type: 'text' },
  { name: 'score', type: 'double precision' },
];
const rows = [
  { headline: 'a', score: '0.1' },
  { headline: 'b', score: '0.7' },
  { headline: 'c', score: null },
];
const stop = new AbortController().signal;

/** What PostgreSQL would have counted of `rows`, in two countries. */
const counted: ExportPlan['partitions'] = ['NO', 'US'].map((series) => ({
  ...{ series, month: '2025-01', rows: 3, sums: { score: 800_000_000n } },
}));

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

function aPlan(partitions: ExportPlan['partitions'] = counted): ExportPlan {
  return { columns, scores: ['score'], folders: ['country', 'month'], partitions, rows: 6 };
}

describe.each(['parquet', 'csv'] as const)('files of %s', (format) => {
  /** Writes `rows` for both countries and checks the files against a plan. */
  async function check(plan: ExportPlan): Promise<void> {
    const stage = createStage(duckdb, columns);
    const writer = { duckdb, stage, format, root: folder.path, rowsPerFile: 10 };
    const paths: string[] = [];
    for (const country of ['NO', 'US']) {
      const batches = (async function* () {
        yield rows;
      })();
      const files = await writePartition(writer, `country=${country}/month=2025-01`, batches);
      paths.push(...files.map(({ path }) => `${folder.path}/${path}`));
    }
    await checkFiles(duckdb, format, paths, plan);
  }

  it('that hold what was counted pass', () => check(aPlan()));

  it.each([
    [
      'a row less than counted',
      [counted[0]!, { ...counted[1]!, rows: 4 }],
      'The files of country US in 2025-01 hold 3 rows, the warehouse 4.',
    ],
    [
      'another sum',
      [{ ...counted[0]!, sums: { score: 800_000_001n } }, counted[1]!],
      'The files of country NO in 2025-01 have a sum of score of 0.8, the warehouse 0.800000001.',
    ],
    [
      'nothing of a partition',
      [...counted, { ...counted[0]!, month: '2025-02' }],
      'The files of country NO in 2025-02 hold 0 rows, the warehouse 3.',
    ],
    [
      'a partition too many',
      [counted[0]!],
      'The files have rows of country US in 2025-01, the warehouse none.',
    ],
  ])('that hold %s are refused', async (_, partitions, message) => {
    await expect(check(aPlan(partitions))).rejects.toMatchObject({ message, kind: 'retryable' });
  });
});
