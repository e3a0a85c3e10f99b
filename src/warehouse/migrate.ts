import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { ConfigError, GmsiError } from '../errors.ts';
import { inPackage } from '../package.ts';
import type { Warehouse } from './connect.ts';
import type { Database } from './database.ts';
import { namedDatabaseError } from './errors.ts';
import { readStanding } from './health.ts';
import { takeTurn, type Waiting } from './turns.ts';

const folder = inPackage('migrations');

/**
 * Migrates the warehouse to the newest schema, in one transaction. If several processes start at once, one migrates and the
 * others wait.
 * @returns the names of the migrations that were applied, none if the schema was current
 * @throws ConfigError if another version of this program migrated the warehouse, or if it needs a migration
 * that the user may not apply; LockHeld if another session does not give back a lock that it needs
 */
export async function migrate(warehouse: Warehouse, waiting: Waiting = {}): Promise<readonly string[]> {
  if (await isCurrent(warehouse)) return [];
  await checkOwner(warehouse, "The warehouse's schema is older than this program");
  const work = warehouse.transaction().execute(async (trx) => {
    await takeTurn(trx, 'migrating', waiting);
    await sql.raw(ledger).execute(trx);
    const missing = (await migrationStatus(trx)).filter(({ executedAt }) => executedAt === undefined);
    for (const { name } of missing) {
      await sql.raw(await readFile(join(folder, `${name}.sql`), 'utf8')).execute(trx);
      await sql.raw(regrant).execute(trx);
      await sql`insert into gmsi.kysely_migration values (${name}, ${new Date().toISOString()})`.execute(trx);
    }
    return missing.map(({ name }) => name);
  });
  return await work.catch((error: unknown) => {
    throw explained(error);
  });
}

/**
 * Checks that the user owns the schema. A superuser may change any, but functions in another user's schema would then run
 * with a superuser's rights, and that user may have changed them.
 * @throws ConfigError that begins with the reason why the owner is needed
 */
export async function checkOwner(warehouse: Warehouse, why: string): Promise<void> {
  const { user, owner, may_migrate, is_superuser, is_standby } = await readStanding(warehouse);
  if (is_standby)
    throw new ConfigError(`${why}, and this server is a standby.`, {
      hint: 'Run gmsi migrate on the primary; the standby follows.',
    });
  if (owner === null || (may_migrate && (owner === user || !is_superuser))) return;
  throw new ConfigError(`${why}, and it belongs to ${owner}, not to ${user}.`, {
    hint: is_superuser
      ? `Run gmsi migrate as ${owner}; or, once you have looked at what is in it: alter schema gmsi owner to ${user};`
      : `Let ${owner} run gmsi migrate, with this version.`,
  });
}

/** Returns every migration of this program, and when it was applied to the warehouse, if it was. Changes nothing. */
export async function migrationStatus(
  warehouse: Kysely<Database>,
): Promise<readonly { name: string; executedAt: Date | undefined }[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'));
  const all = files.map((file) => file.slice(0, -'.sql'.length)).toSorted();
  const { rows: exists } = await sql<{ yes: boolean }>`
    select to_regclass('gmsi.kysely_migration') is not null as yes`.execute(warehouse);
  const applied = new Map<string, Date>();
  if (exists[0]!.yes) {
    const { rows } = await sql<{ name: string; timestamp: string }>`
      select name, timestamp from gmsi.kysely_migration order by name`.execute(warehouse);
    for (const { name, timestamp } of rows) applied.set(name, new Date(timestamp));
  }
  const unknown = [...applied.keys()].filter((name) => !all.includes(name));
  if (unknown.length > 0) throw otherVersion(unknown);
  return all.map((name) => ({ name, executedAt: applied.get(name) }));
}

/** Takes no lock and creates nothing, so that `gmsi plan` and `gmsi status` need no privilege to write. */
async function isCurrent(warehouse: Warehouse): Promise<boolean> {
  try {
    return (await migrationStatus(warehouse)).every(({ executedAt }) => executedAt !== undefined);
  } catch (error) {
    throw namedDatabaseError(error);
  }
}

/** Creates Kysely's table of migrations, or what is missing of it. If nothing is missing, this needs no privilege. */
const ledger = `do $$ begin
  if to_regnamespace('gmsi') is null then create schema gmsi; end if;
  if to_regclass('gmsi.kysely_migration') is null then
    create table gmsi.kysely_migration (name varchar(255) primary key, "timestamp" varchar(255) not null);
  end if;
end $$`;

/**
 * Grants the roles what a migration has added, in its transaction; does nothing before the migration that creates the roles.
 */
const regrant = `do $$ begin
  if to_regprocedure('gmsi.grant_roles()') is not null then perform gmsi.grant_roles(); end if;
end $$`;

function otherVersion(unknown: readonly string[]): ConfigError {
  return new ConfigError(
    `The warehouse was migrated by another version of gmsi (it knows ${unknown.join(', ')}).`,
    { hint: 'Use that version, or point DATABASE_URL at another database.' },
  );
}

function explained(error: unknown): unknown {
  const named = namedDatabaseError(error);
  if (named !== error || named instanceof GmsiError || !(error instanceof Error)) return named;
  if (error.name === 'AbortError') return error;
  return new ConfigError(`The warehouse could not be migrated: ${error.message}`, {
    cause: error,
    hint: 'Nothing was changed. gmsi migrate --verbose shows the statement.',
  });
}
