import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { ConfigError, GmsiError } from '../errors.ts';
import { isOfRowSecurity, namedDatabaseError, SchemaGone } from '../warehouse/errors.ts';
import type { Snapshot } from '../warehouse/snapshot.ts';
import { type CheckScope, jobSets } from './job-sets.ts';

/** A finding: columns in the order of the query. */
type FindingRow = Readonly<Record<string, unknown>>;

/** A finding that somebody has acknowledged. */
export interface KnownRow {
  readonly finding: FindingRow;
  readonly reason: string;
  readonly known_since: string;
}

export interface CheckFindings {
  /** The number of findings that are not known. */
  readonly findings: number;
  /** The first of them. */
  readonly rows: readonly FindingRow[];
  /** What identifies each of `rows` in `gmsi.known_findings`. */
  readonly digests: readonly string[];
  /** The number of known findings. */
  readonly known: number;
  /** The first of them. */
  readonly known_rows: readonly KnownRow[];
}

/** A check's query, and whose known findings count. */
export interface CheckQuery {
  readonly job: string;
  readonly name: string;
  readonly query: string;
  /** Columns that do not identify a finding. */
  readonly totals: readonly string[];
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
  { job, name, query, totals }: CheckQuery,
  scope: CheckScope,
  atMost: number,
): Promise<CheckFindings> {
  const found = await run<KnownRow & { digest: string; is_known: boolean; findings: number }>(
    snapshot,
    sql`with ${jobSets(scope)},
      found as (${sql.raw(query)}
),
      placed as (
        select to_json(found) as finding, to_jsonb(found) - ${totals}::text[] as identity, row_number() over () as place
        from found),
      digested as (
        -- Equal findings are numbered: one more of them is new.
        select finding, place,
               encode(sha256(convert_to(concat(identity, row_number() over (partition by identity)), 'UTF8')), 'hex') as digest
        from placed),
      judged as (
        select d.*, k.reason, k.known_since, k.digest is not null as is_known,
               row_number() over (partition by k.digest is not null order by place) as nth,
               count(*) over (partition by k.digest is not null) as findings
        from digested d
        left join gmsi.known_findings k on k.job = ${job} and k.check_name = ${name} and k.digest = d.digest)
      select to_json(judged) as row from judged where nth <= ${Math.max(1, atMost)}::bigint order by place`,
    query,
  );
  const known = found.filter((row) => row.is_known);
  const others = found.filter((row) => !row.is_known);
  const shown = others.slice(0, atMost);
  return {
    findings: others[0]?.findings ?? 0,
    rows: shown.map(({ finding }) => finding),
    digests: shown.map(({ digest }) => digest),
    known: known[0]?.findings ?? 0,
    known_rows: known
      .slice(0, atMost)
      .map(({ finding, reason, known_since }) => ({ finding, reason, known_since })),
  };
}

export const noFindings: CheckFindings = { findings: 0, rows: [], digests: [], known: 0, known_rows: [] };

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
