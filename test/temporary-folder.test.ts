import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { temporaryFolder } from '../src/temporary-folder.ts';

test('a temporary folder removes those of processes that were killed, and no others', async () => {
  const shared = await mkdtemp(join(tmpdir(), 'shared-'));
  vi.stubEnv('TMPDIR', shared);
  try {
    const ended = spawnSync(process.execPath, ['-e', '']).pid;
    const make = async (name: string) => {
      await mkdir(join(shared, name));
      await writeFile(join(shared, name, 'records'), 'unpacked');
      return join(shared, name);
    };
    const left = await make(`gmsi-${hostname()}-${ended}-abc`);
    const others = await Promise.all(
      [
        `gmsi-${hostname()}-${process.ppid}-abc`,
        `gmsi-other-host-${ended}-abc`,
        `someone-${hostname()}-${ended}-abc`,
        `gmsi-${hostname()}-abc`,
      ].map(make),
    );
    const mine = await temporaryFolder();
    expect([left, ...others, mine].map(existsSync)).toEqual([false, true, true, true, true, true]);
    // Another folder of the same process.
    await temporaryFolder();
    expect(existsSync(mine)).toBe(true);
  } finally {
    vi.unstubAllEnvs();
    await rm(shared, { recursive: true });
  }
});

test('a temporary folder that cannot be made is a wrong TMPDIR, not a bug', async () => {
  vi.stubEnv('TMPDIR', '/nonexistent');
  await expect(temporaryFolder()).rejects.toMatchObject({
    kind: 'fatal',
    message: 'The temporary folder /nonexistent cannot be used: no such file or directory',
    hint: expect.stringContaining('TMPDIR'),
  });
  vi.unstubAllEnvs();
});
