import { spawnSync } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aFolder, gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

const hasPsql = spawnSync('psql', ['--version']).status === 0;

describe.skipIf(!hasPsql)(
  'without psql, statements print what psql prints (skipped where there is none)',
  () => {
    const values = `
    select 0.0001234::float8, 2025 as year, 1e300::float8, 'NaN'::float4, 'infinity'::float8, 12345678901234567890.10::numeric,
           -0.0::float8, 1::int2, 9223372036854775807 as int8, 12.5::money, 7::oid, 'f'::bool, null::int;
    select timestamptz '2024-02-29 23:59:59.123456+00' as at, date '2025-01-31', time '12:00', timetz '12:00+02',
           interval '1 year 2 mons -3 days 04:05:06.7', tstzrange('2024-01-01 00:00+00', null), datemultirange(daterange('2024-01-01', '2024-02-01')),
           timestamp 'infinity', timestamp '0044-03-15 BC';
    select '\\xdeadbeef'::bytea, '{"a": [1, null]}'::jsonb, '{"b" :1}'::json, array[1,null,3], array['a b','c"d',null], '{{1,2},{3,4}}'::int[],
           row(1,'x',null), '00000000-0000-0000-0000-000000000001'::uuid, '10.0.0.1/8'::inet, '(1,2)'::point, 'a'::char(5), b'101', 'x'::"char", null::text;`;
    const texts = `
    select e'a\\tb\\tc' as "tab\ts", e'one\\ntwo, longer\\n' as "two\nlines", 'plain' as "p", e'\\r\\x1b[31m\\x7f\\u009b' as hidden, 42 as n
    union all select '日本語', e'한국\\n👍', 'e\u0301a\u0300', '', null union all select 'ä', 'ß', '−', '𝔘', 7;
    select e'x\\ny' as last, 1 as "a number with\na name" union all select '', null; select 1 as one, e'1\\n22' as "end" ;`;
    const commands = `
    create temp table t (i int primary key, what text); insert into t values (1, 'a'), (2, 'b');
    insert into t values (3, 'c') returning *; update t set what = 'd' where i > 1; delete from t where i = 9 returning i;
    select from t; select; select * from t where false; copy (select i, e'a\\tb' from t) to stdout; table t; show datestyle;
    explain (costs off) select 1; begin; ; commit; do $$ begin raise notice 'said'; end $$; values (1, 'x')`;

    it.each([
      { name: 'as the server is set', settings: {} },
      {
        name: 'as a database is set',
        settings: {
          ...{ datestyle: "'German, DMY'", timezone: "'America/St_Johns'", intervalstyle: 'sql_standard' },
          ...{ bytea_output: 'escape', extra_float_digits: '0', lc_monetary: "'C'" },
        },
      },
      { name: 'as the environment is set', settings: {}, env: { PGTZ: 'Asia/Kolkata', PGDATESTYLE: 'SQL' } },
    ])('$name', async ({ settings, env = {} }) => {
      await using folder = await aFolder();
      await using warehouse = await aWarehouse();
      const name = new URL(warehouse.url).pathname.slice(1);
      for (const [setting, value] of Object.entries(settings)) {
        await sql.raw(`alter database "${name}" set ${setting} = ${value}`).execute(warehouse.db);
      }
      for (const statements of [values, texts, commands]) {
        const real = spawnSync('psql', ['-X', '-c', statements, warehouse.url], {
          encoding: 'utf8',
          env: { PATH: process.env.PATH, PGCLIENTENCODING: 'UTF8', ...env },
        });
        expect(real).toMatchObject({ status: 0 });
        const own = await gmsiHere(['psql', '-c', statements], {
          cwd: folder.path,
          env: { DATABASE_URL: warehouse.url, PATH: join(folder.path, 'bin'), ...env },
        });
        expect(own).toEqual({ code: 0, signal: null, stdout: real.stdout, stderr: real.stderr });
      }
    });
  },
);

it('says what is wrong with a statement, and prints the results before it, without psql on the machine', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const setting = { cwd: folder.path, env: { DATABASE_URL: warehouse.url, PATH: join(folder.path, 'bin') } };
  const run = (statement: string) => gmsiHere(['psql', '-c', statement], setting);

  expect(await run("set timezone = 'Asia/Tokyo'; select 1 as one; select nonsense; select 2")).toMatchObject({
    code: 2,
    stdout: 'SET\n one \n-----\n   1\n(1 row)\n\n',
    stderr: 'gmsi: The statement fails: column "nonsense" does not exist\n  → Fix the statement.\n',
  });
  expect(await run('copy gmsi.topics from stdin')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('  \\d gmsi.topics')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^gmsi: .* psql is not installed\.\n {2}→ Install psql /),
  });
});

it('says that psql is missing if it is to be opened, and prints the address only when asked for it', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const setting = { cwd: folder.path, env: { DATABASE_URL: warehouse.url, PATH: join(folder.path, 'bin') } };
  expect(await gmsiHere(['psql'], setting)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^gmsi: This opens psql, and psql is not installed\.\n {2}→ Install psql .*-c; --address.*\n$/,
    ),
  });
  expect(await gmsiHere(['psql', '--address'], setting)).toMatchObject({
    code: 0,
    stdout: `${warehouse.url}\n`,
  });
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
