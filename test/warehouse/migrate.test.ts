import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect, vi } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { version } from '../../src/package.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate, migrationStatus, schemaState } from '../../src/warehouse/migrate.ts';
import { schemaObjects } from '../../src/warehouse/schema-objects.ts';
import { aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aLogin } from '../support/a-login.ts';
import { aWorker } from '../support/a-worker.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';
import { commandNames } from '../support/typed-commands.ts';

const names = (await readdir(new URL('../../migrations', import.meta.url)))
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.replace('.sql', ''))
  .sort();

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

  it('refuses a warehouse that a newer version of gmsi has migrated, and changes nothing', async ({ db }) => {
    await sql`insert into gmsi.kysely_migration (name, timestamp) values ('9999_of_the_future', '2030-01-01')`.execute(
      db,
    );
    const refusal = migrate(db);
    await expect(refusal).rejects.toBeInstanceOf(ConfigError);
    await expect(refusal).rejects.toThrow(
      /schema is newer than this program: gmsi of an unknown version has applied 9999_of_the_future, and this is gmsi /,
    );
    await expect(migrationStatus(db)).rejects.toBeInstanceOf(ConfigError);
  });
});

/**
 * SHA-256 of each migration that has landed. Never change a line: warehouses have these texts. Change goes into a new migration,
 * which gets a line of its own.
 */
const landed = {
  '0001_service': '721322bab1780047781d73ec0537beb3baee39759d0d8ad3f9b57b810ec8c282',
  '0002_loading': 'dd0d8fc88f38eec1af3bec2a6d99d239801c3fff7806e0b838430f5d1e8bf03d',
  '0003_rows': '02b4da498f335147d7de50de20c453cd474c9b434297c9b64ea7b667a94a5235',
  '0004_for_analysts': '925c4a9617e0103226074453ed2ddc4137a340c7fc968f56d8497239980fd4c9',
  '0005_workers_and_roles': '07f8cef41724c9737845ade759e7faf6fcd33f54fba44a6990aeacd00fed729b',
  '0006_comments': '817529a54b3cdc01d740b3f0d539534bc73bfc495eb1b1dfd585e254c63f77f9',
  '0007_processes': '6f3324205c2492c60b5d8975ecbea314e1c7bf2e71d69bda3ad01a400ca65059',
  '0008_one_lease': '0ac8532f22a536398e2c67262a4edea39cedcb0eb582fb9c00530d23cc9d86bf',
  '0009_both_parts': 'a9f9f25eb12e791dbf820d2dc2ebab700b992d686fc9d5eb58723a9518187f5f',
  '0010_service': '9236cfbd0454cee650319738094db79cbba7614978e1ee89fc1a22136612b2d5',
  '0011_unconfirmed_rows': '023c2b0acd41aa327b9fb6b2e0c2afbb7c1086771f4d0b35aa5a1f086e526aff',
  '0012_for_analysts': '98d20ebcf3eadd52e7f4d09b5d40605df5e1665c24662c34fee5068831749803',
  '0013_watched': '6288dd89c196f9dc9ee54ad052bca329f0532de5d9858e99054fe2fe078c9a36',
  '0014_unconfirmed_series': 'f4e5b13074556142560e955ae27891af7e6b8a69fe118a02fbac775502d3e9e2',
  '0015_moved': 'b07678e33014f8c3738bd33675ab77102b4012da656141d6837d315886c6bce8',
  '0016_known': '6f6a8b712be5d80314918d371c13c25094392522d524aea2f65d31a784e0c175',
  '0017_arrival': 'd6ac5a40764534ba46d2289e3202fa4b476f1d6380f9df2196cfd6d5a3b0e943',
  '0018_export': '4a066394b6ee485ccde5695f73310510df9bede01e264a839940c0d1697fd837',
  '0019_novelty': '0b7e79b088344b66acba45de92cf1cf07828287bb9a9617bac3ecfc81b32504b',
  '0020_jobs': 'bbaf3292c89aed229b87f0225fe387536e0b4963ea8ab75a609a58ae5daedd50',
  '0021_account': 'efa2f7bc8145322b2b46cc20a625d71a556c826d4de3e35a1b3944f08cd59507',
  '0022_known_at': '6a25c7d09d8ca6b9ebce6c1f4744ea025e6ffcf94eab82a4c3a5f9d557311e03',
  '0023_names': '9cfee5f64e2e7b1ad3d7cd35606a43697350b8d827e1a3244d32471316089110',
  '0024_turns': 'ed5b822a23d1de597d476eec9bf22be8e09f7d5f76eccee293ced8a4038ab7be',
  '0025_turns': '9b1f76c129e6fe66806792ddf50a694b1a5a893ac626d8dd2ca9d219b47153e5',
  '0026_names_that_leave': '6ce64d654042a107193cc9fb7c12c21cef9c68ebc701e42a625d995b336efed3',
  '0028_moved_warehouse': '1933f082b68f8f8f907a525f7ac7e3200842d816b39f6dcf326ff6a89f6b6b36',
  '0029_facts': 'a7aad3e9fd86f0a8b257510f0b7dd79534ac7f96c1baef32c7bcc3c38c3f6f14',
};

