import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { exitCodeOf, exitCodes } from '../../src/exit.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { namedDatabaseError, WarehouseUnavailable } from '../../src/warehouse/errors.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { accessTo, aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aLogin } from '../support/a-login.ts';
import { aPgBouncer, hasPgBouncer } from '../support/pgbouncer.ts';
import { aSandbox, test } from '../support/serving.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from './a-row.ts';
import { newConnections, odd, setOddly } from './odd-database.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-10', to: '2026-11-19' };

test('each connection has what the program relies on, whatever is set', async ({ warehouse }) => {
  const ours = async (db: Warehouse) =>
    await sqlIn(db)<{ name: string; setting: string }>`
        select name, setting from pg_settings where name = any(${Object.keys(odd)}) order by 1`;
  const before = await ours(warehouse.db);
  await setOddly(warehouse);
  await using db = newConnections(warehouse);
  const others = ['lc_messages', 'jit_above_cost', 'default_tablespace'];
  const unlike = (await ours(db)).filter(({ name }) => !others.includes(name));
  expect(unlike).toEqual(before.filter(({ name }) => unlike.some((one) => one.name === name)));
  expect(unlike.length).toBe(18);
});

test('migrate and doctor find the schema current, whatever is set', async () => {
  await using database = await anEmptyDatabase();
  await setOddly(database);
  await using folder = await aFolder();
  const setting = { cwd: folder.path, env: { DATABASE_URL: database.url } };
  expect(await gmsiHere(['migrate'], setting)).toMatchObject({ code: 0, stderr: '' });
  expect((await gmsiHere(['doctor'], setting)).stdout).toMatch(/^✓ schema +current$/m);
});

test('rows that a policy hides are an error, not missing', async ({ warehouse, db }) => {
  await upsert(db, [aRow(), aRow({ headline_id: idOf(2), country: 'GB' })]);
  await using loader = await aLogin(warehouse, 'gmsi_loader');
  await sqlIn(db)`
    alter table gmsi.headlines enable row level security;
    create policy american on gmsi.headlines for select to public using (country = 'US')`;
  await using folder = await aFolder();
  const run = (url: string, ...args: string[]) =>
    gmsiHere(args, { cwd: folder.path, env: { DATABASE_URL: url } });
  const writing = ['export', '--format', 'csv', '--out'];
  for (const args of [
    [...writing, 'theirs'],
    ['check', '--repair', 'rollups'],
  ])
    expect([args[0], await run(loader.url, ...args)]).toMatchObject([
      args[0],
      {
        code: 2,
        stderr: expect.stringMatching(
          /^gmsi: Row-level security hides rows from the warehouse's user: .*"headlines"\n {2}→ .*bypassrls/,
        ),
      },
    ]);
  await folder.write('job.yaml', jobFor(scope));
  await using sandbox = await aSandbox();
  const env = accessTo(warehouse, sandbox);
  await gmsiHere(['lookups'], { cwd: folder.path, env });
  // As gmsi_reader, even for the owner.
  expect(await gmsiHere(['check', 'job.yaml'], { cwd: folder.path, env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/"headlines"\n {2}→ .*bypassrls/),
  });
  expect(await run(warehouse.url, ...writing, 'ours', '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/"rows": 2\b/),
  });
});

test.for(['LATIN1', 'SQL_ASCII'])(
  'a database in %s is refused at once',
  async (encoding, { warehouse, db }) => {
    const name = `${new URL(warehouse.url).pathname.slice(1)}_other`;
    await sqlIn(db)`
      create database ${sql.raw(name)} template template0 encoding ${sql.raw(encoding)}
        lc_collate 'C' lc_ctype 'C' ${sql.raw(await localeProvider(db))}`;
    const url = new URL(warehouse.url);
    url.pathname = `/${name}`;
    await using sandbox = await aSandbox();
    await using folder = await aFolder();
    await folder.write('job.yaml', jobFor(scope));
    try {
      const setting = { cwd: folder.path, env: accessTo({ url: url.href }, sandbox) };
      for (const args of [['backfill', 'job.yaml'], ['sync', 'job.yaml'], ['doctor']]) {
        const { code, stderr, stdout } = await gmsiHere(args, setting);
        expect([args[0], code]).toEqual([args[0], 2]);
        if (args[0] !== 'doctor') expect(sandbox.stats().requests).toBe(0);
        expect(stdout + stderr).toContain(
          `The database ${name} has the encoding ${encoding}; the warehouse needs UTF8.`,
        );
        expect(stdout + stderr).toContain('createdb --template=template0 --encoding=UTF8');
      }
    } finally {
      await sql.raw(`drop database ${name} with (force)`).execute(db);
    }
  },
);

async function localeProvider(db: Warehouse): Promise<string> {
  const rows = await sqlIn(db)<{
    number: number;
  }>`select current_setting('server_version_num')::int as number`;
  return rows[0]!.number >= 150_000 ? 'locale_provider libc' : '';
}

describe('a database that can only be read', () => {
  const readOnly = { default_transaction_read_only: 'on' };

  test('is one that does not answer, because a failover makes it such for seconds', async ({ warehouse }) => {
    await setOddly(warehouse, readOnly);
    await using db = newConnections(warehouse);
    const refusal = await sql`insert into gmsi.origin (served_by) values ('sandbox')`
      .execute(db)
      .catch(namedDatabaseError);
    expect(refusal).toBeInstanceOf(WarehouseUnavailable);
    expect(exitCodeOf(refusal)).toBe(exitCodes.incomplete);
    expect((refusal as WarehouseUnavailable).message).toMatch(/can only be read/);
    expect((refusal as WarehouseUnavailable).hint).toMatch(/primary server.*default_transaction_read_only/);
  });

  test('is refused at once if gmsi has never written to it', async () => {
    await using database = await anEmptyDatabase();
    await setOddly(database, readOnly);
    await using folder = await aFolder();
    const setting = { cwd: folder.path, env: { DATABASE_URL: database.url } };
    expect(await gmsiHere(['migrate'], setting)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no warehouse yet, and takes no writes/),
    });
  });

  test('is one that gmsi doctor does not wait for', async ({ warehouse }) => {
    await setOddly(warehouse, readOnly);
    await using sandbox = await aSandbox();
    await using folder = await aFolder();
    const setting = { cwd: folder.path, env: accessTo({ url: warehouse.url }, sandbox) };
    const { code, stdout } = await gmsiHere(['doctor'], setting);
    expect([code, stdout]).toEqual([
      2,
      expect.stringMatching(
        /^✗ privileges +enough, but the warehouse can only be read\n +→ After a failover/m,
      ),
    ]);
    expect(sandbox.stats().requests).toBe(1);
  });
});

test.skipIf(!hasPgBouncer)(
  'a pooler is refused, and finds its connections as they were (skipped without PgBouncer)',
  async () => {
    await using database = await anEmptyDatabase();
    await setOddly(database);
    await using bouncer = await aPgBouncer(database.url, 1);
    const db = newConnections({ url: bouncer.through(database.url) });
    const refused = await migrate(db).catch((error: unknown) => error);
    await db.destroy();
    expect(refused).toBeInstanceOf(ConfigError);
    expect((refused as ConfigError).message).toMatch(/leads to a connection pooler/);
    const other = await aClient(bouncer.through(database.url));
    const { rows } = await other.query(`select pg_catalog.current_setting('search_path') as search_path`);
    await other.end();
    expect(rows).toEqual([{ search_path: odd.search_path }]);
  },
);

async function aClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
