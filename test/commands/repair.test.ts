import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { backfill } from '../../src/commands/load.ts';
import { repairWarehouse } from '../../src/commands/repair.ts';
import { aFolder } from '../cli/gmsi.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { runCommand } from './run-command.ts';

const job = 'countries: [US]\ntopics: [Inflation-Food]\nstart_date: 2026-10-01\nend_date: 2026-10-02\n';
const clock = () => new Date('2026-11-20T12:00:00Z');

const warehouse = await aWarehouseForAll();
// The first record has a field by another name, the second no time.
const script = [{ kind: 'drift' as const, drifts: ['renamed-field', 'no-time'] as const }];
const sandbox = await aSandboxForAll({ limits: null, clock, faults: { script } });
const folder = await aFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const path = await folder.write('food.yaml', job);

beforeAll(async () => {
  await runCommand({ warehouse, sandbox }, (session) => backfill.run(session, [path], {}));
  await folder.write('food.yaml', `${job}fields: { topic_probability: [topicProbability] }\n`);
});

const repaired = (names: string[], options: { dryRun?: boolean } = {}, json = false) =>
  runCommand({ warehouse, sandbox, json }, (session) =>
    repairWarehouse(session, names, { repair: 'records', ...options }),
  );

test('repair says for each job what it would do, does it, and what still cannot be read', async () => {
  const { requests } = sandbox.stats();
  expect(await repaired([path], { dryRun: true })).toMatchObject({
    code: 0,
    output: expect.stringMatching(/rows filled[\s\S]*Nothing was changed/),
  });
  const { code, output } = await repaired([path]);
  expect(code).toBe(0);
  expect(output).toMatch(/gmsi-headlines +food +1 +0 +0 +1 +0\n/);
  expect(output).toMatch(/still rejected +records\ngmsi-headlines +no readable publication time +1\n$/);
  expect(sandbox.stats().requests).toBe(requests);
});

test('repair goes over all feeds if no job is named, and prints JSON if asked to', async () => {
  const { code, output } = await repaired([], {}, true);
  expect(code).toBe(0);
  const { dry_run: dryRun, repaired: feeds } = JSON.parse(output);
  expect(dryRun).toBe(false);
  expect(feeds).toContainEqual(
    expect.objectContaining({
      feed: 'gmsi-headlines',
      job: '',
      outcome: 'done',
      records: 1,
      rows: 0,
      rows_filled: 0,
      still_rejected: { 'no readable publication time': 1 },
    }),
  );
  expect(feeds).toContainEqual(expect.objectContaining({ feed: 'ticker-events', records: 0 }));
});

test('repair of nothing says so', async () => {
  await using empty = await aWarehouse();
  const { output } = await runCommand({ warehouse: empty, sandbox }, (session) =>
    repairWarehouse(session, [], { repair: 'records' }),
  );
  expect(output).toMatch(/^Nothing to repair/);
});

test('repair that is stopped before it begins does not say that there is nothing to repair', async () => {
  const { code, output } = await runCommand({ warehouse, sandbox }, (session) =>
    repairWarehouse({ ...session, stop: AbortSignal.abort() }, [], { repair: 'records' }),
  );
  expect({ code, output }).toEqual({ code: 130, output: 'Interrupted; run it again for the rest.\n' });
});

test('repair of a job whose series the warehouse does not know is refused', async () => {
  await using empty = await aWarehouse();
  await expect(
    runCommand({ warehouse: empty, sandbox }, (session) =>
      repairWarehouse(session, [path], { repair: 'records' }),
    ),
  ).rejects.toThrow('has not been loaded yet');
});

test('repair computes the rollups again, and says how many rows were wrong', async () => {
  await using own = await aWarehouse();
  const { db } = own;
  const run = (options: Parameters<typeof repairWarehouse>[2], names: string[] = []) =>
    runCommand({ warehouse: own, sandbox }, (session) => repairWarehouse(session, names, options));
  await upsert(db, [aRow({ directional_score: 0.5, semantic_score: 0.1 })]);
  await sql`delete from gmsi.hourly_sums`.execute(db);
  expect((await run({ repair: 'rollups', to: '2026-08-31' })).output).toBe(
    '0 series computed again: all were right.\n',
  );
  expect((await run({ repair: 'rollups' })).output).toBe(
    '1 series computed again: 2 rows of the rollups were wrong.\n',
  );
  expect((await run({ repair: 'rollups' })).output).toBe('1 series computed again: all were right.\n');
  await expect(run({ repair: 'windows', from: '2026-01-01' })).rejects.toThrow('need --repair rollups.');
  await expect(run({ repair: 'rollups' }, ['job'])).rejects.toThrow('--repair rollups takes no job.');
});
