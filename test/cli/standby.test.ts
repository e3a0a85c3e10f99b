import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { aPrimaryAndStandby } from '../support/a-standby.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { accessTo, aFolder, gmsi, says, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor, quarter } from './jobs.ts';

const servers = await aPrimaryAndStandby();
const sandbox = await aSandboxForAll({ limits: null, volume: 0.1 });
const folder = await aFolder();
const env = { ...accessTo(servers.primary, sandbox), GMSI_READ_DATABASE_URL: servers.standby.url };
const setting = { cwd: folder.path, env };
const [primary, standby] = [servers.primary, servers.standby].map(({ url }) =>
  connect({ kind: 'url', url: new Secret(url) }, 2),
) as [Warehouse, Warehouse];
/** Begun before the tests, because it waits some seconds for an answer. */
const withoutStandby = gmsi(['export'], {
  cwd: folder.path,
  env: { ...env, GMSI_READ_DATABASE_URL: 'postgres://gmsi:geheim@127.0.0.1:1/gmsi' },
});

beforeAll(async () => {
  await folder.write('jobs/us.yaml', jobFor(january));
  await folder.write('jobs/more.yaml', jobFor(quarter));
  expect(await gmsiHere(['backfill', 'us'], setting)).toMatchObject({ code: 0 });
  await caughtUp();
});
afterAll(async () => {
  await primary.destroy();
  await standby.destroy();
  for (const own of [folder, servers]) await own[Symbol.asyncDispose]();
});

async function caughtUp(): Promise<void> {
  const rows = await sqlIn(primary)<{ written: string }>`select pg_current_wal_lsn()::text as written`;
  await vi.waitUntil(
    async () => {
      const found = await sqlIn(standby)<{ yes: boolean }>`
        select pg_last_wal_replay_lsn() >= ${rows[0]!.written}::pg_lsn as yes`;
      return found[0]!.yes;
    },
    { timeout: 30_000 },
  );
}

async function headlines(on: Warehouse): Promise<number> {
  const rows = await sqlIn(on)<{ count: number }>`select count(*) from gmsi.headlines`;
  return rows[0]!.count;
}

it('exports from the standby, says how current it is, and continues when it has replayed more', async () => {
  const here = async (...args: string[]) => {
    const { code, stdout, stderr } = await gmsiHere(['--json', ...args], setting);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return JSON.parse(stdout);
  };
  const held = await headlines(primary);
  expect(await here('export')).toMatchObject({ rows: held, standby: { replayed_to: expect.any(String) } });
  expect((await gmsiHere(['export', '--overwrite'], setting)).stdout).toMatch(
    /^standby +complete to 20\S+ \d\d:\d\d UTC, at most \d.* behind$/m,
  );

  await sqlIn(standby)`select pg_wal_replay_pause()`;
  expect(await gmsiHere(['backfill', 'more'], setting)).toMatchObject({ code: 0 });
  const more = await headlines(primary);
  expect(more).toBeGreaterThan(held);
  const before = await here('export', '--changed-since');
  expect(before).toMatchObject({ rows: held, written: { months: 0 } });
  const manifest = JSON.parse(await readFile(join(before.out, '_manifest.json'), 'utf8'));
  expect(Date.parse(manifest.exported_at)).toBeLessThanOrEqual(Date.parse(before.standby.replayed_to));

  const asOf = new Date().toISOString();
  expect(await gmsiHere(['export', '--as-of', asOf, '--out', 'then'], setting)).toMatchObject(
    says(2, /the state at that moment can still change/),
  );

  await sqlIn(standby)`select pg_wal_replay_resume()`;
  await caughtUp();
  expect(await here('export', '--changed-since')).toMatchObject({ rows: more });
});

it('checks on the standby, without storing the results', async () => {
  const { code, stdout } = await gmsiHere(['check', 'us'], setting);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /because this connection may only read\.\n\nStandby: complete to 20\S+ \d\d:\d\d UTC, at most /,
  );
});

it('is one of the things that gmsi doctor looks at', async () => {
  const { stdout } = await gmsiHere(['doctor'], setting);
  expect(stdout).toMatch(/standby +complete to 20\S+ \d\d:\d\d UTC, at most /);
});

it('serves the standby, and each answer says how current it is', async () => {
  const web = startGmsi(['serve', '--port', '0', '--json'], setting);
  try {
    await vi.waitUntil(() => web.stdout.includes('\n'), { timeout: 60_000 });
    const { url } = JSON.parse(web.stdout);
    const answer = await fetch(`${url}/api/feeds`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('gmsi-complete-to')).toMatch(/^20\S+Z$/);
    const again = await fetch(`${url}/api/feeds`, {
      headers: { 'if-none-match': answer.headers.get('etag')! },
    });
    expect([again.status, again.headers.get('gmsi-complete-to')]).toEqual([304, expect.any(String)]);
    for (const path of ['jobs', 'loads?limit=5', 'series']) {
      expect((await fetch(`${url}/api/${path}`)).status, path).toBe(200);
    }
  } finally {
    web.kill('SIGTERM');
    await web.ended;
  }
});

it('writes a report from the standby', async () => {
  expect(await gmsiHere(['serve', '--html', 'now.html'], setting).then(({ code }) => code)).toBe(0);
  expect(await readFile(join(folder.path, 'now.html'), 'utf8')).toContain(', a standby');
});

it('refuses a standby whose schema is older, and an address that is none', async () => {
  const exportFrom = (address: string) =>
    gmsiHere(['export'], { ...setting, env: { ...setting.env, GMSI_READ_DATABASE_URL: address } });
  expect(await exportFrom('standby:5432')).toMatchObject(
    says(2, 'GMSI_READ_DATABASE_URL is not the address'),
  );
  expect(await withoutStandby).toMatchObject(
    says(2, /Check host and port.* The address in use is GMSI_READ_DATABASE_URL\.\n$/),
  );
  await sqlIn(
    primary,
  )`delete from gmsi.kysely_migration where name = (select max(name) from gmsi.kysely_migration)`;
  await caughtUp();
  expect(await gmsiHere(['check', 'us'], setting)).toMatchObject(
    says(2, /older than this program, and this server is a standby\.\n.*migrate on the primary/),
  );
});
