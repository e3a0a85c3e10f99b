import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDuckDB } from '../../src/duckdb.ts';
import { readFiles } from '../../src/export/duckdb.ts';
import { stageRows } from '../../src/export/stage-rows.ts';
import { writeFile } from '../../src/export/write-file.ts';
import { aFolder } from '../cli/gmsi.ts';
import { askDuckDB } from './exporting.ts';

it('stages nothing more once nobody asks, and ends what it reads from', async () => {
  await using folder = await aFolder();
  let isEnded = false;
  const batches = (async function* () {
    try {
      while (true) yield ['a'];
    } finally {
      isEnded = true;
    }
  })();
  const pathOf = (n: number) => join(folder.path, `${n}.csv`);
  for await (const _ of stageRows(batches, { pathOf, rowsPerFile: 2 })) break;
  expect(isEnded).toBe(true);
  expect(await readdir(folder.path)).toEqual(['0.csv']);
});

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
