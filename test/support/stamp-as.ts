import { sql } from 'kysely';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/**
 * Stamps what a load has written since `begunAt`, by the database's clock, as if it had been written at another instant: a past.
 */
export async function stampAs(db: Warehouse, instant: string, begunAt: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx);
    for (const column of ['first_seen_at', 'changed_at', 'retracted_at'])
      await sql`update gmsi.headlines set ${sql.ref(column)} = ${instant} where ${sql.ref(column)} >= ${begunAt}`.execute(
        trx,
      );
    await sql`update gmsi.headline_revisions set known_to = ${instant} where known_to >= ${begunAt}`.execute(
      trx,
    );
    // A day that was not over then is not loaded completely, though it is over by the database's clock.
    await sql`update gmsi.watched
      set watched_from = case when day < ${instant}::timestamptz::date then ${instant}::timestamptz end
      where watched_from >= ${begunAt}`.execute(trx);
  });
}
