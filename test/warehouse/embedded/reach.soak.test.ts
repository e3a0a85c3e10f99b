import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { aFolder, gmsi } from '../../cli/gmsi.ts';
import { aClone, clusterElsewhere } from './clone.ts';

const isRoot = process.getuid?.() === 0;

it.skipIf(!isRoot)(
  'runs from a clone that only root can enter, and removes its data (skipped: only root can make it)',
  async () => {
    await using clone = await aClone({ mode: 0o700 });
    const setting = { cwd: clone.root, cli: clone.cli };
    const home = join(clone.root, '.gmsi');

    const first = await gmsi(['migrate', '--verbose'], setting);
    const cluster = (await clusterElsewhere(home))!;
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining(cluster) });
    expect((await stat(cluster)).uid).not.toBe(0);
    const migrated = ['psql', '-c', 'select 42 as answer from gmsi.headlines right join (select) on true'];
    expect(await gmsi(migrated, setting)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('42'),
      stderr: '',
    });

    const removed = await gmsi(['demo', '--remove', '--yes'], setting);
    expect(removed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^Removed:\n/) });
    expect(removed.stdout).toContain(cluster);
    expect([existsSync(cluster), existsSync(home)]).toEqual([false, false]);
  },
);

it.skipIf(!isRoot)(
  'runs for an ordinary user from a checkout that is not theirs to write, with GMSI_HOME elsewhere (skipped: this is not root)',
  async () => {
    await using clone = await aClone({ mode: 0o755 });
    await using folder = await aFolder();
    const nobody = { uid: 65_534, gid: 65_534 };
    await chmod(folder.path, 0o755);
    const home = join(folder.path, 'home of nobody');
    await mkdir(home);
    await chown(home, nobody.uid, nobody.gid);
    const setting = { cwd: clone.root, cli: clone.cli, env: { GMSI_HOME: home }, ...nobody };

    expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
    expect((await stat(join(home, 'postgres', 'data'))).uid).toBe(nobody.uid);
    const { code, stderr } = await gmsi(['migrate'], { ...setting, env: {} });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^gmsi: The embedded warehouse cannot be kept in .*\n {2}→ Set GMSI_HOME /);
  },
);

it('runs from a path with spaces and quotes, and with a home of such a path', async () => {
  await using clone = await aClone({ name: "it's a clone & more", mode: 0o755 });
  const home = join(clone.root, "one's home (%20)");
  const setting = { cwd: clone.root, cli: clone.cli, env: { GMSI_HOME: home } };
  expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
  expect((await stat(join(home, 'postgres', 'data', 'PG_VERSION'))).isFile()).toBe(true);
});
