import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run } from '../../bench/processes.ts';
import { manyRecords } from '../import/importing.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aFolder, program } from './gmsi.ts';

const stated = ['--feed', 'gmsi-headlines', '--country', 'US', '--topic', 'Wars', '--match-type', 'COMBINED'];

it('needs the same memory for a file of any size', async () => {
  await using folder = await aFolder();
  const peaks: number[] = [];
  for (const thousands of [50, 250]) {
    await using warehouse = await aWarehouse();
    const path = join(folder.path, `${thousands}.ndjson`);
    const file = await open(path, 'w');
    for (let part = 0; part < thousands; part++) await file.appendFile(manyRecords(1000, part * 1000));
    await file.close();
    const args = [fileURLToPath(new URL(`file://${program}`)), '--quiet', 'import', path, ...stated];
    const { code, peakBytes } = await run(args, { DATABASE_URL: warehouse.url });
    expect(code).toBe(0);
    peaks.push(peakBytes);
  }
  const [small, large] = peaks as [number, number];
  expect(large / small, `${small} and ${large} bytes`).toBeLessThan(1.25);
});
