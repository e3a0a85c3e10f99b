import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { ConfigError, GmsiError } from '../errors.ts';
import { inPackage, version } from '../package.ts';
import type { Database } from './database.ts';
import { namedDatabaseError, takesNoWrites } from './errors.ts';
import { isReadOnly, readStanding } from './health.ts';
import { schemaDrift } from './schema-objects.ts';
import { livingProcesses } from './tables/processes.ts';
import { takeMigration, type Waiting } from './turns.ts';

const folder = inPackage('migrations');

export interface Migrating extends Waiting {
  /** Refuses while a process has sent a heartbeat within so many seconds; without it, migrates all the same. */
  readonly leaseSeconds?: number | undefined;
}

/** The schema is not migrated, because processes of an older program are working. A supervisor may try again. */
export class OlderProgramsWork extends GmsiError {
  override readonly kind = 'retryable';
}

/**
 * Migrates the warehouse to the newest schema, in one transaction. If several processes start at once, one migrates and the
 * others wait. Notes the checksum of each migration; of those that were applied before checksums were kept, only if the schema
 * has everything that these files make.
 * @returns the names of the migrations that were applied, none if the schema was current
 * @throws ConfigError if another version of this program migrated the warehouse, or if it needs a migration
 * that the user may not apply; OlderProgramsWork; LockHeld if another session does not give back a lock that it needs
 */
export async function migrate(
  warehouse: Kysely<Database>,
  { leaseSeconds, ...waiting }: Migrating = {},
): Promise<readonly string[]> {
  if ((await schemaState(warehouse)) === 'current') return [];
  await checkOwner(warehouse, isOlder);
  let last: { readonly xid: string; readonly applied: readonly string[] } | undefined;
  const work = warehouse.transaction().execute(async (trx) => {
    await takeMigration(trx, () => anApplied(trx), waiting);
    // The warehouse may repeat this after a lost reply.
    if (last && (await isCommitted(trx, last.xid))) return last.applied;
    await sql.raw(namesNoOwnTablespace).execute(trx);
    await sql.raw(ledger).execute(trx);
    const status = await migrationStatus(trx);
    const missing = status.filter(({ executedAt }) => executedAt === undefined);
    const unproven = status.filter(isUnproven);
    if (missing.length > 0 && leaseSeconds !== undefined) await refuseLiving(trx, leaseSeconds);
    try {
      for (const { name, text, checksum } of missing) {
        await sql.raw(text).execute(trx);
        await sql.raw(regrant).execute(trx);
        await sql`insert into gmsi.kysely_migration (name, timestamp, checksum, version)
          values (${name}, ${new Date().toISOString()}, ${checksum}, ${version})`.execute(trx);
      }
    } catch (error) {
      // Tables that these files did not make are the likely cause.
      if (unproven.length > 0 && isMissingObject(error)) throw otherBuild((error as Error).message, error);
      throw error;
    }
    if (unproven.length > 0) await proveSchema(trx);
    for (const { name, checksum } of unproven)
      await sql`update gmsi.kysely_migration set checksum = ${checksum} where name = ${name}`.execute(trx);
    const applied = missing.map(({ name }) => name);
    last = { xid: await transactionId(trx), applied };
    return applied;
  });
  return await work.catch((error: unknown) => {
    throw explained(error);
  });
}

async function anApplied(db: Kysely<Database>): Promise<string | undefined> {
  return (await migrationStatus(db)).find(({ executedAt }) => executedAt !== undefined)?.name;
}

async function transactionId(trx: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(trx);
  return rows[0]!.xid;
}