it('has every migration exactly as it landed', async ({ db }) => {
  const ours = (await migrationStatus(db)).map(({ name, checksum }) => [name, checksum]);
  expect(Object.fromEntries(ours)).toEqual(landed);
});

describe('a warehouse whose migrations have the same names', () => {
  const withoutChecksums = sql`alter table gmsi.kysely_migration drop column checksum, drop column version`;

  it('is refused if one of them has another checksum, with both versions and what to do', async ({
    db,
    warehouse,
  }) => {
    await sql`update gmsi.kysely_migration set checksum = repeat('0', 64), version = '9.8.7' where name = '0003_rows'`.execute(
      db,
    );
    const refusal = `migrated by gmsi 9.8.7, and this is gmsi ${version}: 0003_rows has the checksum 000000000000 there, ${landed['0003_rows'].slice(0, 12)} here.\n  → Use the version that`;
    for (const args of [['migrate'], ['status'], ['check', 'demo'], ['plan', 'demo']]) {
      const { code, stderr } = await runs(warehouse.url, ...args);
      expect([args[0], code, stderr]).toEqual([args[0], 2, expect.stringContaining(refusal)]);
    }
    const { stdout } = await runs(warehouse.url, 'doctor');
    expect(stdout).toMatch(/^✗ schema +The warehouse was migrated by gmsi 9\.8\.7/m);
  });

  it('gets the checksums that were not kept before, if the schema is what they make', async ({
    db,
    warehouse,
  }) => {
    await withoutChecksums.execute(db);
    // What people may add or replace is no reason.
    await sql
      .raw(`
      alter table gmsi.headlines add column desk text;
      create index on gmsi.loads (job);
      create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe
        return interval '30 seconds'`)
      .execute(db);
    expect((await runs(warehouse.url, 'doctor')).stdout).toMatch(
      /^✓ schema +as this version makes it, but without the checksums of its migrations: the next load does it$/m,
    );
    expect(await migrate(db)).toEqual([]);
    const { rows } = await sql<{ name: string; checksum: string }>`
      select name, checksum from gmsi.kysely_migration`.execute(db);
    expect(Object.fromEntries(rows.map(({ name, checksum }) => [name, checksum]))).toEqual(landed);
  });

  it.for([
    ['a column', 'alter table gmsi.loads drop column reason', 'column loads.reason text'],
    [
      'what a column may have',
      'alter table gmsi.alerts drop constraint alerts_kind_check, add constraint alerts_kind_check check (kind <> $$late$$)',
      'constraint alerts_kind_check on alerts',
    ],
    [
      'a default',
      'alter table gmsi.windows alter attempts set default 1',
      'column windows.attempts integer not null',
    ],
    [
      'a view',
      'create or replace view gmsi.coverage_gaps as select * from gmsi.coverage_gaps limit 1',
      'view coverage_gaps',
    ],
    [
      'the body of a function',
      'create or replace function gmsi.summable(number double precision) returns double precision language sql immutable parallel safe return number',
      'function summable(number double precision)',
    ],
  ] as const)('is refused if another build made %s', async ([, change, named], { db, warehouse }) => {
    await withoutChecksums.execute(db);
    await sql.raw(change).execute(db);
    const { code, stderr } = await runs(warehouse.url, 'migrate');
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /an older build of gmsi.*is not that of this one, gmsi [\d.]+ \(.*\n.*Use the version/,
      ),
    ]);
    expect(stderr).toContain(named);
    const { stdout } = await runs(warehouse.url, 'doctor');
    expect(stdout).toMatch(/^✗ schema +The warehouse was migrated by an older build/m);
    const { rows } = await sql`
      select from pg_attribute where attrelid = 'gmsi.kysely_migration'::regclass and attname = 'checksum'`.execute(
      db,
    );
    expect(rows).toEqual([]);
  });

  it('is refused if the next migration does not fit what another build made', async ({ db }) => {
    await withoutChecksums.execute(db);
    await sql`delete from gmsi.kysely_migration where name = '0007_processes'`.execute(db);
    await expect(migrate(db)).rejects.toThrow(/an older build of gmsi.*gmsi\.workers/);
  });
});

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

