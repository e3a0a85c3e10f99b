import type pg from 'pg';

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
