import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DuckDB, openDuckDB } from '../../src/duckdb.ts';
import { checkFiles } from '../../src/export/check-files.ts';
import { readFiles } from '../../src/export/duckdb.ts';
import type { ExportPlan } from '../../src/export/plan-export.ts';
import { stageRows } from '../../src/export/stage-rows.ts';
import { writeFile } from '../../src/export/write-file.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';
import { askDuckDB } from './exporting.ts';

it('a text of any length comes through, after and before short ones', async () => {
  await using folder = await aFolder();
  using duckdb = await openDuckDB(join(folder.path, 'spill'), new AbortController().signal);
  const columns = [{ name: 'headline', type: 'text' }];
  const texts = ['short', 'long '.repeat(2_000_000), `${'two\nlines, '.repeat(300_000)}"`, '', 'short again'];
  const batches = (async function* () {
    for (const text of texts) yield [`"${text.replaceAll('"', '""')}"`];
  })();
  const pathOf = () => join(folder.path, '_rows.csv');
  for await (const staged of stageRows(batches, { pathOf, rowsPerFile: 10 }))
    await writeFile({ duckdb, columns, format: 'parquet', root: folder.path }, 'part-0.parquet', staged);
  const rows = await askDuckDB(`select headline from read_parquet('${folder.path}/part-0.parquet')`);
  expect(rows.map(({ headline }) => headline)).toEqual(texts);
  // The staged rows are gone.
  expect(await readdir(folder.path)).toEqual(['part-0.parquet', 'spill']);
});

it('texts come through whatever they begin with: line breaks of any kind, quotes, commas', async () => {
  await using folder = await aFolder();
  using duckdb = await openDuckDB(join(folder.path, 'spill'), new AbortController().signal);
  const columns = [
    { name: 'headline', type: 'text' },
    { name: 'source', type: 'text' },
  ];
  const aText = fc.string({ unit: fc.constantFrom('\r', '\n', '\r\n', '"', ',', 'a', '😀'), maxLength: 6 });
  const rows = fc.array(fc.tuple(aText, aText), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(rows, fc.constantFrom('csv' as const, 'parquet' as const), async (texts, format) => {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
      const batches = (async function* () {
        yield texts.map((row) => row.map(quoted).join(','));
      })();
      const path = join('month=2025-01', `part.${format}`);
      const pathOf = () => join(folder.path, '_rows.csv');
      for await (const staged of stageRows(batches, { pathOf, rowsPerFile: 10 }))
        await writeFile({ duckdb, columns, format, root: folder.path }, path, staged);
      const files = readFiles(format, [join(folder.path, path)], columns);
      const read = await duckdb.run(`select headline, source from ${files}`);
      expect(read.map(({ headline, source }) => [headline, source])).toEqual(texts);
    }),
    {
      examples: [
        [[['\rx', 'a']], 'parquet'],
        [
          [
            ['\rx', 'a'],
            ['b\n', 'c'],
          ],
          'csv',
        ],
      ],
    },
  );
});

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
