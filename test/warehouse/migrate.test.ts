import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { migrate, migrationStatus } from '../../src/warehouse/migrate.ts';
import { aFolder, gmsi } from '../cli/gmsi.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase, aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

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

  it('gives the schema that a migrated template has', async () => {
    await using database = await anEmptyDatabase();
    await using template = await aWarehouse({ isNew: true });
    await migrate(database.db);
    expect(await relations(database.db)).toEqual(await relations(template.db));
  });

  it('refuses a warehouse that another version of gmsi has migrated, and changes nothing', async ({ db }) => {
    await sql`insert into gmsi.kysely_migration (name, timestamp) values ('9999_of_the_future', '2030-01-01')`.execute(
      db,
    );
    const refusal = migrate(db);
    await expect(refusal).rejects.toBeInstanceOf(ConfigError);
    await expect(refusal).rejects.toThrow(/another version of gmsi.*9999_of_the_future/);
    await expect(migrationStatus(db)).rejects.toBeInstanceOf(ConfigError);
  });

  it('needs no privilege if there is nothing to migrate', async () => {
    await using warehouse = await aWarehouse({ connections: 1 });
    const { db } = warehouse;
    await sql`create role gmsi_test_reader`.execute(db);
    try {
      await sql`grant usage on schema gmsi to gmsi_test_reader`.execute(db);
      await sql`grant select on all tables in schema gmsi to gmsi_test_reader`.execute(db);
      await sql`set role gmsi_test_reader`.execute(db);
      expect(await migrate(db)).toEqual([]);
    } finally {
      await sql`reset role`.execute(db);
      await sql`drop owned by gmsi_test_reader`.execute(db);
      await sql`drop role gmsi_test_reader`.execute(db);
    }
  });
});

describe('a warehouse of somebody else', () => {
  async function asUser<T>(
    { db, url }: TestWarehouse,
    grant: string,
    run: (db: Warehouse, name: string) => Promise<T>,
  ) {
    const name = `someone_${randomUUID().replaceAll('-', '')}`;
    await sql.raw(`create role ${name} login password 'x'; ${grant.replaceAll('$', name)}`).execute(db);
    const address = new URL(url);
    Object.assign(address, { username: name, password: 'x' });
    const own = connect({ kind: 'url', url: new Secret(address.href) }, 2);
    try {
      return await run(own, name);
    } finally {
      await own.destroy();
      await sql.raw(`drop owned by ${name} cascade; drop role ${name}`).execute(db);
    }
  }
  const last = names.at(-1)!;

  it('is used by a loader while current; then the error names who migrates', async ({ warehouse }) => {
    await asUser(warehouse, 'grant gmsi_loader to $', async (db, name) => {
      expect(await migrate(db)).toEqual([]);
      await sql`delete from gmsi.kysely_migration where name = ${last}`.execute(warehouse.db);
      const refusal = await migrate(db).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(ConfigError);
      const { rows } = await sql<{ owner: string }>`
        select nspowner::regrole::text as owner from pg_namespace where nspname = 'gmsi'`.execute(
        warehouse.db,
      );
      expect((refusal as ConfigError).message).toBe(
        `The warehouse's schema is older than this program, and it belongs to ${rows[0]!.owner}, not to ${name}.`,
      );
      expect((refusal as ConfigError).hint).toBe(
        `Let ${rows[0]!.owner} run gmsi migrate, with this version.`,
      );
    });
  });

  it('is not migrated with the rights of a superuser: what its owner has put there would run with them', async () => {
    await using database = await anEmptyDatabase();
    const own = new URL(database.url).pathname.slice(1);
    await asUser(database, `grant create on database ${own} to $`, async (db, name) => {
      await sql
        .raw(`
        create schema gmsi;
        create function gmsi.grant_roles() returns void language plpgsql as
          'begin execute ''alter role ${name} superuser''; end'`)
        .execute(db);
      await expect(migrate(database.db)).rejects.toThrow(`belongs to ${name}, not to`);
      await using folder = await aFolder();
      const { code, stderr } = await gmsi(['migrate'], {
        cwd: folder.path,
        env: { DATABASE_URL: database.url },
      });
      expect([code, stderr]).toEqual([2, expect.stringContaining(`Run gmsi migrate as ${name}`)]);
      const { rows } = await sql`select rolsuper from pg_roles where rolname = ${name}`.execute(database.db);
      expect(rows).toEqual([{ rolsuper: false }]);
    });
  });

  it('is migrated by whoever has the role that owns it', async () => {
    await using database = await anEmptyDatabase();
    await asUser(database, '', async (_, owner) => {
      await asUser(database, `grant ${owner} to $`, async (db) => {
        await sql.raw(`create schema gmsi authorization ${owner}`).execute(database.db);
        expect(await migrate(db)).toEqual(names);
      });
    });
  });
});

async function relations(db: Warehouse) {
  const { rows } = await sql`
    select relname, attname, format_type(atttypid, atttypmod) as type, attnotnull
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'gmsi'::regnamespace and attnum > 0 order by 1, attnum
  `.execute(db);
  return rows;
}
