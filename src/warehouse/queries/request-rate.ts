import { type Kysely, sql } from 'kysely';
import type { Database } from '../tables/database.ts';

/** What is put into a key's bucket, and how fast the bucket leaks. */
export interface Taking {
  readonly count: number;
  /** Requests a second. */
  readonly rate: number;
}

/**
 * Puts requests into the key's bucket, whether they may be sent at once or have to wait. The bucket leaks at the rate of
 * whoever puts something in. The time is the database's and is read under the row's lock; a clock that is set back leaks
 * nothing, and so can only slow down.
 * @returns the requests in the bucket, these included
 */
export async function takeRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  { count, rate }: Taking,
): Promise<number> {
  const { rows } = await sql<{ in_bucket: number }>`
    insert into gmsi.request_rate as bucket (key_fingerprint, in_bucket, counted_at)
    values (${keyFingerprint}, ${count}, clock_timestamp())
    on conflict (key_fingerprint) do update
    set in_bucket = ${count} + greatest(0, bucket.in_bucket - ${rate} *
          greatest(0, extract(epoch from clock_timestamp() - bucket.counted_at)::double precision)),
        counted_at = clock_timestamp()
    returning in_bucket
  `.execute(db);
  return rows[0]!.in_bucket;
}
