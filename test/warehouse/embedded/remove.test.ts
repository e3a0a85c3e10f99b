import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { ConfigError } from '../../../src/errors.ts';
import { findRemains, removeRemains } from '../../../src/warehouse/embedded/remove.ts';
import { aFolder, type Folder, startGmsi } from '../../cli/gmsi.ts';
import { gmsiHere } from '../../cli/in-process.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { it } from '../../support/serving.ts';
import { sqlIn } from '../../support/warehouse-state.ts';
import { hasProc, processesIn } from './processes.ts';

const remove = ['demo', '--remove'];

let folder: Folder;
let home: string;
beforeEach(async () => {
  folder = await aFolder();
  home = join(folder.path, 'home');
});
afterEach(() => folder[Symbol.asyncDispose]());

describe('gmsi demo --remove', () => {
  it('says what it would remove, and with --yes removes only its own', async ({ warehouse, db }) => {
    await anEmbeddedHome(home);
    const setting = { cwd: folder.path, env: { GMSI_HOME: home } };
    const user = startGmsi(['psql', '--address'], setting);
    try {
      await vi.waitFor(() => expect(user.stdout, user.stderr).toContain('postgresql://'), 60_000);
      await writeFile(join(home, 'notes.txt'), 'mine');
      const cluster = join(home, 'postgres');
      const env = { ...setting.env, DATABASE_URL: warehouse.url };
      const listed = await gmsiHere(remove, { ...setting, env });
      expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(cluster) });
      expect(existsSync(join(cluster, 'data', 'PG_VERSION'))).toBe(true);

      const removing = () => gmsiHere([...remove, '--yes'], { ...setting, env });
      expect(await removing()).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^gmsi: The embedded server is in use by process \d+, so nothing is removed\.\n {2}→ Stop it \(ps -fp \d+ /,
        ),
      });
      expect(existsSync(join(cluster, 'data', 'PG_VERSION'))).toBe(true);
      user.kill('SIGKILL');
      await user.ended;
      const removed = await removing();
      expect(removed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^Removed:\n/) });
      expect(existsSync(cluster)).toBe(false);
      if (hasProc) expect(processesIn(join(cluster, 'data'))).toEqual([]);
      expect(existsSync(join(home, 'notes.txt'))).toBe(true);
      await sqlIn(db)`select from gmsi.headlines`;
    } finally {
      user.kill('SIGKILL');
      await user.ended;
    }
  });

  it('leaves nothing of a GMSI_HOME that holds nothing else, not even the folder', async () => {
    await anEmbeddedHome(home);
    await removeRemains(home, findRemains(home));
    expect(existsSync(home)).toBe(false);
  });

  it('finds nothing if there is nothing, and makes nothing', async () => {
    const setting = { cwd: folder.path, env: { GMSI_HOME: home } };
    expect((await gmsiHere([...remove, '--yes'], setting)).stdout).toMatch(/^Nothing to remove/);
    expect(existsSync(home)).toBe(false);
  });

  it.each([
    ["a folder postgres of somebody's own", () => writeFile(join(home, 'postgres', 'dump.sql'), '')],
    ['data of another server', () => mkdir(join(home, 'postgres', 'data'))],
    [
      'a pointer to somewhere else',
      async () => {
        await mkdir(join(home, '..', 'precious', 'data'), { recursive: true });
        await writeFile(join(home, 'postgres-is-in'), join(home, '..', 'precious'));
      },
    ],
  ])('leaves alone %s', async (_, make) => {
    await mkdir(join(home, 'postgres'), { recursive: true });
    await make();
    expect(() => findRemains(home)).toThrow(ConfigError);
    expect(() => findRemains(home)).toThrow('was not made by the embedded server, so it is not removed');
  });

  it('does not remove what a link in its place leads to, and ends with 2', async () => {
    const precious = join(folder.path, 'precious');
    await mkdir(home);
    await mkdir(precious);
    await writeFile(join(precious, 'thesis.txt'), '');
    await symlink(precious, join(home, 'postgres'));
    const { code, stderr } = await gmsiHere([...remove, '--yes'], {
      cwd: folder.path,
      env: { GMSI_HOME: home },
    });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('was not made by the embedded server, so it is not removed'),
    ]);
    expect(existsSync(join(precious, 'thesis.txt'))).toBe(true);
  });
});
