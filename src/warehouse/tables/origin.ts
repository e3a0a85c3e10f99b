import type { Kysely } from 'kysely';
import type { Database } from '../database.ts';

export type ServedBy = 'service' | 'sandbox';

/** Stores who fills this warehouse, unless that is stored already. @returns who fills it */
export async function claimOrigin(db: Kysely<Database>, servedBy: ServedBy): Promise<ServedBy> {
  await db
    .insertInto('gmsi.origin')
    .values({ served_by: servedBy })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await readOrigin(db)) ?? servedBy;
}

/** Who filled this warehouse; `undefined` while it is empty. */
async function readOrigin(db: Kysely<Database>): Promise<ServedBy | undefined> {
  const row = await db.selectFrom('gmsi.origin').select('served_by').executeTakeFirst();
  return row?.served_by;
}
