import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { rollupCommand } from '../../src/commands/rollup.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { runCommand } from './run-command.ts';

it('shows the rollups, corrects them and says how many rows were not right', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox();
  const { db } = warehouse;
  const run = (options: Parameters<typeof rollupCommand>[1]) =>
    runCommand({ warehouse, sandbox }, (session) => rollupCommand(session, options));
  await upsert(db, [aRow({ directional_score: 0.5, semantic_score: 0.1 })]);
  expect(await run({})).toMatchObject({
    code: 0,
    output: expect.stringMatching(/sentiment_hourly +2 +2026-09-01 +2026-09-01\n *sentiment_daily +2 /),
  });
  await sql`delete from gmsi.hourly_sums`.execute(db);
  expect((await run({ rebuild: true, to: '2026-08-31' })).output).toMatch(
    /^0 series computed again: all were right/,
  );
  expect((await run({ rebuild: true })).output).toMatch(
    /^1 series computed again: 2 rows of the rollups were wrong/,
  );
  expect((await run({ rebuild: true })).output).toMatch(/^1 series computed again: all were right/);
  await expect(run({ from: '2026-01-01' })).rejects.toThrow('--from and --to need --rebuild.');
  await expect(run({ rebuild: true, from: '2026-02-02', to: '2026-02-01' })).rejects.toThrow('is after');
});
