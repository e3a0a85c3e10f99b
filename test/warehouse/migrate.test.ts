import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { describe, expect, vi } from 'vitest';
import { startSandbox } from '#sandbox';
import { ConfigError } from '../../src/errors.ts';
import { inPackage } from '../../src/package.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { migrate, migrationStatus, schemaState } from '../../src/warehouse/migrate.ts';
import { aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aLogin } from '../support/a-login.ts';
import { aWorker } from '../support/a-worker.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { aPostgresql15, hasPostgresql15, programs } from '../support/postgresql-15.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';
import { commandNames } from '../support/typed-commands.ts';

const demo = inPackage('jobs/demo.yaml');
const names = [
  ...(await readdir(new URL('../../migrations', import.meta.url)))
    .flatMap((file) => (file.endsWith('.sql') ? [file.replace('.sql', '')] : []))
    .sort(),
  'repeatable',
];

describe('migrating', () => {
  it('brings an empty database to the newest schema, and then has nothing to do', async () => {
    await using database = await anEmptyDatabase();
    expect((await migrationStatus(database.db)).map(({ executedAt }) => executedAt)).toEqual(
      names.map(() => undefined),
    );
    expect(await migrate(database.db)).toEqual(names);
    expect(await migrate(database.db)).toEqual([]);
    const status = await migrationStatus(database.db);
    expect(status.map(({ name }) => name)).toEqual(names);
    expect(status.every(({ executedAt }) => executedAt instanceof Date)).toBe(true);
  });

  it('by many processes at once is done by one of them, and none fails', async () => {
    await using database = await anEmptyDatabase();
    const processes = Array.from({ length: 6 }, () =>
      connect({ kind: 'url', url: new Secret(database.url) }, 2),
    );
    const applied = await Promise.all(processes.map((db) => migrate(db)));
    await Promise.all(processes.map((db) => db.destroy()));
    expect(applied.flat().sort()).toEqual(names);
    expect(applied.filter((list) => list.length > 0)).toHaveLength(1);
  });

  it('whose COMMIT was executed, and only the reply was lost, returns what it applied', async () => {
    await using database = await anEmptyDatabase();
    await using proxy = await aCuttingProxy(database.url);
    await using db = connect({ kind: 'url', url: new Secret(proxy.url) }, 2);
    proxy.loseReplyTo(/^Q.{4}commit\0/s);
    expect(await migrate(db.patient({}))).toEqual(names);
    expect(proxy.lost).toBe(1);
  });

  it('runs the repeatable files again when their text has changed, with those of migrations that are missing', async ({
    db,
  }) => {
    await anOlderProgramRan(db);
    expect(await schemaState(db)).toBe('older');
    expect(await migrate(db)).toEqual(['repeatable']);
    await sql`delete from gmsi.kysely_migration where name = '0005_workers'`.execute(db);
    await sql
      .raw(
        `drop table gmsi.jobs, gmsi.schedules, gmsi.alerts, gmsi.check_results, gmsi.known_findings, gmsi.turns, gmsi.warehouse_moves`,
      )
      .execute(db);
    expect(await migrate(db)).toEqual(['0005_workers']);
    const { rows } = await sql`
      select has_table_privilege('gmsi_loader', 'gmsi.jobs', 'insert') as granted, count(*) as triggers
      from pg_trigger where tgrelid in ('gmsi.jobs'::regclass, 'gmsi.schedules'::regclass) and not tgisinternal`.execute(
      db,
    );
    expect(rows).toEqual([{ granted: true, triggers: 2 }]);
  });

  it('by its command restores what somebody has changed, and keeps what the owner may replace', async ({
    db,
    warehouse,
  }) => {
    const definitions = async () =>
      (
        await sql<{ one: string }>`
          select pg_get_functiondef(oid) as one from pg_proc where pronamespace = 'gmsi'::regnamespace
          union all
          select relname || pg_get_viewdef(oid) from pg_class where relnamespace = 'gmsi'::regnamespace and relkind = 'v'
          union all
          select tgrelid::regclass || tgname || tgenabled::text from pg_trigger where not tgisinternal
          union all
          select relname || relacl::text from pg_class where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p')
          order by 1`.execute(db)
      ).rows;
    await sql`select gmsi.ensure_month_partition('headlines', '2019-05-01')`.execute(db);
    await sql
      .raw(`create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe
        return interval '30 seconds'`)
      .execute(db);
    const before = await definitions();
    await sql
      .raw(`
      create or replace function gmsi.summable(number double precision) returns double precision
        language sql immutable parallel safe return number;
      create or replace view gmsi.arrival_delays as
        select source, 0::bigint as headlines, null::interval as p50, null::interval as p99 from gmsi.headlines;
      drop function gmsi.novelty;
      alter table gmsi.headlines disable trigger user;
      drop trigger refuse_moved on gmsi.queue;
      revoke insert on gmsi.queue from gmsi_loader`)
      .execute(db);
    const { code, stdout } = await runs(warehouse.url, 'migrate');
    expect([code, stdout]).toEqual([0, expect.stringContaining('the schema is current; its functions')]);
    expect(await definitions()).toEqual(before);
  });

  it('names the file that fails, and changes nothing', async ({ db, warehouse }) => {
    await sql`alter table gmsi.loads rename column rows_changed to changed`.execute(db);
    await anOlderProgramRan(db);
    const { code, stderr } = await runs(warehouse.url, 'migrate');
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/could not be migrated: 04_days\.sql: .*rows_changed.*\n +→ Nothing was changed/),
    ]);
    expect(await schemaState(db)).toBe('older');
  });

  it.skipIf(!hasPostgresql15)(
    'has nothing to do in a warehouse that was restored from a backup (skipped without the Debian package postgresql-15)',
    async () => {
      await using server = await aPostgresql15();
      await using db = connect({ kind: 'url', url: new Secret(server.url) }, 2);
      await migrate(db);
      await using folder = await aFolder();
      const dump = join(folder.path, 'gmsi.dump');
      const run = promisify(execFile);
      await run(`${programs}/pg_dump`, ['-n', 'gmsi', '-Fc', '-f', dump, server.url]);
      await sql`drop schema gmsi cascade`.execute(db);
      await run(`${programs}/pg_restore`, ['--no-owner', '-d', server.url, dump]);
      expect(await migrate(db)).toEqual([]);
      expect(await migrate(db, { again: true })).toEqual([]);
    },
  );
});

