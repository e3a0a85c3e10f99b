import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readConfig } from '../../../src/config/environment.ts';
import { ConfigError } from '../../../src/errors.ts';
import { explain } from '../../../src/exit.ts';
import { withoutMarks } from '../../../src/terminal/style.ts';
import { useEmbeddedServer } from '../../../src/warehouse/embedded/server.ts';
import { aFolder, gmsi } from '../../cli/gmsi.ts';
import { gmsiHere } from '../../cli/in-process.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { it } from '../../support/serving.ts';

const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot)('for root (skipped: only root can make what only root can enter)', () => {
  it('does not begin afresh if it can no longer reach its data', async () => {
    await using folder = await aFolder();
    const home = join(folder.path, 'home');
    await anEmbeddedHome(home);
    await chmod(folder.path, 0o700);

    const { code, stderr } = await gmsiHere(['status'], { cwd: folder.path, env: { GMSI_HOME: home } });

    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^gmsi: The user that must run PostgreSQL can no longer enter .*\n {2}→ .*chmod a\+x/,
    );
  });
});

it.skipIf(isRoot)('runs for an ordinary user in their own folder (skipped: this is root)', async () => {
  await using folder = await aFolder();
  expect(await gmsi(['migrate'], { cwd: folder.path })).toMatchObject({ code: 0 });
});

it.each([
  ['in a file', 'a file/home'],
  ['in /proc', '/proc/nosuch/home'],
  ['at /proc', '/proc'],
  ['in /sys', '/sys/home'],
  ['in a device', '/dev/null/home'],
  ['with a name that is too long', 'x'.repeat(300)],
  ['with a path that is too long', `${'x'.repeat(200)}/`.repeat(25)],
  ['with a path that is too long for PostgreSQL', `${'x'.repeat(200)}/`.repeat(6)],
  ['with a line break', 'home\ngmsi: forged'],
])('says what to do where GMSI_HOME cannot be made: %s', async (_, home) => {
  await using folder = await aFolder();
  await folder.write('a file', 'not a folder');
  await chmod(folder.path, 0o755);
  const failure = await use(home, folder.path).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ConfigError);
  expect(withoutMarks(explain(failure, false))).toMatch(
    /^gmsi: .*(?:cannot be kept in|cannot be set up in|GMSI_HOME contains) .*\n {2}→ .*\n$/,
  );
});

async function use(home: string, cwd: string): Promise<void> {
  await using _server = await useEmbeddedServer(readConfig({ GMSI_HOME: home }, cwd).home);
}
