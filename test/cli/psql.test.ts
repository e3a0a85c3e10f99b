import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aFolder, gmsi } from './gmsi.ts';

it('runs a statement without psql on the machine, and says what is wrong with a bad one', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const bin = join(folder.path, 'bin');
  await mkdir(bin);
  const setting = { cwd: folder.path, env: { DATABASE_URL: warehouse.url, PATH: bin } };

  const good = await gmsi(
    [
      'psql',
      '-c',
      'select 42 as answer, null as nothing, date_trunc($$day$$, timestamp $$2024-02-29$$) as day',
    ],
    setting,
  );
  expect(good).toMatchObject({ code: 0, stderr: '' });
  expect(good.stdout).toMatch(/^answer +nothing +day\n +42 .*2024-02-29.*\n\(1 row\)\n$/);
  expect(await gmsi(['psql', '-c', 'create table public.t (x int)'], setting)).toMatchObject({
    code: 0,
    stdout: '(0 rows)\n',
  });
  expect(await gmsi(['psql', '-c', 'select nonsense'], setting)).toMatchObject({
    code: 2,
    stderr: 'gmsi: The statement fails: column "nonsense" does not exist\n  → Mend the statement.\n',
  });
  expect(await gmsi(['psql'], setting)).toMatchObject({ code: 0, stdout: `${warehouse.url}\n` });
});

it('hands psql the address in its environment, not on its command line', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const bin = join(folder.path, 'bin');
  await folder.write(
    'bin/psql',
    '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "$@"\necho "$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/$PGDATABASE"\nexit $PSQL_EXIT\n',
  );
  await chmod(join(bin, 'psql'), 0o755);
  const env = { DATABASE_URL: warehouse.url, PATH: `${bin}:/usr/bin:/bin` };

  const { code, stdout } = await gmsi(['psql', '-c', 'select 42'], { cwd: folder.path, env });

  const { username, password, hostname, port, pathname } = new URL(warehouse.url);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `-v ON_ERROR_STOP=1 -c select 42\n${decodeURIComponent(username)}:${decodeURIComponent(password)}@${hostname}:${port}${pathname}\n`,
  });
  expect(await gmsi(['psql'], { cwd: folder.path, env: { ...env, PSQL_EXIT: '3' } })).toMatchObject({
    code: 3,
  });
});

it('hands psql what it needs of the environment, and no key or other address', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  await folder.write(
    'bin/psql',
    '#!/bin/sh\n[ "$1" = --version ] && exit 0\n/usr/bin/tr "\\0" "\\n" </proc/$$/environ\n',
  );
  await chmod(join(folder.path, 'bin/psql'), 0o755);
  const kept = { LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'xterm', PGOPTIONS: '-c jit=off', PSQL_EDITOR: 'vi' };
  const own = {
    DATABASE_URL: warehouse.url,
    GMSI_API_KEY: 'k3y',
    GMSI_BASE_URL: 'https://x.example',
    GMSI_ALERT_WEBHOOK_URL: 'https://x.example/hook',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=t0ken',
    SOMEBODY_ELSES_TOKEN: 't0ken',
  };
  const env = { ...kept, ...own, PATH: `${folder.path}/bin:/usr/bin:/bin` };

  const { stdout } = await gmsi(['psql', '-c', 'select 1'], { cwd: folder.path, env });

  for (const [name, value] of Object.entries(kept)) expect(stdout).toContain(`${name}=${value}\n`);
  for (const name of Object.keys(own)) expect(stdout).not.toContain(`${name}=`);
  expect(stdout).not.toMatch(/k3y|x\.example|t0ken/);
});
