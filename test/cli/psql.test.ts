import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isInteractive } from '../../src/commands/psql.ts';
import { it } from '../support/serving.ts';
import { coverIn, sqlIn } from '../support/warehouse-state.ts';
import { aFolder, says } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { hasScript, startOnTerminal } from './on-terminal.ts';

/** Runs `gmsi psql` on a machine without psql. */
async function withoutPsql({ url }: { readonly url: string }, args: readonly string[], more: object = {}) {
  await using folder = await aFolder();
  const env = { DATABASE_URL: url, PATH: join(folder.path, 'bin'), ...more };
  return await gmsiHere(['psql', ...args], { cwd: folder.path, env });
}

it('runs statements and prints their results without psql on the machine', async ({ warehouse }) => {
  const statements = `
    create temp table t (i int, what text); insert into t values (1, e'a\nb'), (22, null); update t set what = 'd' where i > 1;
    select * from t order by i; select timestamptz '2024-02-29 23:59:59+00' as at; do $$ begin raise notice 'said'; end $$`;
  const PGOPTIONS = '-c TimeZone=Asia/Kolkata';
  const printed = `CREATE\nINSERT 2\nUPDATE 1
 i  what\n 1  a b\n22  d\n(2 rows)\n
at\n2024-03-01 05:29:59+05:30\n(1 row)\n
DO\nn\n7\n(1 row)\n\n`;
  const run = ['-c', statements, '-c', 'select 7 as n'];
  expect(await withoutPsql(warehouse, run, { PGOPTIONS })).toMatchObject({
    code: 0,
    stdout: printed,
    stderr: 'NOTICE:  said\n',
  });
});

it('calls nothing that others put into `public`, whatever the search_path', async ({ warehouse }) => {
  await coverIn(warehouse.db, '{[2026-09-01,2026-09-02)}');
  await sqlIn(warehouse.db)`
    create function public.lower(datemultirange) returns date language plpgsql as 'begin raise exception ''trapped''; end'`;
  const PGOPTIONS = '-c search_path=public,pg_catalog';
  const run = ['-c', 'select lower(days) from gmsi.coverage'];
  expect(await withoutPsql(warehouse, run, { PGOPTIONS })).toMatchObject({
    code: 0,
    stdout: 'lower\n2026-09-01\n(1 row)\n\n',
  });
});

it('says what is wrong with a statement, without psql on the machine', async ({ warehouse }) => {
  const run = (statement: string) => withoutPsql(warehouse, ['-c', statement]);

  expect(await run("set timezone = 'Asia/Tokyo'; select 1 as one; select nonsense; select 2")).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'gmsi: The statement fails: column "nonsense" does not exist\n  → Fix the statement.\n',
  });
  expect(await run('copy gmsi.topics from stdin')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('  \\d gmsi.topics')).toMatchObject(
    says(2, /^gmsi: .* psql is not installed\.\n {2}→ Install psql /),
  );
});

it('says that psql is missing, and prints the address only when asked', async ({ warehouse }) => {
  expect(await withoutPsql(warehouse, [])).toMatchObject(
    says(
      2,
      /^gmsi: .* psql is not installed\.\n {2}→ Install psql .*: gmsi psql -c <sql>\. .*: gmsi psql --address\n$/,
    ),
  );
  const shown = { code: 0, stdout: `${warehouse.url.replace(/^postgres:/, 'postgresql:')}\n` };
  expect(await withoutPsql(warehouse, ['--address'])).toMatchObject(shown);
});

it('hands psql its address in the environment, and neither key nor other addresses', async ({
  warehouse,
}) => {
  await using folder = await aFolder();
  await folder.write(
    'bin/psql',
    '#!/bin/sh\n[ "$1" = --version ] && exit 0\nexec >said\necho "$@"\n/usr/bin/tr "\\0" "\\n" </proc/$$/environ\nexit 3\n',
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

  const psql = async (...args: string[]) => {
    expect(await gmsiHere(['psql', ...args], { cwd: folder.path, env })).toMatchObject({ code: 3 });
    return await readFile(join(folder.path, 'said'), 'utf8');
  };
  const said = await psql('-c', '\\d', '-c', 'select 43');
  expect(said).toMatch(/^-v ON_ERROR_STOP=1 -c \\d -c select 43\n/);
  expect(await psql('-Atf', 'x.sql', '--csv')).toMatch(/^-v ON_ERROR_STOP=1 -Atf x.sql --csv\n/);
  expect(await psql('--', '-q', '-v', 'a=b')).toMatch(/^-v ON_ERROR_STOP=1 -q -v a=b\n/);
  const { username, password, hostname, port, pathname } = new URL(warehouse.url);
  const login = { PGUSER: decodeURIComponent(username), PGPASSWORD: decodeURIComponent(password) };
  const address = { ...login, PGHOST: hostname, PGPORT: port, PGDATABASE: pathname.slice(1) };
  for (const [name, value] of Object.entries({ ...kept, ...address }))
    if (value) expect(said).toContain(`${name}=${value}\n`);
  for (const name of Object.keys(own)) expect(said).not.toContain(`${name}=`);
  expect(said).not.toMatch(/k3y|x\.example|t0ken/);
});

it.each([
  [['-v', 'ON_ERROR_STOP=1'], true],
  [['-At'], true],
  [['-Fc', '-dfinal', '-Uclara', '-Pcolumns=9', '--csv', '--field-separator=,', 'gmsi'], true],
  [['-Atc', 'select 1'], false],
  [['-Atf', 'x.sql'], false],
  [['--comm=select 1'], false],
  [['--file', 'x.sql'], false],
  [['-l'], false],
])('psql with %j takes commands from its input: %s', (args, is) => {
  expect(isInteractive(args)).toBe(is);
});

it.skipIf(!hasScript)('psql that reads a file writes no control characters', async ({ warehouse }) => {
  await using folder = await aFolder();
  const psql = `#!/bin/sh\n[ "$1" = --version ] && exit 0\nprintf 'a\\033[2Jb\\302\\233c\\n'\nprintf 'd\\033[2Je\\n' >&2\n`;
  await folder.write('bin/psql', psql);
  await chmod(join(folder.path, 'bin/psql'), 0o755);
  const env = { DATABASE_URL: warehouse.url, PATH: `${folder.path}/bin:/usr/bin:/bin` };
  const terminal = startOnTerminal(['psql', '--', '-Atf', 'x.sql'], 80, { cwd: folder.path, env });
  expect(await terminal.ended).toBe(0);
  expect(terminal.written).toContain('a[2Jbc\r\n');
  expect(terminal.written).toContain('d[2Je\r\n');
  expect(terminal.written).not.toMatch(/(?![\r\n])\p{Cc}/u);
});
