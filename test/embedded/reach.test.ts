import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aFolder, gmsi } from '../cli/gmsi.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aClone, clusterElsewhere, removeHome } from './clone.ts';

const isRoot = process.getuid?.() === 0;
const select = ['psql', '-c', 'select 6 * 7 as answer'];
const answered = { code: 0, stdout: expect.stringContaining('42') };

describe.skipIf(!isRoot)('for root (skipped: only root can make what only root can enter)', () => {
  it('runs from a clone that only root can enter, and says where its data are', async () => {
    await using clone = await aClone({ mode: 0o700 });
    const setting = { cwd: clone.root, cli: clone.cli };

    const first = await gmsi(['migrate', '--verbose'], setting);
    const cluster = await clusterElsewhere(join(clone.root, '.gmsi'));
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(cluster!) });
    expect((await stat(cluster!)).uid).not.toBe(0);
    expect(await gmsi(select, setting)).toMatchObject({ ...answered, stderr: '' });
    expect(await gmsi(['migrate', 'status', '--json'], setting)).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('"applied_at": null'),
    });
  });

  it('lets five first commands at once agree on one place for the data', async () => {
    await using clone = await aClone({ mode: 0o700 });
    const setting = { cwd: clone.root, cli: clone.cli };

    const all = await Promise.all(Array.from({ length: 5 }, () => gmsi(['migrate', '--json'], setting)));

    expect(all.map(({ code, stderr }) => ({ code, stderr: code === 0 ? '' : stderr }))).toEqual(
      Array(5).fill({ code: 0, stderr: '' }),
    );
    const cluster = await clusterElsewhere(join(clone.root, '.gmsi'));
    for (const { stdout } of all) expect(JSON.parse(stdout).warehouse).toContain(cluster!);
    const applied = all.flatMap(({ stdout }) => JSON.parse(stdout).applied);
    expect(new Set(applied).size).toBe(applied.length);
  });

  it('runs for an ordinary user from a checkout that is not theirs to write, with GMSI_HOME elsewhere', async () => {
    await using clone = await aClone({ mode: 0o755 });
    await using folder = await aFolder();
    const nobody = { uid: 65_534, gid: 65_534 };
    await chmod(folder.path, 0o755);
    const home = join(folder.path, 'home of nobody');
    await mkdir(home);
    await chown(home, nobody.uid, nobody.gid);
    const setting = { cwd: clone.root, cli: clone.cli, env: { GMSI_HOME: home }, ...nobody };

    expect(await gmsi(select, setting)).toMatchObject(answered);
    expect((await stat(join(home, 'postgres', 'data'))).uid).toBe(nobody.uid);
    const { code, stderr } = await gmsi(['status'], { ...setting, env: {} });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^gmsi: The embedded warehouse cannot be kept in .*\n {2}→ Set GMSI_HOME /);
  });

  it('does not begin afresh where it can no longer reach its data', async () => {
    await using folder = await aFolder();
    await chmod(folder.path, 0o755);
    const home = join(folder.path, 'home');
    const setting = { cwd: folder.path, env: { GMSI_HOME: home } };
    expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
    await chmod(folder.path, 0o700);

    const { code, stderr } = await gmsi(['status'], setting);

    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^gmsi: The user that must run PostgreSQL can no longer enter .*\n {2}→ .*chmod a\+x/,
    );
  });
});

it.skipIf(isRoot)('runs for an ordinary user in their own folder (skipped: this is root)', async () => {
  await using folder = await aFolder();
  expect(await gmsi(select, { cwd: folder.path })).toMatchObject(answered);
});

it('runs from a path with spaces and quotes, and with a home of such a path', async () => {
  // What a shell expands makes a copy of the server's programs necessary, for which only root has a place.
  const shell = isRoot ? ' "$HOME" `id`' : '';
  await using clone = await aClone({ name: `it's a clone & more${shell}`, mode: 0o755 });
  const home = join(clone.root, `one's home (%20)${shell}`);
  const setting = { cwd: clone.root, cli: clone.cli, env: { GMSI_HOME: home } };
  expect(await gmsi(select, setting)).toMatchObject(answered);
  expect((await stat(join(home, 'postgres', 'data', 'PG_VERSION'))).isFile()).toBe(true);
});

it.each([
  ['in a file', 'a file/home'],
  ['in /proc', '/proc/nosuch/home'],
  ['at /proc', '/proc'],
  ['in /sys', '/sys/home'],
  ['in a device', '/dev/null/home'],
  ['with a name that is too long', 'x'.repeat(300)],
  ['with a path that is too long', 'x/'.repeat(2500)],
  ['with a path that is too long for PostgreSQL', `${'x'.repeat(200)}/`.repeat(6)],
  ['with a line break', 'home\ngmsi: forged'],
])('says what to do where GMSI_HOME cannot be made: %s', async (_, home) => {
  await using folder = await aFolder();
  await folder.write('a file', 'not a folder');
  await chmod(folder.path, 0o755);
  const { code, stderr } = await gmsi(['status'], { cwd: folder.path, env: { GMSI_HOME: home } });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^gmsi: .*(?:cannot be kept in|cannot be set up in|GMSI_HOME holds) .*\n {2}→ .*\n$/,
    ),
  });
});

it('says what to do where an export cannot be made', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const { code, stderr } = await gmsi(['export', '--out', '/proc/nosuch/export'], {
    cwd: folder.path,
    env: { DATABASE_URL: warehouse.url },
  });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^gmsi: .*\/proc\/nosuch.*\n {2}→ .*\n$/),
  });
});

it('keeps two homes side by side apart', async () => {
  await using folder = await aFolder();
  const homes = ['one', 'two'].map((name) => join(folder.path, name));
  const run = (home: string, args: string[]) => gmsi(args, { cwd: folder.path, env: { GMSI_HOME: home } });
  const made = await Promise.all(
    homes.map((home, index) => run(home, ['psql', '-c', `create table which as select ${index} as home`])),
  );
  expect(made).toMatchObject([{ code: 0 }, { code: 0 }]);
  const found = await Promise.all(homes.map((home) => run(home, ['psql', '-c', 'select home from which'])));
  expect(found.map(({ stdout }) => /\d/.exec(stdout)![0])).toEqual(['0', '1']);
  for (const home of homes) await removeHome(home);
});