async function isCommitted(db: Kysely<Database>, xid: string): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select pg_xact_status(${xid}::xid8) = 'committed' as yes`.execute(db);
  return rows[0]!.yes;
}

/**
 * Checks that the user owns the schema. A superuser may change any, but functions in another user's schema would then run
 * with a superuser's rights, and that user may have changed them.
 * @throws ConfigError that begins with the reason why the owner is needed
 */
export async function checkOwner(warehouse: Kysely<Database>, why: string): Promise<void> {
  const { user, owner, may_migrate, is_superuser, is_standby } = await readStanding(warehouse);
  if (is_standby)
    throw new ConfigError(`${why}, and this server is a standby.`, {
      hint: 'Run gmsi migrate on the primary; the standby follows.',
    });
  if (owner === null && (await isReadOnly(warehouse)))
    throw new ConfigError('The database has no warehouse yet, and takes no writes.', { hint: takesNoWrites });
  if (owner === null || (may_migrate && (owner === user || !is_superuser))) return;
  throw new ConfigError(`${why}, and it belongs to ${owner}, not to ${user}.`, {
    hint: is_superuser
      ? `Run gmsi migrate as ${owner}; or, once you have looked at what is in it: alter schema gmsi owner to ${user};`
      : `Let ${owner} run gmsi migrate, with this version.`,
  });
}

/** A migration of this program. */
export interface Migration {
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text. */
  readonly checksum: string;
  /** When it was applied to the warehouse; `undefined` if it was not. */
  readonly executedAt: Date | undefined;
  /** The checksum of what was applied; `undefined` if that was before checksums were kept. */
  readonly applied: string | undefined;
}

/**
 * Returns every migration of this program, and when it was applied to the warehouse, if it was. Changes nothing.
 * @throws ConfigError if the warehouse has a migration that this program does not have, or has with another text
 */
export async function migrationStatus(warehouse: Kysely<Database>): Promise<readonly Migration[]> {
  const { rows: exists } = await sql<{ yes: boolean }>`
    select to_regclass('gmsi.kysely_migration') is not null as yes`.execute(warehouse);
  const applied = new Map<string, AppliedMigration>();
  if (exists[0]!.yes) {
    // By to_jsonb, because the table may be without the columns of checksums.
    const { rows } = await sql<AppliedMigration>`
      select name, timestamp, to_jsonb(m) ->> 'checksum' as checksum, to_jsonb(m) ->> 'version' as version
      from gmsi.kysely_migration m order by name`.execute(warehouse);
    for (const row of rows) applied.set(row.name, row);
  }
  files ??= migrationFiles();
  const ours = await files;
  for (const theirs of applied.values()) {
    const file = ours.find(({ name }) => name === theirs.name);
    if (theirs.checksum === file?.checksum || (file && theirs.checksum === null)) continue;
    throw theirs.name > ours.at(-1)!.name ? newer(theirs) : otherVersion(theirs, file);
  }
  return ours.map((file) => {
    const row = applied.get(file.name);
    const executedAt = row && new Date(row.timestamp);
    return { ...file, executedAt, applied: row?.checksum ?? undefined };
  });
}

/** A row of the table of migrations. */
interface AppliedMigration {
  readonly name: string;
  readonly timestamp: string;
  readonly checksum: string | null;
  /** Of the program that applied it. */
  readonly version: string | null;
}

/** Read once: an update may replace the files while this program runs, and then they are not its own. */
let files: ReturnType<typeof migrationFiles> | undefined;

async function migrationFiles(): Promise<readonly Pick<Migration, 'name' | 'text' | 'checksum'>[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'));
  return await Promise.all(
    files.toSorted().map(async (file) => {
      // Git may have checked it out with the line ends of Windows.
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      return {
        name: file.slice(0, -'.sql'.length),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      };
    }),
  );
}

/** Returns true if a migration was applied before checksums were kept, so that its text is not known. */
export function isUnproven({ executedAt, applied }: Migration): boolean {
  return executedAt !== undefined && applied === undefined;
}

/**
 * Checks that the schema has everything that this program's migrations make.
 * @throws ConfigError that names what is missing or different
 */
export async function proveSchema(db: Kysely<Database>): Promise<void> {
  const { gone } = await schemaDrift(db);
  const more = gone.length > 3 ? ` and ${gone.length - 3} more` : '';
  if (gone.length > 0) throw otherBuild(`missing or different: ${gone.slice(0, 3).join(', ')}${more}`);
}

/**
 * Compares the warehouse's schema with this program's. Takes no lock and creates nothing, so it needs no privilege to write.
 * @throws ConfigError if the schema is newer, or another build's
 */
export async function schemaState(warehouse: Kysely<Database>): Promise<'current' | 'older' | 'absent'> {
  try {
    const status = await migrationStatus(warehouse);
    if (status.every(({ executedAt }) => executedAt === undefined)) return 'absent';
    return status.every(({ applied }) => applied !== undefined) ? 'current' : 'older';
  } catch (error) {
    throw namedDatabaseError(error);
  }
}

const isOlder = "The warehouse's schema is older than this program";

/** Returns the error of a command that may not upgrade an older schema. */
export async function olderSchema(warehouse: Kysely<Database>): Promise<ConfigError> {
  await checkOwner(warehouse, isOlder);
  return new ConfigError(`${isOlder}.`, { hint: 'Run gmsi migrate.' });
}

/**
 * Refuses while processes work. They have found the schema current, so their program is older. Until the migration ends, no other
 * process can register, and one that waited for that finds the schema newer than its program (`keepProcess`).
 */
async function refuseLiving(trx: Kysely<Database>, leaseSeconds: number): Promise<void> {
  const { rows } = await sql<{ yes: boolean }>`
    select to_regclass('gmsi.processes') is not null as yes`.execute(trx);
  if (!rows[0]!.yes) return;
  await sql`lock table gmsi.processes in share row exclusive mode`.execute(trx);
  const living = await livingProcesses(trx, leaseSeconds);
  if (living.length === 0) return;
  const names = living.map(({ command, run_by }) => `gmsi ${command} (${run_by})`).join(', ');
  throw new OlderProgramsWork(`${isOlder}, and older programs are working: ${names}.`, {
    hint: `Stop them, and run it again. A process that was killed counts for ${leaseSeconds} s. To upgrade the schema all the same, so that they fail or load days twice: gmsi migrate --force`,
  });
}

/** PostgreSQL refuses a partitioned table if `default_tablespace` names the database's own, which is the default anyway. */
const namesNoOwnTablespace = `
  select set_config('default_tablespace', '', true)
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace
  where d.datname = current_database() and t.spcname = current_setting('default_tablespace')`;

/** Creates the table of migrations, or what is missing of it. Locks nothing if nothing is missing. */
const ledger = `do $$ begin
  if to_regnamespace('gmsi') is null then create schema gmsi; end if;
  if to_regclass('gmsi.kysely_migration') is null then
    create table gmsi.kysely_migration (name varchar(255) primary key, "timestamp" varchar(255) not null);
  end if;
  if not exists (select from pg_attribute where attrelid = 'gmsi.kysely_migration'::regclass and attname = 'checksum') then
    alter table gmsi.kysely_migration add column checksum text, add column version text;
  end if;
