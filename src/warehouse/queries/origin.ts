import type { Kysely } from 'kysely';
import type { Database } from '../tables/database.ts';

export type ServedBy = 'service' | 'sandbox';

/** Who fills this warehouse; the first to ask decides. */
export async function claimOrigin(db: Kysely<Database>, servedBy: ServedBy): Promise<ServedBy> {
  await db
    .insertInto('origin')
    .values({ served_by: servedBy })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await readOrigin(db)) ?? servedBy;
}

/** Who filled this warehouse; `undefined` while it is empty. */
export async function readOrigin(db: Kysely<Database>): Promise<ServedBy | undefined> {
  const row = await db.selectFrom('origin').select('served_by').executeTakeFirst();
  return row?.served_by;
}