/** As if an older program had run its repeatable files last. */
async function anOlderProgramRan(db: Warehouse) {
  await sql`update gmsi.kysely_migration set checksum = 'older', version = '0.0.9' where name = 'repeatable'`.execute(
    db,
  );
}

describe('a warehouse', () => {
  it.for([
    [
      'that a newer version has migrated',
      `insert into gmsi.kysely_migration values ('9999_of_the_future', '2030-01-01', 'x', '9.9.9')`,
      /schema is newer than this program: gmsi 9\.9\.9 has applied 9999_of_the_future, and this is gmsi /,
    ],
    [
      'whose functions a newer version has made',
      `update gmsi.kysely_migration set checksum = 'x', version = '1.10.0' where name = 'repeatable'`,
      /schema is newer than this program: gmsi 1\.10\.0 has applied repeatable, and this is gmsi /,
    ],
    [
      'of another build',
      `update gmsi.kysely_migration set checksum = 'x', version = '0.0.8' where name = '0003_feeds'`,
      /made by another build of gmsi \(0\.0\.8\): its 0003_feeds is not that of this one .*\n +→ Use that build, or load/,
    ],
    [
      'of an unreleased build, from before checksums were kept',
      `alter table gmsi.kysely_migration drop column checksum, drop column version; delete from gmsi.kysely_migration where name > '0003'`,
      /made by another build of gmsi \(of an unknown version\): its 0001_service is not that of this one/,
    ],
  ] as const)(
    '%s is refused by every command, and stays as it is',
    async ([, change, sentence], { db, warehouse }) => {
      await sql.raw(change).execute(db);
      const before = (await sql`select * from gmsi.kysely_migration order by 1`.execute(db)).rows;
      for (const args of [['migrate'], ['status'], ['check', demo], ['plan', demo], repair]) {
        const { code, stderr } = await runs(warehouse.url, ...args);
        expect([args[0], code, stderr]).toEqual([args[0], 2, expect.stringMatching(sentence)]);
      }
      const { stdout } = await runs(warehouse.url, 'doctor');
      expect(stdout).toMatch(/^✗ schema +The warehouse/m);
      expect((await sql`select * from gmsi.kysely_migration order by 1`.execute(db)).rows).toEqual(before);
    },
  );
});

const repair = ['check', '--repair', 'records'];

