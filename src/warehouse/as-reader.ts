import { sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';

/** Returns true if the role `gmsi_reader` exists and the user may take it. */
export const mayBecomeReader = sql<boolean>`case when to_regrole('gmsi_reader') is null then false
                when current_setting('server_version_num')::int >= 160000 then pg_has_role('gmsi_reader', 'SET')
                else pg_has_role('gmsi_reader', 'MEMBER') end`;

/** Gives the rest of a transaction the rights of `gmsi_reader`, if the user may take that role. @returns whether it did */
export async function becomeReader(trx: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`select ${mayBecomeReader} as may`.execute(trx);
  if (rows[0]!.may) await sql`set local role gmsi_reader`.execute(trx);
  return rows[0]!.may;
}
