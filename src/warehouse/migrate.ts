import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { ConfigError, GmsiError } from '../errors.ts';
import { inPackage, version } from '../package.ts';
import type { Database } from './database.ts';
import { namedDatabaseError, SchemaGone, takesNoWrites } from './errors.ts';
import { isReadOnly, readStanding } from './health.ts';
import { livingProcesses } from './tables/processes.ts';
import { takeMigration, type Waiting } from './turns.ts';

const folder = inPackage('migrations');

/** What stands for all files in `migrations/repeatable/`: functions, views, triggers, comments and grants. */
const repeatable = 'repeatable';

export interface Migrating extends Waiting {
  /** Refuses while a process has sent a heartbeat within so many seconds; without it, migrates all the same. */
  readonly leaseSeconds?: number | undefined;
  /** Runs the repeatable files even if the schema is current, which restores what somebody has changed or not granted. */
  readonly again?: boolean;
}

/** The schema is not migrated, because processes of an older program are working. A supervisor may try again. */
export class OlderProgramsWork extends GmsiError {
  override readonly kind = 'retryable';
}

/**
 * Migrates the warehouse to the newest schema, in one transaction: first the migrations that it lacks, then all repeatable
 * files, if their text is not the one that was last run. If several processes start at once, one migrates and the others wait.
 * @returns the names of what the schema lacked, none if it was current
 * @throws ConfigError if another build of this program migrated the warehouse, or if it needs a migration
 * that the user may not apply; OlderProgramsWork; LockHeld if another session does not give back a lock that it needs
 */
export async function migrate(
  warehouse: Kysely<Database>,
  { leaseSeconds, again = false, ...waiting }: Migrating = {},
): Promise<readonly string[]> {
  const isCurrent = (await schemaState(warehouse)) === 'current';
  if (isCurrent && !again) return [];
  await checkOwner(
    warehouse,
    isCurrent ? 'Only the owner of the schema can recreate its functions and views' : isOlder,
  );
  let noted: readonly string[] = [];
  let at: string | undefined;
  const work = warehouse.transaction().execute(async (trx) => {
    await takeMigration(trx, () => anApplied(trx), waiting);
    await sql.raw(namesNoOwnTablespace).execute(trx);
    await sql.raw(ledger).execute(trx);
    const status = await migrationStatus(trx);
    const lacked = status.flatMap(({ name, executedAt }) => (executedAt ? [] : [name]));
    // The warehouse may repeat this after a lost reply; what the first attempt has committed is not lacking any more.
    if (lacked.length === 0 && noted.length > 0) return noted;
    noted = lacked;
    if (lacked.length > 0 && leaseSeconds !== undefined) await refuseLiving(trx, leaseSeconds);
    for (const { name, files, checksum, executedAt } of status) {
      const isDue = !executedAt || (name === repeatable && (again || lacked.length > 0));
      if (!isDue) continue;
      for (const file of files) {
        at = file.name;
        await sql.raw(file.text).execute(trx);
      }
      await sql`
        insert into gmsi.kysely_migration (name, timestamp, checksum, version)
        values (${name}, ${new Date().toISOString()}, ${checksum}, ${version})
        on conflict (name) do update
        set timestamp = excluded.timestamp, checksum = excluded.checksum, version = excluded.version`.execute(
        trx,
      );
    }
    return lacked;
  });
  return await work.catch((error: unknown) => {
    throw explained(error, at);
  });
}

