import { expect, it } from 'vitest';
import { allText } from './all-text.ts';
import { accessTo } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlace } from './place.ts';

const key = 'k3y-0f-some0ne';

it('shows and stores neither the key nor a password, though the service repeats the key and everything is logged', async () => {
  await using place = await aPlace({ volume: 0.1, keys: [key] });
  const { folder, sandbox, warehouse } = place;
  const env = { ...accessTo(warehouse, sandbox, key), LOG_LEVEL: 'trace' };
  const setting = { cwd: folder.path, env };
  await folder.write('jobs/job.yaml', jobFor({ ...quarter, countries: ['NO'] }, { step: 'P20D' }));
  const inNorway = ({ path }: { path: string }) => path.endsWith('/NO');
  sandbox.script([
    { kind: 'refuse', status: 500, detail: `x-api-key: ${key} broke it`, match: inNorway, times: 3 },
    { kind: 'reset', match: inNorway },
    {
      kind: 'refuse',
      detail: `no such thing for x-api-key: ${key}`,
      match: ({ query }) => query.topic === 'Governance/Corruption',
      times: 1000,
    },
  ]);

  const said: string[] = [];
  for (const args of [
    ['doctor'],
    ['lookups'],
    ['plan', 'job'],
    ['backfill', 'job'],
    ['backfill', 'job', '--verbose'],
    ['status', 'job', '--json'],
    ['migrate', 'status'],
    ['psql', '-c', 'select 1'],
  ]) {
    const { stdout, stderr } = await gmsiHere(args, setting);
    said.push(stdout, stderr);
  }
  const refused = await gmsiHere(['lookups', '--verbose'], {
    ...setting,
    env: { ...env, GMSI_API_KEY: `${key}-old` },
  });
  const unreachable = await gmsiHere(['status', '--verbose'], {
    ...setting,
    env: { ...env, DATABASE_URL: warehouse.url.replace(/@[^/]+/, '@nowhere.invalid') },
  });
  said.push(refused.stdout, refused.stderr, unreachable.stdout, unreachable.stderr);

  const everything = said.join('\n');
  const database = await allText(warehouse.db);
  const password = decodeURIComponent(new URL(warehouse.url).password);
  // If the message could not contain the key anyway, its absence would prove nothing.
  expect({ printed: everything.includes('[key]'), stored: database.includes('[key]') }).toEqual({
    printed: true,
    stored: true,
  });
  for (const secret of [key, password]) {
    expect(everything.includes(secret), 'a secret was printed').toBe(false);
    expect(database.includes(secret), 'a secret was stored').toBe(false);
  }
});

it('sends the key unencrypted to another machine only with GMSI_SEND_KEY_UNENCRYPTED', async () => {
  await using place = await aPlace();
  const { folder, sandbox, warehouse } = place;
  // An address that is not known for this machine, and reaches it all the same.
  const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: sandbox.url.replace('127.0.0.1', '0.0.0.0') };
  const refused = await gmsiHere(['lookups'], { cwd: folder.path, env });
  expect(refused.code).toBe(2);
  expect(sandbox.stats().requests).toBe(0);
  const told = await gmsiHere(['lookups'], {
    cwd: folder.path,
    env: { ...env, GMSI_SEND_KEY_UNENCRYPTED: 'true' },
  });
  expect(told.code).toBe(0);
  expect(sandbox.stats().requests).toBeGreaterThan(0);
});
