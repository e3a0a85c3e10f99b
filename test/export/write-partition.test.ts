import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDuckDB } from '../../src/export/duckdb.ts';
import { createStage, writePartition } from '../../src/export/write-partition.ts';
import { aFolder } from '../cli/gmsi.ts';

it('never holds more rows than a file may have, however many there are', async () => {
  await using folder = await aFolder();
  using duckdb = await openDuckDB(join(folder.path, 'spill'), new AbortController().signal);
  const stage = createStage(duckdb, [{ name: 'score', type: 'double precision' }]);
  const held: number[] = [];
  const batches = (async function* () {
    for (let batch = 0; batch < 50; batch++) {
      held.push(stage.rows);
      yield [{ score: '0.1' }, { score: null }, { score: String(batch) }];
    }
  })();
  const writer = { duckdb, stage, format: 'csv' as const, root: folder.path, rowsPerFile: 7 };

  const files = await writePartition(writer, 'country=US/month=2025-01', batches);

  expect(Math.max(...held)).toBe(6);
  expect(files.map(({ rows }) => rows)).toEqual(Array.from({ length: 25 }, () => 6));
  expect(stage.rows).toBe(0);
});
