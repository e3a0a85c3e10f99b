import { type RawBuilder, sql, type Transaction } from 'kysely';
import type pg from 'pg';
import type { Database } from './database.ts';

/**
 * What the program relies on in a session, whatever `alter role … set`, `alter database … set` or the server's file say.
 * Functions and operators are looked up in pg_catalog alone: in `public` others may have put some of the same names.
 * Not `default_transaction_read_only`: whoever sets it means it.
 */
const settings: Readonly<Record<string, string>> = {
  search_path: 'pg_catalog, pg_temp',
  // How values are read and written as text.
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  // A page's transaction would otherwise fail where it should wait for another one.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Planning and summing up take their time; whatever has to end early has a limit of its own.
  statement_timeout: '0',
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  // Without triggers, revisions and rollups would stand still.
  session_replication_role: 'origin',
};

/** Sets what is there and differs: a setting may be newer than the server, or not be the user's to set. */
function setAll(scope: 'session' | 'transaction'): string {
  const values = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  // The path first, by a statement that looks no name up: from then on nobody else's function can be meant.
  return `set ${scope === 'session' ? 'session' : 'local'} search_path = ${settings.search_path};
    select set_config(name, value, ${scope === 'transaction'}) from (values ${values.join(', ')}) as wanted (name, value)
    where current_setting(name, true) <> value`;
}

const forSession = setAll('session');
const forTransaction = setAll('transaction');

/**
 * Connections that a pooler hands from one client to the next, as PgBouncer does in transaction mode. What were set there
 * for a session would reach other programs, and miss us the next time.
 */
const pooled = new WeakSet<pg.ClientBase>();

/** Makes a new connection's session as the program needs it. */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid');
  // A pooler gives its clients process ids of its own.
  if (rows[0]!.pid !== (client as pg.ClientBase & { processID: number }).processID) pooled.add(client);
  else await client.query(forSession);
}

type Query = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

/**
 * Runs the statements of a connection that a pooler may share: the settings are then made in each transaction, and a
 * statement outside of one gets one of its own.
 */
export function inOurSettings(client: pg.ClientBase, query: Query): Query {
  if (!pooled.has(client)) return query;
  let isOpen = false;
  const begin = async (text: string) => {
    const [first, ...others] = text.split(';');
    const level = text === 'begin' ? ' isolation level read committed' : '';
    // In one message, so that it costs no further way there and back; what the transaction itself sets comes after it.
    const result = await query([`${first}${level}`, forTransaction, ...others].join(';'), []);
    isOpen = true;
    return result;
  };
  return async (text, values) => {
    if (/^(begin|start transaction)\b/.test(text)) return begin(text);
    const isEnd = /\b(commit|rollback)$/.test(text);
    if (isOpen || isEnd) {
      isOpen &&= !isEnd;
      return query(text, values);
    }
    await begin('begin');
    try {
      const result = await query(text, values);
      await query('commit', []);
      return result;
    } catch (error) {
      await query('rollback', []).catch(() => {});
      throw error;
    } finally {
      isOpen = false;
    }
  };
}

type Trx = Transaction<Database>;

/** How many parameters a statement may have. */
const parameters = Array.from({ length: 200 }, (_, index) => `p[${index + 1}]`).join(', ');

/**
 * Makes the rest of a transaction that of `gmsi_reader`, if the user may take that role, with a function through which SQL
 * of others can be run: it is the reader's own and `security definer`, so that within it PostgreSQL refuses `set role` and
 * `set_config('role', …)`, by which such SQL would else be the user's again. It goes with the transaction.
 * @returns whether there is that function; not on a server that can only be read, or if nobody may make temporary objects
 */
export async function becomeReader(trx: Trx): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select case when to_regrole('gmsi_reader') is null then false
                when current_setting('server_version_num')::int >= 160000 then pg_has_role('gmsi_reader', 'SET')
                else pg_has_role('gmsi_reader', 'MEMBER') end as may`.execute(trx);
  if (!rows[0]!.may) return false;
  await sql`set local role gmsi_reader`.execute(trx);
  await sql`savepoint before_function`.execute(trx);
  try {
    await sql`
      create function pg_temp.gmsi_foreign(statement text, p text[]) returns setof json
      language plpgsql security definer set search_path = pg_catalog, pg_temp as
      ${sql.lit(`begin return query execute statement using ${parameters}; end`)}`.execute(trx);
    return true;
  } catch (error) {
    // 25006: a server that can only be read; 42501: no temporary objects.
    if (!['25006', '42501'].includes((error as { code?: string }).code ?? '')) throw error;
    await sql`rollback to savepoint before_function`.execute(trx);
    return false;
  }
}

/** A statement whose rows are one JSON each, as it is run through that function. Its parameters arrive as texts. */
export function throughReader(trx: Trx, statement: RawBuilder<unknown>): RawBuilder<unknown> {
  const compiled = statement.compile(trx);
  const values = compiled.parameters.map((value) =>
    Array.isArray(value)
      ? sql`array[${sql.join(value.map((one) => sql.lit(String(one))))}]::text[]::text`
      : sql.lit(String(value)),
  );
  // Without parameters of its own: it must not be prepared, since the function is another one each time.
  return sql`select found.row from pg_temp.gmsi_foreign(${sql.lit(compiled.sql)}, array[${sql.join(values)}]::text[]) as found (row)`;
}
