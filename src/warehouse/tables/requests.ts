import { type Kysely, sql } from 'kysely';
import type { Database, Day } from '../database.ts';

/** Requests booked for a key in a month (its first day), by every process that uses this warehouse. */
export async function usedRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  month: Day,
): Promise<number> {
  const row = await db
    .selectFrom('gmsi.api_usage')
    .select('requests')
    .where('key_fingerprint', '=', keyFingerprint)
    .where('month', '=', month)
    .executeTakeFirst();
  return row?.requests ?? 0;
}

/**
 * A process books at most this part of the rest at once; otherwise one process could keep the last requests without using them.
 */
const largestPart = 1 / 8;

/**
 * Books up to `wanted` requests without passing `limit` for the month.
 * @returns how many were booked (0 at the limit), and the month's total with them
 */
export async function bookRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  month: Day,
  { wanted, limit }: { wanted: number; limit: number },
): Promise<{ granted: number; used: number }> {
  return db.transaction().execute(async (trx) => {
    await trx
      .insertInto('gmsi.api_usage')
      .values({ key_fingerprint: keyFingerprint, month })
      .onConflict((c) => c.doNothing())
      .execute();
    const { requests } = await trx
      .selectFrom('gmsi.api_usage')
      .select('requests')
      .where('key_fingerprint', '=', keyFingerprint)
      .where('month', '=', month)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const granted = Math.max(0, Math.min(wanted, Math.ceil((limit - requests) * largestPart)));
    if (granted > 0) await addRequests(trx, keyFingerprint, month, granted);
    return { granted, used: requests + granted };
  });
}

/** Returns requests that were booked but not sent. */
export async function returnRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  month: Day,
  unsent: number,
): Promise<void> {
  await addRequests(db, keyFingerprint, month, -unsent);
}

async function addRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  month: Day,
  count: number,
): Promise<void> {
  await db
    .updateTable('gmsi.api_usage')
    .set((eb) => ({ requests: eb('requests', '+', count), updated_at: sql<Date>`now()` }))
    .where('key_fingerprint', '=', keyFingerprint)
    .where('month', '=', month)
    .execute();
}

/**
 * Puts a request into the key's bucket, whether it may be sent at once or must wait. The bucket leaks at the rate of the caller,
 * in requests a second. The time is the database's, read under the row's lock. A clock that is set back leaks nothing, so it
 * can only slow down.
 * @returns the requests in the bucket, this one included
 */
export async function takeRequest(
  db: Kysely<Database>,
  keyFingerprint: string,
  rate: number,
): Promise<number> {
  const { rows } = await sql<{ in_bucket: number }>`
    insert into gmsi.request_rate as bucket (key_fingerprint, in_bucket, counted_at)
    values (${keyFingerprint}, 1, clock_timestamp())
    on conflict (key_fingerprint) do update
    set in_bucket = 1 + greatest(0, bucket.in_bucket - ${rate} *
          greatest(0, extract(epoch from clock_timestamp() - bucket.counted_at)::double precision)),
        counted_at = clock_timestamp()
    returning in_bucket
  `.execute(db);
  return rows[0]!.in_bucket;
}
