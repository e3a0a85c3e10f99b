import type pg from 'pg';
import { ConfigError } from '../errors.ts';
import { WarehouseUnavailable } from './errors.ts';

/**
 * The settings that the program relies on. They override `alter role … set`, `alter database … set` and the server's file.
 * Functions and operators come from pg_catalog only, because `public` may contain others of the same names. Does not override
 * `default_transaction_read_only`, which somebody has set on purpose.
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
  // Names and definitions are compared as texts.
  quote_all_identifiers: 'off',
  // At a higher level, a page's transaction would fail instead of waiting for another one.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Planning and rollups take long; statements that must end early have their own limits.
  statement_timeout: '0',
  // Without a limit, anybody who may connect could hold a lock forever that the program or a migration waits for.
  lock_timeout: '5min',
  transaction_timeout: '0',
  // A suspended process would keep its locks forever. What waits on purpose in a transaction sets its own.
  idle_in_transaction_session_timeout: '1min',
  // A lost host would keep them for hours: the server looks after half a minute of silence, and ends the session after a minute.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  idle_session_timeout: '0',
  // Compiling a plan over all months takes longer than most answers.
  jit: 'off',
  // A policy would hide rows from exports, sums and plans; this makes it an error.
  row_security: 'off',
  // Without triggers, revisions and rollups would not be updated.
  session_replication_role: 'origin',
  // Only a repair sets it, in its transaction: revisions would not count as changes.
  'gmsi.reading_again': 'off',
};

/** Calls no function itself; after it, a name without a schema is PostgreSQL's own, or of this session. */
export const safePath = `set session search_path = ${settings.search_path}`;

/**
 * Changes only settings that exist and differ, because an older server may lack a setting, or not allow the user to change
 * it.
 */
const setAll = `
  -- Comes first: once the path is set, no function of another user is called.
  ${safePath};
  select set_config(name, value, false)
  from (values ${Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`)}) as wanted (name, value)
  where current_setting(name, true) <> value`;

/**
 * Sets up the session of a new connection.
 * @throws ConfigError if the connection leads to a pooler, which would pass these settings, prepared statements and locks on
 * to other programs; WarehouseUnavailable if the server is too slow for its `statement_timeout`, which applies until then
 */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid');
    if (rows[0]!.pid !== (client as pg.ClientBase & { processID: number }).processID) throw pooler();
    await client.query(setAll);
  } catch (cause) {
    if ((cause as { code?: string }).code !== '57014') throw cause;
    throw new WarehouseUnavailable('The warehouse is too slow for its own statement_timeout.', {
      cause,
      hint: 'Reset it for the user, or raise it: alter role … reset statement_timeout.',
    });
  }
}

function pooler(): ConfigError {
  return new ConfigError(
    'The address of the database leads to a connection pooler (such as PgBouncer), not to PostgreSQL itself.',
    { hint: "Use the server's own address: gmsi keeps few connections and needs sessions of its own." },
  );
}