/** Runs a command in an empty folder, as somebody with a key that no service knows. */
async function runs(url: string | undefined, ...args: string[]) {
  await using folder = await aFolder();
  const env = {
    GMSI_API_KEY: 'key-of-nobody',
    GMSI_BASE_URL: 'http://127.0.0.1:9',
    ...(url !== undefined && { DATABASE_URL: url }),
  };
  const ended = await gmsiHere(args, { cwd: folder.path, env });
  return { ...ended, files: await readdir(folder.path) };
}

/** What each command is run with that only looks; `loads` for those that create and upgrade the schema. */
const uses: Readonly<Record<string, readonly (readonly string[])[] | 'loads' | 'no warehouse'>> = {
  init: 'loads',
  demo: 'loads',
  doctor: [[]],
  lookups: [[], ['germany']],
  plan: [[demo]],
  backfill: 'loads',
  sync: 'loads',
  import: 'loads',
  status: [[], [demo], ['--days']],
  check: [[demo], ['--repair', 'records', '--dry-run'], ['--repair', 'windows', '--dry-run']],
  why: [['5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22']],
  serve: [
    ['--port', '0'],
    ['--html', '-'],
  ],
  psql: [
    ['-c', 'select 1'],
    ['--reader', 'somebody'],
  ],
  snapshot: [[], ['name']],
  export: [[demo]],
  budget: [[]],
  work: 'loads',
  job: [['stop', demo]],
  sandbox: 'no warehouse',
  migrate: [['status'], ['--to', 'postgres://nobody@127.0.0.1:9/none'], ['--release']],
  completion: 'no warehouse',
  complete: 'no warehouse',
  help: 'no warehouse',
};
const looking = Object.entries(uses).flatMap(([name, runs]) =>
  typeof runs === 'string' ? [] : runs.map((args) => [name, ...args]),
);
/** These say how the schema is, or leave it to the user's SQL. */
const anyway = ['doctor', 'psql -c', 'migrate status'];

describe('a command that only looks', () => {
  it('is every command that is not known to load', () => {
    expect(Object.keys(uses)).toEqual(expect.arrayContaining(commandNames));
  });

  it('leaves an older schema as it is, and says what upgrades it', async ({ db, warehouse: database }) => {
    await anOlderProgramRan(db);
    const schema = async () =>
      (
        await sql`
          select oid::text, xmin::text from pg_proc where pronamespace = 'gmsi'::regnamespace
          union all select name, checksum from gmsi.kysely_migration order by 1`.execute(db)
      ).rows;
    const before = await schema();
    for (const args of looking) {
      const { code, stderr } = await runs(database.url, ...args);
      if (!anyway.some((one) => args.join(' ').startsWith(one)))
        expect([args, code, stderr]).toEqual([
          args,
          2,
          expect.stringMatching(/schema is older than this program.*\n +→ Run (npx )?gmsi migrate/),
        ]);
      expect(await schema(), args.join(' ')).toEqual(before);
    }
    const { code, stderr } = await runs(database.url, ...repair);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the schema was upgraded in database')]);
    expect(await schemaState(database.db)).toBe('current');
  });

  it('creates nothing in a database without a schema, and says what does', async () => {
    await using database = await anEmptyDatabase();
    for (const args of looking) {
      const { code, stderr } = await runs(database.url, ...args);
      if (!anyway.some((one) => args.join(' ').startsWith(one)))
        expect([args, code, stderr]).toEqual([
          args,
          2,
          expect.stringMatching(/Nothing is loaded into|There is no warehouse in/),
        ]);
      expect(await schemaState(database.db), args.join(' ')).toBe('absent');
    }
    const { rows } = await sql`select from pg_namespace where nspname = 'gmsi'`.execute(database.db);
    expect(rows).toEqual([]);
    const { code, stderr } = await runs(database.url, ...repair);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the schema was created in database')]);
  });

  it('makes no embedded warehouse, unless people run it before the first load', async () => {
    for (const args of looking) {
      if (['doctor', 'lookups'].includes(args[0]!)) continue;
      const { code, stderr, files } = await runs(undefined, ...args);
      expect([args, code, stderr, files]).toEqual([
        args,
        2,
        expect.stringContaining('there is no warehouse in'),
        [],
      ]);
    }
  });
});

