import { type Kysely, sql } from 'kysely';
import type { Database, Day } from '../database.ts';

/** Requests booked for a key in a month (its first day), by every process that uses this warehouse. */
export async function usedRequests(db: Kysely<Database>, key: string, month: Day): Promise<number> {
  const { rows } = await sql<{ requests: number }>`
    select requests from gmsi.api_usage where key_fingerprint = ${key} and month = ${month}`.execute(db);
  return rows[0]?.requests ?? 0;
}

/** Cancels the booking of a request that was not sent. The count may have been set or merged since; it is never below zero. */
export async function cancelRequest(db: Kysely<Database>, key: string, month: Day): Promise<void> {
  await sql`
    update gmsi.api_usage set requests = greatest(0, requests - 1), updated_at = now()
    where key_fingerprint = ${key} and month = ${month}`.execute(db);
}

/** Returns the keys that have sent requests, also those whose count was merged into another's. */
export async function knownKeys(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key_fingerprint as key from gmsi.api_usage union select key_fingerprint from gmsi.request_rate
    order by key`.execute(db);
  return rows.map(({ key }) => key);
}

/** Sets the requests booked for a key in a month. Execute it once: repeated, it would undo what was booked in between. */
export async function setRequests(
  db: Kysely<Database>,
  key: string,
  month: Day,
  requests: number,
): Promise<void> {
  await sql`
    insert into gmsi.api_usage (key_fingerprint, month, requests) values (${key}, ${month}::date, ${requests})
    on conflict (key_fingerprint, month) do update set requests = excluded.requests, updated_at = now()`.execute(
    db,
  );
}

/**
 * Adds all that is booked for one key to another key, month by month. A process that still uses the first key books in a row
 * of its own again, so no request is lost; merge once more after it has ended. A repetition adds nothing.
 */
export async function mergeRequests(db: Kysely<Database>, from: string, into: string): Promise<void> {
  await sql`
    with taken as (
      delete from gmsi.api_usage where key_fingerprint = ${from} returning month, requests
    ), remembered as (
      -- It stays known, so that another merge of it is not taken for a mistake.
      insert into gmsi.request_rate (key_fingerprint, in_bucket, counted_at)
      select ${from}, 0, clock_timestamp() from taken limit 1
      on conflict do nothing
    )
    insert into gmsi.api_usage as usage (key_fingerprint, month, requests)
    select ${into}, month, requests from taken
    on conflict (key_fingerprint, month) do update
    set requests = usage.requests + excluded.requests, updated_at = now()`.execute(db);
}

/** A request to be sent with a key. */
export interface RequestToTake {
  /** As `countedAs` names it. */
  readonly key: string;
  /** The month in which it is booked, as its first day. */
  readonly month: Day;
  /** The most requests of the month. */
  readonly budget: number;
  /** Requests a second at which the key's bucket leaks; `Infinity` if the request is only booked. */
  readonly rate: number;
}

/**
 * Books a request in its month, and puts it into the key's bucket, whether it may be sent at once or must wait. The time is the
 * database's, read under the row's lock. A clock that is set back leaks nothing, so it can only slow down.
 * @returns the requests in the bucket, this one included; 0 if the rate is unlimited; `undefined`, having changed nothing, if the
 * budget is used up
 */
export async function takeRequest(
  db: Kysely<Database>,
  { key, month, budget, rate }: RequestToTake,
): Promise<number | undefined> {
  const isLimited = Number.isFinite(rate);
  const { rows } = await sql<{ in_bucket: number | null }>`
    with booked as (
      insert into gmsi.api_usage as usage (key_fingerprint, month, requests)
      select ${key}, ${month}::date, 1 where ${budget}::bigint >= 1
      on conflict (key_fingerprint, month) do update set requests = usage.requests + 1, updated_at = now()
      where usage.requests < ${budget}::bigint
      returning requests
    ), taken as (
      insert into gmsi.request_rate as bucket (key_fingerprint, in_bucket, counted_at)
      select ${key}, 1, clock_timestamp() from booked where ${isLimited}
      on conflict (key_fingerprint) do update
      set in_bucket = 1 + greatest(0, bucket.in_bucket - ${isLimited ? rate : 0} *
            greatest(0, extract(epoch from clock_timestamp() - bucket.counted_at)::double precision)),
          counted_at = clock_timestamp()
      returning in_bucket
    )
    select in_bucket from booked left join taken on true
  `.execute(db);
  return rows[0] && (rows[0].in_bucket ?? 0);
}
