import { type Kysely, sql } from 'kysely';
import type { Database } from '../tables/database.ts';

/** What is put into a key's bucket, and how fast the bucket leaks. */
export interface Taking {
  readonly count: number;
  /** Requests a second. */
  readonly rate: number;
}

/** For how long a sign that Redis shares the rate keeps everybody off this row, in seconds. */
export const redisHoldsSeconds = 5;

const redisHolds = sql<boolean>`coalesce(
  bucket.redis_seen_at between clock_timestamp() - make_interval(secs => ${redisHoldsSeconds}) and clock_timestamp(),
  false)`;

/**
 * Puts requests into the key's bucket, whether they may be sent at once or have to wait. The bucket leaks at the rate of
 * whoever puts something in. The time is the database's and is read under the row's lock; a clock that is set back leaks
 * nothing, and so can only slow down.
 * @returns the requests in the bucket, these included; `undefined`, with nothing put in, while Redis shares the rate
 */
export async function takeRequests(
  db: Kysely<Database>,
  keyFingerprint: string,
  { count, rate }: Taking,
): Promise<number | undefined> {
  const { rows } = await sql<{ in_bucket: number }>`
    insert into gmsi.request_rate as bucket (key_fingerprint, in_bucket, counted_at)
    values (${keyFingerprint}, ${count}, clock_timestamp())
    on conflict (key_fingerprint) do update
    set in_bucket = ${count} + greatest(0, bucket.in_bucket - ${rate} *
          greatest(0, extract(epoch from clock_timestamp() - bucket.counted_at)::double precision)),
        counted_at = clock_timestamp()
    where not ${redisHolds}
    returning in_bucket
  `.execute(db);
  return rows[0]?.in_bucket;
}

/**
 * Says that the rate is shared by Redis, where somebody has lately said so.
 * @returns milliseconds until Redis may hand out requests; `undefined` where nobody has, see `enterRedis`
 */
export async function stayWithRedis(
  db: Kysely<Database>,
  keyFingerprint: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ wait_ms: number }>`
    update gmsi.request_rate as bucket set redis_seen_at = clock_timestamp()
    where key_fingerprint = ${keyFingerprint} and ${redisHolds}
    returning greatest(0, extract(epoch from redis_begins_at - clock_timestamp()) * 1000)::double precision as wait_ms
  `.execute(db);
  return rows[0]?.wait_ms;
}

/**
 * Begins to share the rate by Redis. What Redis can hand out at once is taken from the bucket, so that it does not
 * come on top of what was sent just before.
 * @param burst requests that the bucket holds before they have to wait
 * @returns milliseconds until Redis may hand out requests; `undefined` where somebody else has begun meanwhile
 */
export function enterRedis(
  db: Kysely<Database>,
  keyFingerprint: string,
  taking: Taking,
  burst: number,
): Promise<number | undefined> {
  return db.transaction().execute(async (trx) => {
    const inBucket = await takeRequests(trx, keyFingerprint, taking);
    if (inBucket === undefined) return undefined;
    const waitMs = Math.max(0, ((inBucket - burst) / taking.rate) * 1000);
    await sql`
      update gmsi.request_rate
      set redis_seen_at = clock_timestamp(),
          redis_begins_at = clock_timestamp() + ${waitMs} * interval '1 millisecond'
      where key_fingerprint = ${keyFingerprint}
    `.execute(trx);
    return waitMs;
  });
}
