import { sql } from 'kysely';
import { expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { repairCommand } from '../../src/commands/repair.ts';
import { it } from '../support/serving.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { runCommand } from './run-command.ts';

it('computes the rollups again, and says how many rows were wrong', async ({ warehouse, db }) => {
  await using sandbox = await startSandbox();
  const run = (options: Parameters<typeof repairCommand>[2], names: string[] = []) =>
    runCommand({ warehouse, sandbox }, (session) => repairCommand(session, names, options));
  await upsert(db, [aRow({ directional_score: 0.5, semantic_score: 0.1 })]);
  await sql`delete from gmsi.hourly_sums`.execute(db);
  expect((await run({ rollups: true, to: '2026-08-31' })).output).toBe(
    '0 series computed again: all were right.\n',
  );
  expect((await run({ rollups: true })).output).toBe(
    '1 series computed again: 2 rows of the rollups were wrong.\n',
  );
  expect((await run({ rollups: true })).output).toBe('1 series computed again: all were right.\n');
  await expect(run({ from: '2026-01-01' })).rejects.toThrow('--from and --to need --rollups.');
  await expect(run({ rollups: true }, ['job'])).rejects.toThrow('--rollups takes no job.');
});
