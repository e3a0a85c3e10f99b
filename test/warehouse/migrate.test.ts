import { readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate, migrationStatus } from '../../src/warehouse/migrate.ts';
import { aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aLogin } from '../support/a-login.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';

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

  it('refuses a warehouse that another version of gmsi has migrated, and changes nothing', async ({ db }) => {
    await sql`insert into gmsi.kysely_migration (name, timestamp) values ('9999_of_the_future', '2030-01-01')`.execute(
      db,
    );
    const refusal = migrate(db);
    await expect(refusal).rejects.toBeInstanceOf(ConfigError);
    await expect(refusal).rejects.toThrow(/another version of gmsi.*9999_of_the_future/);
    await expect(migrationStatus(db)).rejects.toBeInstanceOf(ConfigError);
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
