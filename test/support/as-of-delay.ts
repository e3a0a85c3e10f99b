import { sql } from 'kysely';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/** Sets `gmsi.as_of_delay()`, as the owner of a warehouse may. */
export async function setAsOfDelay(db: Warehouse, milliseconds: number): Promise<void> {
  await sql`
    create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe
    return interval ${sql.lit(`${milliseconds} milliseconds`)}`.execute(db);
}
