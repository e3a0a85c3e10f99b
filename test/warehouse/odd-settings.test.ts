import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { namedDatabaseError } from '../../src/warehouse/errors.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { accessTo, aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aPgBouncer, hasPgBouncer } from '../support/pgbouncer.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import { anEmptyDatabase, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';

/** As unlike the defaults as PostgreSQL takes them: what people set for other programs of theirs. */
const odd = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kolkata',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  statement_timeout: '2s',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '500ms',
  idle_session_timeout: '2s',
  search_path: 'trap, public, pg_catalog',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  transform_null_equals: 'on',
  session_replication_role: 'replica',
  lc_messages: 'C',
  jit_above_cost: '0',
};

/** Functions and operators of somebody who may create them, found before or more closely fitting than PostgreSQL's own. */
const traps = `
  create schema trap;
  create function trap.sprung() returns text language plpgsql as 'begin raise exception ''trapped''; end';
  create function trap.now() returns timestamptz language sql as 'select trap.sprung()::timestamptz';
  create function trap.set_config(text, text, boolean) returns text language sql as 'select trap.sprung()';
  create function trap.current_setting(text) returns text language sql as 'select trap.sprung()';
  create function trap.hashtext(text) returns int language sql as 'select length(trap.sprung())';
  create function trap.pg_backend_pid() returns int language sql as 'select length(trap.sprung())';
  create function trap.format(text, text) returns text language sql as 'select trap.sprung()';
  create function trap.to_regclass(text) returns regclass language sql as 'select trap.sprung()::regclass';
  create function trap.to_regprocedure(text) returns regprocedure language sql as 'select trap.sprung()::regprocedure';
  create function trap.equals(text, text) returns boolean language sql as 'select trap.sprung() is null';
  create operator trap.= (function = trap.equals, leftarg = text, rightarg = text);
  create view trap.pg_class as select trap.sprung() as relname;
  create view trap.pg_roles as select trap.sprung() as rolname;
  grant usage on schema trap to public`;

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-10', to: '2026-11-19' };
const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', step: 'P30D' });
const clock = () => new Date('2026-11-20T12:00:00Z');

async function setOddly({ db, url }: TestWarehouse, settings: Record<string, string> = odd): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  for (const [name, value] of Object.entries(settings)) {
    const list = name === 'search_path' ? value : `'${value}'`;
    await sql.raw(`alter database ${database} set ${name} = ${list}`).execute(db);
  }
}

function newConnections({ url }: Pick<TestWarehouse, 'url'>): Warehouse {
  return connect({ kind: 'url', url: new Secret(url) }, 4);
}

/** Loads by every way, and compares with what the service has. */
async function loadAndCompare(db: Warehouse): Promise<void> {
  const changes = { revised: 0.3, withdrawn: 0.05 };
  let now = new Date('2026-11-05T12:00:00Z');
  await using sandbox = await startSandbox({ limits: null, volume: 0.2, clock: () => now, changes });
  const run = { job, db, sandbox, clock: () => now };
  expect(await runBackfill(run)).toMatchObject({ outcome: 'done' });
  now = clock();
  expect(await runSync(run)).toMatchObject({ outcome: 'done' });
  expect(await runBackfill({ ...run, plan: { fullRefresh: true, retryRefused: false } })).toMatchObject({
    outcome: 'done',
  });
  const settled = { ...scope, to: '2026-11-10' };
  expect(await heldBy(db, settled)).toEqual(servedBy(sandbox, settled));
  expect((await heldBy(db, settled)).length).toBeGreaterThan(100);
  const { rows } = await sql<{ revisions: number; headlines: number; summed: number; wrong: number }>`
    select (select count(*) from gmsi.headline_revisions) as revisions,
           (select count(*) from gmsi.headlines where retracted_at is null and directional_score is not null) as headlines,
           (select sum(headline_count) from gmsi.sentiment_hourly where sentiment_type = 'directional') as summed,
           gmsi.rebuild_rollups() as wrong`.execute(db);
  expect(rows[0]).toMatchObject({ summed: rows[0]!.headlines, wrong: 0 });
  expect(rows[0]!.revisions).toBeGreaterThan(0);
}

test('each connection has what the program relies on, whatever is set', async ({ warehouse }) => {
  const ours = async (db: Warehouse) =>
    (
      await sql<{ name: string; setting: string }>`
        select name, setting from pg_settings where name = any(${Object.keys(odd)}) order by 1`.execute(db)
    ).rows;
  const before = await ours(warehouse.db);
  await setOddly(warehouse);
  await using db = newConnections(warehouse);
  const unlike = (await ours(db)).filter(({ name }) => !['lc_messages', 'jit_above_cost'].includes(name));
  expect(unlike).toEqual(before.filter(({ name }) => unlike.some((one) => one.name === name)));
  expect(unlike.length).toBe(16);
});

test('migrating, loading, syncing and revising do not notice odd settings, nor functions that somebody has put in the way', async () => {
  await using database = await anEmptyDatabase();
  await sql.raw(traps).execute(database.db);
  await setOddly(database);
  await using db = newConnections(database);
  await migrate(db);
  await loadAndCompare(db);
});

test.for(['LATIN1', 'SQL_ASCII'])(
  'a database in %s is refused at once, with what to do',
  async (encoding, { warehouse, db }) => {
    const name = `${new URL(warehouse.url).pathname.slice(1)}_other`;
    await sql
      .raw(
        `create database ${name} template template0 encoding ${encoding} lc_collate 'C' lc_ctype 'C' ${await localeProvider(db)}`,
      )
      .execute(db);
    const url = new URL(warehouse.url);
    url.pathname = `/${name}`;
    await using sandbox = await startSandbox({ limits: null, clock });
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
  const { rows } = await sql<{
    number: number;
  }>`select current_setting('server_version_num')::int as number`.execute(db);
  return rows[0]!.number >= 150_000 ? 'locale_provider libc' : '';
}

test('a user or a database that can only be read is named as such', async ({ warehouse }) => {
  await setOddly(warehouse, { default_transaction_read_only: 'on' });
  await using db = newConnections(warehouse);
  const refusal = await sql`insert into gmsi.origin (served_by) values ('sandbox')`
    .execute(db)
    .catch(namedDatabaseError);
  expect(refusal).toBeInstanceOf(ConfigError);
  expect((refusal as ConfigError).message).toMatch(/can only be read/);
  expect((refusal as ConfigError).hint).toMatch(/default_transaction_read_only/);
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