/** A database as the version before the last migration has left it. */
async function anOlderWarehouse() {
  const database = await anEmptyDatabase();
  await sql`create schema gmsi`.execute(database.db);
  await sql`create table gmsi.kysely_migration (name text primary key, timestamp text, checksum text, version text)`.execute(
    database.db,
  );
  for (const { name, text, checksum } of (await migrationStatus(database.db)).slice(0, -1)) {
    await sql.raw(text).execute(database.db);
    await sql`insert into gmsi.kysely_migration values (${name}, '2026-01-01', ${checksum}, '0.0.9')`.execute(
      database.db,
    );
  }
  return database;
}

/** What each command is run with that only looks; `loads` for those that create and upgrade the schema. */
const uses: Readonly<Record<string, readonly (readonly string[])[] | 'loads' | 'no warehouse'>> = {
  init: 'loads',
  demo: 'loads',
  doctor: [[]],
  lookups: [[], ['germany']],
  jobs: [[]],
  validate: 'no warehouse',
  plan: [['demo']],
  backfill: 'loads',
  sync: 'loads',
  import: 'loads',
  status: [[], ['demo'], ['--days'], ['--watch']],
  check: [['demo']],
  why: [['5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22']],
  serve: [
    ['--port', '0'],
    ['--html', '-'],
  ],
  psql: [['-c', 'select 1']],
  snapshot: [[], ['name']],
  reader: [['somebody']],
  export: [['demo']],
  work: 'loads',
  repair: [['--dry-run'], ['--windows', '--dry-run']],
  move: [['--to', 'postgres://nobody@127.0.0.1:9/none']],
  sandbox: 'no warehouse',
  migrate: [['status']],
  completion: 'no warehouse',
  complete: 'no warehouse',
  help: 'no warehouse',
};
const looking = Object.entries(uses).flatMap(([name, runs]) =>
  typeof runs === 'string' ? [] : runs.map((args) => [name, ...args]),
);
/** These say how the schema is, or leave it to the user's SQL. */
const anyway = ['doctor', 'psql', 'migrate'];

describe('a command that only looks', () => {
  it('is every command that is not known to load', () => {
    expect(Object.keys(uses)).toEqual(expect.arrayContaining(commandNames));
  });

  it('leaves an older schema as it is, and says what upgrades it', async () => {
    await using database = await anOlderWarehouse();
    // Not what other tests change meanwhile, such as the settings of roles.
    const schema = async () => [await schemaObjects(database.db), await migrationStatus(database.db)];
    const before = await schema();
    for (const args of looking) {
      const { code, stderr } = await runs(database.url, ...args);
      if (!anyway.includes(args[0]!))
        expect([args, code, stderr]).toEqual([
          args,
          2,
          expect.stringMatching(/schema is older than this program.*\n +→ Run (npx )?gmsi migrate/),
        ]);
      expect(await schema(), args.join(' ')).toEqual(before);
    }
    const { code, stderr } = await runs(database.url, 'repair');
    expect([code, stderr]).toEqual([0, expect.stringContaining('the schema was upgraded in database')]);
    expect(await schemaState(database.db)).toBe('current');
  });

  it('creates nothing in a database without a schema, and says what does', async () => {
    await using database = await anEmptyDatabase();
    for (const args of looking) {
      const { code, stderr } = await runs(database.url, ...args);
      if (!anyway.includes(args[0]!))
        expect([args, code, stderr]).toEqual([
          args,
          2,
          expect.stringMatching(/Nothing is loaded into|There is no warehouse in/),
        ]);
      expect(await schemaState(database.db), args.join(' ')).toBe('absent');
    }
    const { rows } = await sql`select from pg_namespace where nspname = 'gmsi'`.execute(database.db);
    expect(rows).toEqual([]);
    const { code, stderr } = await runs(database.url, 'repair');
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

  it('nobody upgrades the schema, unless told to', async () => {
    await using database = await anOlderWarehouse();
    await lastly('host 7, gmsi 0.0.9').execute(database.db);
    for (const command of ['migrate', 'repair']) {
      const { code, stderr } = await runs(database.url, command);
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

  const upgraded = sql`insert into gmsi.kysely_migration (name, timestamp, version)
    values ('9999_of_the_future', '2030-01-01', '9.9.9')`;
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
