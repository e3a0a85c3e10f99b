import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { status as statusCommand } from '../../src/commands/status.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { scoredBy } from '../support/scored-by.ts';
import { runCommand } from './run-command.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-31' };

const warehouse = await aWarehouseForAll();
const sandbox = await aSandboxForAll({ limits: null, volume: 1 });
const headlines = async () =>
  (await sql<{ id: string }>`select headline_id as id from gmsi.headlines`.execute(warehouse.db)).rows;

beforeAll(async () => {
  const run = { job: aJobFor(scope), db: warehouse.db, sandbox };
  await runBackfill({ ...run, aroundPage: scoredBy('3.1') });
  const plan = { fullRefresh: true, retryRefused: false };
  await runBackfill({ ...run, plan, aroundPage: scoredBy('3.2') });
});

test('status shows a load that met headlines with the scores of another model', async () => {
  const status = async (json: boolean) =>
    (await runCommand({ warehouse, sandbox, json }, (session) => statusCommand.run(session, [], {}))).output;
  const many = (await headlines()).length;
  const [head, row] = (await status(false)).split('Mass rescorings in the last 30 days\n')[1]!.split('\n');
  expect(head).toMatch(/^load +job +began \(UTC\) +rescored +of known +published from +to +model version$/);
  expect(row).toMatch(
    new RegExp(`^ +2 +test +\\S+ \\S+ +${many} +${many} +2024-01-01 +2024-02-01 +3\\.1 → 3\\.2$`),
  );
  expect(JSON.parse(await status(true)).rescorings).toMatchObject([
    { load_id: 2, headlines: many, old_model_version: '3.1', new_model_version: '3.2' },
  ]);
});