end $$`;

/**
 * Grants the roles what a migration has added, in its transaction; does nothing before the migration that creates the roles.
 */
const regrant = `do $$ begin
  if to_regprocedure('gmsi.grant_roles()') is not null then perform gmsi.grant_roles(); end if;
end $$`;

const toDo = 'Use the version that migrated it, or set DATABASE_URL to another database.';

function otherVersion(theirs: AppliedMigration, file: Pick<Migration, 'checksum'> | undefined): ConfigError {
  const short = (checksum: string | null) => checksum?.slice(0, 12) ?? 'unknown';
  const by = theirs.version === null ? 'another version of gmsi' : `gmsi ${theirs.version}`;
  const here = file ? `${short(file.checksum)} here` : 'which is not here';
  return new ConfigError(
    `The warehouse was migrated by ${by}, and this is gmsi ${version}: ${theirs.name} has the checksum ${short(theirs.checksum)} there, ${here}.`,
    { hint: toDo },
  );
}

function newer({ name, version: by }: AppliedMigration): ConfigError {
  return new ConfigError(
    `The warehouse's schema is newer than this program: gmsi ${by ?? 'of an unknown version'} has applied ${name}, and this is gmsi ${version}.`,
    { hint: 'Update this program.' },
  );
}

function otherBuild(what: string, cause?: unknown): ConfigError {
  return new ConfigError(
    `The warehouse was migrated by an older build of gmsi, before checksums were kept, and its schema is not that of this one, gmsi ${version} (${what}).`,
    {
      cause,
      hint: `${toDo} If somebody has dropped or changed these, create them again as the files in migrations/ do, and run gmsi migrate.`,
    },
  );
}

/** Returns true if a statement names a schema, table, column, function, index or other object that does not exist. */
export function isMissingObject(error: unknown): boolean {
  return ['3F000', '42P01', '42P10', '42703', '42704', '42883'].includes(
    (error as { code?: string }).code ?? '',
  );
}

function explained(error: unknown): unknown {
  const named = namedDatabaseError(error);
  if (named !== error || named instanceof GmsiError || !(error instanceof Error)) return named;
  if (error.name === 'AbortError') return error;
  const theirs = functionOfOthers(error);
  if (theirs)
    return new ConfigError(`The warehouse could not be migrated: ${theirs} fails: ${error.message}`, {
      cause: error,
      hint: `Nothing was changed. Somebody's event trigger calls ${theirs}, with the search_path of gmsi. The function needs its own: alter function ${theirs} set search_path = public, pg_temp;`,
    });
  return new ConfigError(`The warehouse could not be migrated: ${error.message}`, {
    cause: error,
    hint: 'Nothing was changed. To see the statement: gmsi migrate --verbose',
  });
}

/** Returns the function in which a statement failed, if it is not one of the schema `gmsi`: an event trigger has called it. */
function functionOfOthers(error: Error): string | undefined {
  const { where = '' } = error as { where?: string };
  // The innermost comes first. PostgreSQL translates the words around the name, but not PL/pgSQL.
  const [, name] = /PL\/pgSQL[^\n]*?((?:\w+|"[^"\n]+")\.(?:\w+|"[^"\n]+")\([^\n)]*\))/.exec(where) ?? [];
  return name?.startsWith('gmsi.') ? undefined : name;
}
