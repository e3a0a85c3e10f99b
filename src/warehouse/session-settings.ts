import { type RawBuilder, sql, type Transaction } from 'kysely';
import type pg from 'pg';
import type { Database } from './database.ts';
import { WarehouseUnavailable } from './errors.ts';
import { beginsTransaction, endsTransaction, type Query } from './prepared.ts';

/**
 * The settings that the program relies on, whatever `alter role … set`, `alter database … set` or the server's file say.
 * Functions and operators come from pg_catalog only, because `public` may hold others of the same names. Not
 * `default_transaction_read_only`, which is set on purpose.
 */
const settings: Readonly<Record<string, string>> = {
  search_path: 'pg_catalog, pg_temp',
  // These decide how values are read and written as text.
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  // At a higher level, a page's transaction would fail instead of waiting for another one.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Planning and rollups take long; statements that must end early have their own limits.
  statement_timeout: '0',
  // Anybody who may connect can hold an advisory lock of the program, or a table from a migration, for ever.
  lock_timeout: '5min',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  // Without triggers, revisions and rollups would not be updated.
  session_replication_role: 'origin',
};

/** Changes the settings that exist and differ: the server may not have a setting yet, or not allow the user to change it. */
function setAll(scope: 'session' | 'transaction'): string {
  const values = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  // The search path first, by a statement that uses no names: from then on, no function of others is called.
  return `set ${scope === 'session' ? 'session' : 'local'} search_path = ${settings.search_path};
    select set_config(name, value, ${scope === 'transaction'}) from (values ${values.join(', ')}) as wanted (name, value)
    where current_setting(name, true) <> value`;
}

const forSession = setAll('session');
const forTransaction = setAll('transaction');

/**
 * Connections that a pooler hands from one client to the next, as PgBouncer does in transaction mode. A session's settings
 * there would affect other programs, and be missing in our next transaction.
 */
const pooled = new WeakSet<pg.ClientBase>();

/**
 * Sets up the session of a new connection.
 * @throws WarehouseUnavailable if the server is too slow for a `statement_timeout` of the user's or the database's, which
 * holds until then
 */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid');
    // A pooler sends its clients other process ids than the server's.
    if (rows[0]!.pid !== (client as pg.ClientBase & { processID: number }).processID) pooled.add(client);
    else await client.query(forSession);
  } catch (cause) {
    if ((cause as { code?: string }).code !== '57014') throw cause;
    throw new WarehouseUnavailable('The warehouse is too slow for its own statement_timeout.', {
      cause,
      hint: 'Reset it for the user, or raise it: alter role … reset statement_timeout.',
    });
  }
}

/**
 * Runs the statements of a connection that a pooler may share: it sets the settings in each transaction, and a statement
 * outside a transaction gets its own.
 */
export function inOurSettings(client: pg.ClientBase, query: Query): Query {
  if (!pooled.has(client)) return query;
  let isOpen = false;
  const begin = async (text: string) => {
    const [first, ...others] = text.split(';');
    const level = text === 'begin' ? ' isolation level read committed' : '';
    // The transaction's own settings come after these.
    const result = await query([`${first}${level}`, forTransaction, ...others].join(';'), []);
    isOpen = true;
    return result;
  };
  return async (text, values) => {
    if (beginsTransaction.test(text)) return begin(text);
    const isEnd = endsTransaction.test(text);
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

/** Whether there is a role `gmsi_reader` that the user may take. */
export const mayBecomeReader = sql<boolean>`case when to_regrole('gmsi_reader') is null then false
                when current_setting('server_version_num')::int >= 160000 then pg_has_role('gmsi_reader', 'SET')
                else pg_has_role('gmsi_reader', 'MEMBER') end`;

/** The most parameters of a statement. */
const parameters = Array.from({ length: 200 }, (_, index) => `p[${index + 1}]`).join(', ');

/**
 * Runs the rest of a transaction as `gmsi_reader`, if the user may take that role, and creates a temporary function to run
 * SQL of others. `gmsi_reader` owns it and it is `security definer`, so PostgreSQL refuses `set role` and
 * `set_config('role', …)` in it, by which such SQL could get the user's rights back. It disappears with the transaction.
 * @returns whether the function exists; not on a read-only server, or if temporary objects are not allowed
 */
export async function becomeReader(trx: Trx): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`select ${mayBecomeReader} as may`.execute(trx);
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
    // 25006: a read-only server; 42501: no temporary objects.
    if (!['25006', '42501'].includes((error as { code?: string }).code ?? '')) throw error;
    await sql`rollback to savepoint before_function`.execute(trx);
    return false;
  }
}

/** A statement that runs through that function and returns each row as one JSON. Its parameters arrive as texts. */
export function throughReader(trx: Trx, statement: RawBuilder<unknown>): RawBuilder<unknown> {
  const compiled = statement.compile(trx);
  const values = compiled.parameters.map((value) =>
    Array.isArray(value)
      ? sql`array[${sql.join(value.map((one) => sql.lit(String(one))))}]::text[]::text`
      : sql.lit(String(value)),
  );
  // Without parameters, so that it is not prepared: the function is a different one each time.
  return sql`select found.row from pg_temp.gmsi_foreign(${sql.lit(compiled.sql)}, array[${sql.join(values)}]::text[]) as found (row)`;
}
