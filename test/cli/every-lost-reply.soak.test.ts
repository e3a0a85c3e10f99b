import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COUNTRIES } from '../../packages/sandbox/src/world/countries.ts';
import { TOPICS } from '../../packages/sandbox/src/world/topics.ts';
import { migrationStatus } from '../../src/warehouse/migrate.ts';
import { readLookups } from '../../src/warehouse/tables/lookups.ts';
import { isLoaded, type Kind, load, loseEachReply, scope, settings } from '../load/losing-replies.ts';
import { anEmptyDatabase, type TestWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';
import { accessTo, aFolder, type Ended } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor } from './jobs.ts';

/** Runs a command in a folder with the job, by way of the proxy. */
async function command(
  args: readonly string[],
  { url, sandbox }: Parameters<Kind['work']>[0],
): Promise<Ended> {
  await using folder = await aFolder();
  await folder.write('jobs/small.yaml', jobFor(scope, { ...settings }));
  const env = { ...accessTo({ url } as TestWarehouse, sandbox) };
  const ended = await gmsiHere([...args], { cwd: folder.path, env });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended;
}

const kinds: Readonly<Record<string, Kind>> = {
  'gmsi snapshot': {
    work: (setting) => command(['snapshot', 'paper'], setting),
    after: async ({ warehouse }) => expect(await countRows(warehouse.db, 'moments')).toBe(1),
  },
  'gmsi check': {
    before: load,
    work: (setting) =>
      command(['check', 'small', '--only', 'gaps', '--only', 'duplicates', '--json'], setting),
    after: async ({ warehouse }) => expect(await countRows(warehouse.db, 'check_results')).toBe(2),
  },
  'gmsi export': {
    oneIn: 2,
    before: load,
    async work(setting) {
      await using folder = await aFolder();
      await command(['export', 'small', '--format', 'csv', '--out', join(folder.path, 'out')], setting);
    },
    after: isLoaded,
  },
  'gmsi plan': {
    before: load,
    work: (setting) => command(['plan', 'small', '--json'], setting),
    after: isLoaded,
  },
  'gmsi lookups': {
    work: (setting) => command(['lookups'], setting),
    async after({ warehouse, sandbox }) {
      const { countries, topics } = await readLookups(warehouse.db);
      expect([countries.length, topics.length]).toEqual([COUNTRIES.length, TOPICS.length]);
      const rows = await sqlIn(warehouse.db)<{ requests: number }>`select requests from gmsi.api_usage`;
      // A booking that is repeated counts twice: the budget is spent too early rather than passed.
      expect(rows[0]!.requests - sandbox.stats().requests).toBeOneOf([0, 1]);
    },
  },
  'gmsi migrate': {
    oneIn: 6,
    given: anEmptyDatabase,
    work: async (setting) => {
      const missing = await migrationStatus(setting.warehouse.db);
      const { stdout } = await command(['migrate', '--json'], setting);
      expect(JSON.parse(stdout).applied).toEqual(missing.map(({ name }) => name));
    },
    async after({ warehouse }) {
      const status = await migrationStatus(warehouse.db);
      expect(status.every(({ executedAt }) => executedAt)).toBe(true);
      expect(await countRows(warehouse.db, 'kysely_migration')).toBe(status.length);
    },
  },
};

// A command has this process to itself.
it.each(Object.entries(kinds))('%s may lose any reply', { timeout: 900_000 }, (_, kind) =>
  loseEachReply(kind, 1),
);