async function anApplied(db: Kysely<Database>): Promise<string | undefined> {
  return (await migrationStatus(db)).find(({ executedAt }) => executedAt !== undefined)?.name;
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

/** A migration of this program, or all repeatable files. */
export interface Migration {
  readonly name: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** SHA-256 of the texts. */
  readonly checksum: string;
  /** When this text was applied to the warehouse; `undefined` if it was not. */
  readonly executedAt: Date | undefined;
}

/**
 * Returns every migration of this program, last the repeatable files, and when it was applied to the warehouse, if it was.
 * Changes nothing.
 * @throws ConfigError if the warehouse has a migration that this program does not have, or has with another text
 */
export async function migrationStatus(warehouse: Kysely<Database>): Promise<readonly Migration[]> {
  const { rows: exists } = await sql<{ yes: boolean }>`
    select to_regclass('gmsi.kysely_migration') is not null as yes`.execute(warehouse);
  const applied = new Map<string, AppliedMigration>();
  if (exists[0]!.yes) {
    // By to_jsonb, because an unreleased build has made the table without these columns.
    const { rows } = await sql<AppliedMigration>`
      select name, timestamp, to_jsonb(m) ->> 'checksum' as checksum, to_jsonb(m) ->> 'version' as version
      from gmsi.kysely_migration m order by name`.execute(warehouse);
    for (const row of rows) applied.set(row.name, row);
  }
  ours ??= readMigrations();
  const known = await ours;
  const newest = known.at(-2)!.name;
  for (const theirs of applied.values()) {
    const checksum = known.find(({ name }) => name === theirs.name)?.checksum;
    if (theirs.checksum === checksum) continue;
    if (theirs.name === repeatable ? isNewer(theirs) : !checksum && theirs.name > newest) throw newer(theirs);
    if (theirs.name !== repeatable) throw otherBuild(theirs);
  }
  return known.map((migration) => {
    const row = applied.get(migration.name);
    return {
      ...migration,
      executedAt: row?.checksum === migration.checksum ? new Date(row.timestamp) : undefined,
    };
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

/** Returns true if a newer program has run its repeatable files. */
function isNewer(theirs: AppliedMigration): boolean {
  return (theirs.version ?? '').localeCompare(version, 'en', { numeric: true }) > 0;
}

/** Read once: an update may replace the files while this program runs, and then they are not its own. */
let ours: ReturnType<typeof readMigrations> | undefined;

async function readMigrations(): Promise<readonly Omit<Migration, 'executedAt'>[]> {
  const migrations = (await readFiles(folder)).map((file) => named(file.name, [file]));
  return [...migrations, named(repeatable, await readFiles(join(folder, repeatable)))];
}

function named(name: string, files: Migration['files']): Omit<Migration, 'executedAt'> {
  const hash = createHash('sha256');
  for (const { text } of files) hash.update(text);
  return { name, files, checksum: hash.digest('hex') };
}

/** Reads the SQL files of a folder in the order of their names. */
async function readFiles(path: string): Promise<Migration['files']> {
  const files = (await readdir(path)).filter((file) => file.endsWith('.sql'));
  return await Promise.all(
    files.toSorted().map(async (file) => ({
      name: file.slice(0, -'.sql'.length),
      // Git may have checked it out with the line ends of Windows.
      text: (await readFile(join(path, file), 'utf8')).replaceAll('\r\n', '\n'),
    })),
  );
}

/**
 * Compares the warehouse's schema with this program's. Takes no lock and creates nothing, so it needs no privilege to write.
 * @throws ConfigError if the schema is newer, or another build's
 */
export async function schemaState(warehouse: Kysely<Database>): Promise<'current' | 'older' | 'absent'> {
  try {
    const status = await migrationStatus(warehouse);
    if (status.every(({ executedAt }) => executedAt === undefined)) return 'absent';
    return status.every(({ executedAt }) => executedAt !== undefined) ? 'current' : 'older';
  } catch (error) {
    throw namedDatabaseError(error);
  }
}

const isOlder = "The warehouse's schema is older than this program";

/**
 * Compares the warehouse with `migrations/relations.txt`, which lists what a current schema has.
 * @returns the tables, columns and views that it lacks, because somebody has dropped them
 */
export async function missingParts(
  warehouse: Kysely<Database>,
): Promise<{ tables: readonly string[]; views: readonly string[] }> {
  const listed = (await readFile(join(folder, 'relations.txt'), 'utf8')).split(/\r?\n/).filter(Boolean);
  const { rows } = await sql<{ relation: string; columns: string[] }>`
    select relname as relation, array_agg(attname::text) as columns
    from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
    where relnamespace = to_regnamespace('gmsi') group by pg_class.oid, relname`.execute(warehouse);
  const held = new Map(rows.map(({ relation, columns }) => [relation, columns]));
  const lacking = (kind: string) =>
    listed.flatMap((line) => {
      const [of, relation = '', ...columns] = line.split(' ');
      if (of !== kind) return [];
      const has = held.get(relation);
      if (!has) return [`gmsi.${relation}`];
      return columns.filter((column) => !has.includes(column)).map((column) => `gmsi.${relation}.${column}`);
    });
  return { tables: lacking('table'), views: lacking('view') };
}

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
  throw new OlderProgramsWork(`${isOlder}, and older programs are working: ${living.join(', ')}.`, {
    hint: `Stop them, and run it again. A process that was killed counts for ${leaseSeconds} s. To migrate anyway (they may fail, or load days twice): gmsi migrate --force`,
  });
}

/** PostgreSQL refuses a partitioned table if `default_tablespace` names the database's own, which is the default anyway. */
const namesNoOwnTablespace = `
  select set_config('default_tablespace', '', true)
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace
  where d.datname = current_database() and t.spcname = current_setting('default_tablespace')`;

/** Creates the table of migrations. Locks nothing if it exists. */
const ledger = `do $$ begin
  if to_regnamespace('gmsi') is null then create schema gmsi; end if;
  if to_regclass('gmsi.kysely_migration') is null then
    create table gmsi.kysely_migration (
      name text primary key, "timestamp" text not null, checksum text not null, version text not null);
  end if;
end $$`;

function otherBuild({ name, version: by }: AppliedMigration): ConfigError {
  return new ConfigError(
    `The warehouse was made by another build of gmsi (${by ?? 'of an unknown version'}): its ${name} is not that of this one (${version}).`,
    { hint: 'Use that build, or load into another database (DATABASE_URL).' },
  );
}

function newer({ name, version: by }: AppliedMigration): ConfigError {
  return new ConfigError(
    `The warehouse's schema is newer than this program: gmsi ${by ?? 'of an unknown version'} has applied ${name}, and this is gmsi ${version}.`,
    { hint: 'Update this program.' },
  );
}

/** Returns true if a statement names a schema, table, column, function, index or other object that does not exist. */
export function isMissingObject(error: unknown): boolean {
  return ['3F000', '42P01', '42P10', '42703', '42704', '42883'].includes(
    (error as { code?: string }).code ?? '',
  );
}

/** @param at the file that was being applied */
function explained(error: unknown, at: string | undefined): unknown {
  const named = namedDatabaseError(error);
  const isGone = named instanceof SchemaGone;
  const cause = isGone ? named.cause : error;
  if ((!isGone && (named !== error || named instanceof GmsiError)) || !(cause instanceof Error)) return named;
  if (cause.name === 'AbortError') return cause;
  const restore = `If somebody has dropped that, restore a backup (${inPackage('docs/deploying.md')}, "Backup and moving").`;
  return new ConfigError(`The warehouse could not be migrated: ${at ? `${at}.sql: ` : ''}${cause.message}`, {
    cause,
    hint: `Nothing was changed. ${isGone ? restore : 'To see the statement: gmsi migrate --verbose'}`,
  });
}
