import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Database } from '../tables/database.ts';

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
