import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/**
 * What depends on a day, if anything does. Not what breaks connections or waits for a time limit of the server: under faketime,
 * PostgreSQL sleeps through signals, and may never wake up.
 */
const dated = [
  'test/plan',
  'test/commands',
  'test/check',
  'test/config',
  'packages/sandbox',
  'test/sandbox',
  ...['exact-truth', 'cadence', 'coverage', 'sync', 'revisions'].map((name) => `test/load/${name}.test.ts`),
  'test/service/permits.test.ts',
  ...['schedule', 'failures', 'sync', 'wrong-clock'].map((name) => `test/worker/${name}.test.ts`),
  ...['as-of', 'signals', 'rollups', 'for-analysts'].map((name) => `test/warehouse/${name}.test.ts`),
  'test/export/export-table.test.ts',
  'test/web/api.test.ts',
  'test/cli/part-of-job.test.ts',
];

it.skipIf(!existsSync('/usr/bin/faketime'))(
  'the tests pass on the first day of 2031',
  async () => {
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    // Of a name that is gone, nobody would notice that it is not run.
    expect(dated.filter((path) => !existsSync(join(cwd, path)))).toEqual([]);
    const child = spawn('npm', ['run', 'test:any-day', '--', ...dated], {
      cwd,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    // The names of failed tests are on stderr.
    expect(
      said
        .join('\n')
        .split('\n')
        .filter((line) => /FAIL|^ +Tests /.test(line)),
    ).toEqual([expect.stringMatching(/^ +Tests +\d{3,} passed( \| \d+ skipped)? \(\d+\)$/)]);
  },
  900_000,
);
