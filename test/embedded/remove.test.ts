import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { aFolder, gmsi, startGmsi } from '../cli/gmsi.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aClone, clusterElsewhere } from './clone.ts';
import { hasProc, processesIn } from './processes.ts';

const isRoot = process.getuid?.() === 0;
const remove = ['demo', '--remove'];
const removed = { code: 0, stderr: '', stdout: expect.stringMatching(/^Removed:\n/) };

/** A server that somebody is using, and its GMSI_HOME. */
async function aRunningServer() {
  const folder = await aFolder();
  const home = join(folder.path, '.gmsi');
  const setting = { cwd: folder.path, env: { GMSI_HOME: home } };
  const user = startGmsi(['psql', '--address'], setting);
  await vi.waitUntil(() => user.stdout.includes('postgres://'), { timeout: 60_000 });
  return {
    home,
    setting,
    async [Symbol.asyncDispose]() {
      user.kill('SIGKILL');
      await user.ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('gmsi demo --remove', () => {
  it('says what it would remove, and with --yes stops the server and leaves nothing', async () => {
    await using server = await aRunningServer();
    const { home, setting } = server;
    const cluster = (await clusterElsewhere(home)) ?? join(home, 'postgres');
    const listed = await gmsi(remove, setting);
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(cluster) });
    expect(existsSync(join(cluster, 'data', 'PG_VERSION'))).toBe(true);

    expect(await gmsi([...remove, '--yes'], setting)).toMatchObject(removed);
    expect(existsSync(home)).toBe(false);
    expect(existsSync(cluster)).toBe(false);
    if (hasProc) expect(processesIn(join(cluster, 'data'))).toEqual([]);
    const { stdout } = await gmsi([...remove, '--yes'], setting);
    expect(stdout).toMatch(/^Nothing to remove/);
  });

  it('leaves the database that DATABASE_URL names, and what else is in GMSI_HOME', async () => {
    await using server = await aRunningServer();
    const { home, setting } = server;
    await using warehouse = await aWarehouse();
    await writeFile(join(home, 'notes.txt'), 'mine');
    const env = { ...setting.env, DATABASE_URL: warehouse.url };
    expect(await gmsi([...remove, '--yes'], { ...setting, env })).toMatchObject(removed);
    expect(existsSync(join(home, 'notes.txt'))).toBe(true);
    expect(existsSync(join(home, 'postgres'))).toBe(false);
    await sql`select from gmsi.headlines`.execute(warehouse.db);
  });

  it('finds nothing where there is nothing, and makes nothing', async () => {
    await using folder = await aFolder();
    const setting = { cwd: folder.path, env: { GMSI_HOME: join(folder.path, 'home') } };
    expect((await gmsi([...remove, '--yes'], setting)).stdout).toMatch(/^Nothing to remove/);
    expect(existsSync(join(folder.path, 'home'))).toBe(false);
  });

  it.each([
    [
      "a folder postgres of somebody's own",
      async (home: string) => writeFile(join(home, 'postgres', 'dump.sql'), ''),
    ],
    ['data of another server', async (home: string) => void (await mkdir(join(home, 'postgres', 'data')))],
    [
      'a pointer to somewhere else',
      async (home: string) => {
        await mkdir(join(home, '..', 'precious', 'data'), { recursive: true });
        await writeFile(join(home, 'postgres-is-in'), join(home, '..', 'precious'));
      },
    ],
  ])('leaves alone %s', async (_, make) => {
    await using folder = await aFolder();
    const home = join(folder.path, 'home');
    await mkdir(join(home, 'postgres'), { recursive: true });
    await make(home);
    const { code, stderr } = await gmsi([...remove, '--yes'], { cwd: folder.path, env: { GMSI_HOME: home } });
    expect(stderr).toContain('is not as the embedded server makes it, and is left alone');
    expect(code).toBe(2);
    expect(existsSync(join(home, 'postgres'))).toBe(true);
  });

  it('does not remove what a link in its place leads to', async () => {
    await using folder = await aFolder();
    const [home, precious] = [join(folder.path, 'home'), join(folder.path, 'precious')];
    await mkdir(join(home), { recursive: true });
    await mkdir(precious);
    await writeFile(join(precious, 'thesis.txt'), '');
    await symlink(precious, join(home, 'postgres'));
    const { code } = await gmsi([...remove, '--yes'], { cwd: folder.path, env: { GMSI_HOME: home } });
    expect(code).toBe(2);
    expect(existsSync(join(precious, 'thesis.txt'))).toBe(true);
  });

  it.skipIf(!isRoot)('removes also the data that had to move to where its user can enter', async () => {
    await using clone = await aClone({ mode: 0o700 });
    const setting = { cwd: clone.root, cli: clone.cli };
    expect(await gmsi(['psql', '-c', 'select 1'], setting)).toMatchObject({ code: 0 });
    const cluster = (await clusterElsewhere(join(clone.root, '.gmsi')))!;
    expect(existsSync(cluster)).toBe(true);
    expect(await gmsi([...remove, '--yes'], setting)).toMatchObject({
      ...removed,
      stdout: expect.stringContaining(cluster),
    });
    expect(existsSync(cluster)).toBe(false);
    expect(existsSync(join(clone.root, '.gmsi'))).toBe(false);
  });
});