describe('while an older program works', () => {
  const lastly = (by: string) =>
    sql`insert into gmsi.processes (process_id, command, run_by, version, heartbeat_at)
      values ('older', 'work', ${by}, '0.0.9', now())`;

  it('nobody upgrades the schema, unless told to', async ({ db, warehouse: database }) => {
    await anOlderProgramRan(db);
    await lastly('host 7, gmsi 0.0.9').execute(database.db);
    for (const command of [['migrate'], repair]) {
      const { code, stderr } = await runs(database.url, ...command);
      expect([command, code, stderr]).toEqual([
        command,
        1,
        expect.stringMatching(
          /older programs are working: gmsi work \(host 7, gmsi 0\.0\.9\)\.\n +→ Stop them.*gmsi migrate --force/,
        ),
      ]);
      expect(await schemaState(database.db)).toBe('older');
    }
    expect(await runs(database.url, 'migrate', '--force')).toMatchObject({ code: 0 });
    // The program is as new as the schema now, so its processes are, too.
    expect(await runs(database.url, 'migrate')).toMatchObject({ code: 0 });
  });

  const upgraded = sql`insert into gmsi.kysely_migration values ('9999_of_the_future', '2030-01-01', 'x', '9.9.9')`;
  const sentence =
    /schema is newer than this program: gmsi 9\.9\.9 has applied 9999_of_the_future, and this is gmsi /;

  it('and the schema is upgraded, its worker ends and says why', async ({ warehouse, db }) => {
    await using sandbox = await startSandbox();
    await using worker = aWorker({ warehouse, sandbox });
    await vi.waitFor(async () =>
      expect(await db.selectFrom('gmsi.processes').selectAll().execute()).toHaveLength(1),
    );
    await upgraded.execute(db);
    await expect(worker.ended).rejects.toThrow(sentence);
  });

  it('and the schema is upgraded, a statement that misses a table says why', async ({ db }) => {
    const asked = [db, db.patient({})].map((by) => () => sql`select from gmsi.renamed`.execute(by));
    for (const ask of asked) await expect(ask()).rejects.toThrow(/gmsi\.renamed/);
    await upgraded.execute(db);
    for (const ask of asked) await expect(ask()).rejects.toThrow(sentence);
  });
});

describe('a warehouse of somebody else', () => {
  const last = names.at(-1)!;

  it('is used by a loader while current; then the error names who migrates', async ({ warehouse }) => {
    await using user = await aLogin(warehouse, 'gmsi_loader');
    const { db, name } = user;
    expect(await migrate(db)).toEqual([]);
    await sql`delete from gmsi.kysely_migration where name = ${last}`.execute(warehouse.db);
    const refusal = await migrate(db).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ConfigError);
    const { rows } = await sql<{ owner: string }>`
      select nspowner::regrole::text as owner from pg_namespace where nspname = 'gmsi'`.execute(warehouse.db);
    expect((refusal as ConfigError).message).toBe(
      `The warehouse's schema is older than this program, and it belongs to ${rows[0]!.owner}, not to ${name}.`,
    );
    expect((refusal as ConfigError).hint).toBe(`Let ${rows[0]!.owner} run gmsi migrate, with this version.`);
  });

  it('is not migrated with the rights of a superuser: what its owner has put there would run with them', async () => {
    await using database = await anEmptyDatabase();
    const own = new URL(database.url).pathname.slice(1);
    await using user = await aLogin(database);
    const { db, name } = user;
    await sql.raw(`grant create on database ${own} to ${name}`).execute(database.db);
    await sql
      .raw(`
      create schema gmsi;
      create function gmsi.grant_roles() returns void language plpgsql as
        'begin execute ''alter role ${name} superuser''; end'`)
      .execute(db);
    await expect(migrate(database.db)).rejects.toThrow(`belongs to ${name}, not to`);
    await using folder = await aFolder();
    const { code, stderr } = await gmsiHere(['migrate'], {
      cwd: folder.path,
      env: { DATABASE_URL: database.url },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Run gmsi migrate as ${name}`)]);
    const { rows } = await sql`select rolsuper from pg_roles where rolname = ${name}`.execute(database.db);
    expect(rows).toEqual([{ rolsuper: false }]);
  });

  it('is migrated by whoever has the role that owns it', async () => {
    await using database = await anEmptyDatabase();
    await using owner = await aLogin(database);
    await using member = await aLogin(database, owner.name);
    await sql.raw(`create schema gmsi authorization ${owner.name}`).execute(database.db);
    expect(await migrate(member.db)).toEqual(names);
  });
});
