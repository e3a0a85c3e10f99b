import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { ConfigError, GmsiError } from '../errors.ts';
import { isOfRowSecurity, namedDatabaseError, SchemaGone } from '../warehouse/errors.ts';
import type { Snapshot } from '../warehouse/snapshot.ts';
import { type CheckScope, jobSets } from './job-sets.ts';

export interface CheckFindings {
  readonly findings: number;
  /** The first of them, columns in the order of the query. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** PostgreSQL refuses a query of a user. */
export class SqlRefused extends GmsiError {
  override readonly kind = 'fatal';
  /** The position in the query, in UTF-16 units, if PostgreSQL reports one. */
  readonly offset: number | undefined;

  constructor(message: string, cause: unknown, offset: number | undefined, hint?: string) {
    super(message, { cause, ...(hint === undefined ? {} : { hint }) });
    this.offset = offset;
  }
}

/** A user's query was stopped: it took too long, or somebody ended it. */
export class CheckStopped extends GmsiError {
  override readonly kind = 'skippable';
}

/**
 * Runs a check's query, which returns a row for each finding, over a job.
 * @throws SqlRefused, CheckStopped; after the latter, the transaction still works
 */
export async function findingsOfCheck(
  snapshot: Snapshot,
  query: string,
  scope: CheckScope,
  atMost: number,
): Promise<CheckFindings> {
  const found = await run<{ finding: Record<string, unknown>; findings: number }>(
    snapshot,
    sql`with ${jobSets(scope)},
      found as (${sql.raw(query)}
)
      select json_build_object('finding', to_json(found), 'findings', count(*) over ()) as row
      from found limit ${Math.max(1, atMost)}::bigint`,
    query,
  );
  return { findings: found[0]?.findings ?? 0, rows: found.slice(0, atMost).map(({ finding }) => finding) };
}

/** Returns whether a table, or one of the job's sets of rows, has rows. @throws SqlRefused if there is no such table */
export async function holdsRows(snapshot: Snapshot, name: string, scope: CheckScope): Promise<boolean> {
  const statement = sql`
    with ${jobSets(scope)} select json_build_object('yes', exists (select from ${sql.raw(name)})) as row`;
  return (await run<{ yes: boolean }>(snapshot, statement, name))[0]!.yes;
}

/**
 * Runs a statement that contains SQL of a user, and returns each row as JSON. Its settings are undone; if it does not end,
 * the transaction still works.
 */
async function run<Row>(trx: Snapshot, statement: RawBuilder<unknown>, foreign: string): Promise<Row[]> {
  const undo = sql`rollback to savepoint before_check`;
  await sql`savepoint before_check`.execute(trx);
  try {
    const { rows } = await statement.execute(trx);
    await undo.execute(trx);
    return (rows as { row: Row }[]).map(({ row }) => row);
  } catch (error) {
    const named = namedDatabaseError(error);
    const { code, position, message } = error as pg.DatabaseError;
    if (code === '57014') {
      await undo.execute(trx);
      throw new CheckStopped(message, { cause: error });
    }
    // 25006: the check tries to write, and its transaction may only read.
    const isOurs = named instanceof GmsiError && named.kind !== 'fatal' && code !== '25006';
    if (code === undefined || isOurs) throw named;
    const at = offsetIn(foreign, statement.compile(trx).sql, position);
    const isOfPrivileges = code === '42501' && !isOfRowSecurity(error);
    throw new SqlRefused(message, error, at, isOfPrivileges ? mayRead : hintOf(named));
  }
}

const mayRead = 'Checks run as gmsi_reader if there is that role: grant select to it on tables of your own.';

function hintOf(named: unknown): string | undefined {
  return named instanceof ConfigError && !(named instanceof SchemaGone) ? named.hint : undefined;
}

/** Returns the position of an error within `part` of a statement; PostgreSQL counts characters from 1. */
function offsetIn(part: string, statement: string, position: string | undefined): number | undefined {
  if (position === undefined) return undefined;
  const offset = [...statement].slice(0, Number(position) - 1).join('').length - statement.indexOf(part);
  return offset < 0 || offset > part.length ? undefined : offset;
}
