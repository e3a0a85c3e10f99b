import { statSync, watch } from 'node:fs';
import { mkdtemp, open, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readDotenvFile } from '../../src/config/dotenv-file.ts';
import { writeDotenv } from '../../src/config/write-dotenv.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gmsi dotenv '));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('changes the given lines, keeps the others, and closes a file that others could read', async () => {
  const path = join(folder, '.env');
  await writeFile(
    path,
    '# mine\nLOG_LEVEL=debug\nexport GMSI_API_KEY = old\nDATABASE_URL=postgres://me:pw@db/x',
    { mode: 0o644 },
  );
  await writeDotenv(folder, {
    GMSI_API_KEY: 'new',
    DATABASE_URL: undefined,
    GMSI_BASE_URL: 'http://127.0.0.1:1',
  });
  expect(await readFile(path, 'utf8')).toBe(
    '# mine\nLOG_LEVEL=debug\nGMSI_API_KEY=new\n#DATABASE_URL=postgres://me:pw@db/x\nGMSI_BASE_URL=http://127.0.0.1:1\n',
  );
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it('never writes a key into a file that others have open, or may open', async () => {
  const path = join(folder, '.env');
  await writeFile(path, 'LOG_LEVEL=debug\n', { mode: 0o644 });
  await using theirs = await open(path, 'r');
  const modes = new Set<number>();
  const watcher = watch(folder, (_, name) => {
    try {
      const { mode, size } = statSync(join(folder, name!));
      if (size > 'LOG_LEVEL=debug\n'.length) modes.add(mode & 0o777);
    } catch {
      // Gone already.
    }
  });
  await writeDotenv(folder, { GMSI_API_KEY: 'k-1' });
  expect(await theirs.readFile('utf8')).toBe('LOG_LEVEL=debug\n');
  await expect.poll(() => [...modes]).toEqual([0o600]);
  watcher.close();
});

it('leaves the file as it was, and nothing beside it, if a value cannot be written', async () => {
  const path = await writeDotenv(folder, { GMSI_API_KEY: 'k-1' });
  await expect(writeDotenv(folder, { GMSI_API_KEY: `'"\`` })).rejects.toThrow();
  expect(await readFile(path, 'utf8')).toBe('GMSI_API_KEY=k-1\n');
  expect(await readdir(folder)).toEqual(['.env']);
});

it('follows a link to where the file is kept', async () => {
  const kept = join(folder, 'kept');
  await writeFile(kept, 'LOG_LEVEL=debug\n');
  await symlink(kept, join(folder, '.env'));
  await writeDotenv(folder, { GMSI_API_KEY: 'k-1' });
  expect(await readlink(join(folder, '.env'))).toBe(kept);
  expect(await readFile(kept, 'utf8')).toBe('LOG_LEVEL=debug\nGMSI_API_KEY=k-1\n');
});

it('writes keys of any characters so that they are read as they are, or says that it cannot', async () => {
  const key = fc.string({ unit: fc.constantFrom(...'ab1$#\'"`\\ =é&%{}'), minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(key, async (text) => {
      const value = text.trim() === '' ? 'k' : text.trim();
      await rm(join(folder, '.env'), { force: true });
      try {
        await writeDotenv(folder, { GMSI_API_KEY: value });
      } catch {
        // All three kinds of quotes at once, or an escape that would be undone.
        expect(value).toMatch(/'|\\/);
        return;
      }
      expect(readDotenvFile(join(folder, '.env'), () => true)).toEqual({ GMSI_API_KEY: value });
    }),
    { numRuns: 200 },
  );
});
