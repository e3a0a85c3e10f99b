import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as passing } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { run } from '../../bench/processes.ts';
import { Random } from '../../src/sandbox/random.ts';
import { manyRecords } from '../import/importing.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aFolder, program, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

const stated = ['--feed', 'gmsi-headlines', '--country', 'US', '--topic', 'Wars', '--match-type', 'COMBINED'];
const kills = 6;

it('loses nothing and doubles nothing, however often and whenever it is killed', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const [files, each] = [4, 20_000];
  for (let file = 0; file < files; file++)
    await folder.write(`many/${file}.ndjson`, manyRecords(each, file * each));
  const setting = { cwd: folder.path, env: { DATABASE_URL: warehouse.url } };
  const random = new Random(20_261_122);
  const recordsSoFar = async () => {
    const { rows } = await sql<{ records: number }>`
      select coalesce(sum(records), 0)::int as records from gmsi.imported_files`.execute(warehouse.db);
    return rows[0]!.records;
  };
  let inTheMiddle = 0;
  for (let kill = 0; kill < kills; kill++) {
    const before = await recordsSoFar();
    const gone = startGmsi(['import', 'many', ...stated], setting);
    // Once it has committed something, however long that takes on this machine.
    await vi.waitFor(async () => expect(await recordsSoFar()).toBeGreaterThan(before), {
      ...{ timeout: 60_000, interval: 20 },
    });
    await passing(300 * random.share());
    gone.kill('SIGKILL');
    await gone.ended;
    const { rows } = await sql`
      select from gmsi.imported_files where finished_at is null and records > 0`.execute(warehouse.db);
    if (rows.length > 0) inTheMiddle++;
  }
  expect(inTheMiddle, 'kills in the middle of a file').toBeGreaterThanOrEqual(kills / 2);
  expect(await gmsiHere(['import', 'many', ...stated], setting)).toMatchObject({ code: 0 });
  const { rows } = await sql`
    select count(*)::int as rows, count(distinct headline_id)::int as ids,
           (select count(*)::int from gmsi.headline_revisions) as revisions,
           (select sum(records)::int from gmsi.imported_files) as records from gmsi.headlines`.execute(
    warehouse.db,
  );
  expect(rows).toEqual([{ rows: files * each, ids: files * each, revisions: 0, records: files * each }]);
});

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
