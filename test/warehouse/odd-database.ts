import { sql } from 'kysely';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';

/** As unlike the defaults as PostgreSQL takes them: what people set for other programs of theirs. */
export const odd = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kolkata',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  statement_timeout: '2s',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '500ms',
  idle_session_timeout: '2s',
  search_path: 'trap, public, pg_catalog',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  session_replication_role: 'replica',
  row_security: 'on',
  'gmsi.reading_again': 'on',
  lc_messages: 'C',
  jit_above_cost: '0',
  default_tablespace: 'pg_default',
};

/** Functions and operators of somebody who may create them, found before or more closely fitting than PostgreSQL's own. */
export const traps = `
  create schema trap;
  create function trap.sprung() returns text language plpgsql as 'begin raise exception ''trapped''; end';
  create function trap.now() returns timestamptz language sql as 'select trap.sprung()::timestamptz';
  create function trap.set_config(text, text, boolean) returns text language sql as 'select trap.sprung()';
  create function trap.current_setting(text) returns text language sql as 'select trap.sprung()';
  create function trap.hashtext(text) returns int language sql as 'select length(trap.sprung())';
  create function trap.pg_backend_pid() returns int language sql as 'select length(trap.sprung())';
  create function trap.format(text, text) returns text language sql as 'select trap.sprung()';
  create function trap.to_regclass(text) returns regclass language sql as 'select trap.sprung()::regclass';
  create function trap.to_regprocedure(text) returns regprocedure language sql as 'select trap.sprung()::regprocedure';
  create function trap.equals(text, text) returns boolean language sql as 'select trap.sprung() is null';
  create operator trap.= (function = trap.equals, leftarg = text, rightarg = text);
  create view trap.pg_class as select trap.sprung() as relname;
  create view trap.pg_roles as select trap.sprung() as rolname;
  grant usage on schema trap to public`;

export async function setOddly(
  { db, url }: TestWarehouse,
  settings: Record<string, string> = odd,
): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  for (const [name, value] of Object.entries(settings)) {
    const list = name === 'search_path' ? value : `'${value}'`;
    await sql.raw(`alter database ${database} set ${name} = ${list}`).execute(db);
  }
}

export function newConnections({ url }: Pick<TestWarehouse, 'url'>): Warehouse {
  return connect({ kind: 'url', url: new Secret(url) }, 4);
}
