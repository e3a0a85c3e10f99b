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

/** Books a request of a month. @returns false if that would pass `limit` */
export async function bookRequest(
  db: Kysely<Database>,
  keyFingerprint: string,
  month: Day,
  limit: number,
): Promise<boolean> {
  const { rows } = await sql`
    insert into gmsi.api_usage as usage (key_fingerprint, month, requests)
    select ${keyFingerprint}, ${month}::date, 1 where ${limit}::bigint >= 1
    on conflict (key_fingerprint, month) do update set requests = usage.requests + 1, updated_at = now()
    where usage.requests < ${limit}::bigint
    returning requests
  `.execute(db);
  return rows.length > 0;
}

/** Cancels the booking of a request that was not sent. */
export async function cancelRequest(db: Kysely<Database>, keyFingerprint: string, month: Day): Promise<void> {
  await db
    .updateTable('gmsi.api_usage')
    .set((eb) => ({ requests: eb('requests', '-', 1), updated_at: sql<Date>`now()` }))
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
