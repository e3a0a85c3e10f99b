import { type Kysely, sql, type Transaction } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import { arrayParameter } from '../arrays.ts';
import type { Database } from '../database.ts';
import {
  isOfJob,
  isRowOfSame,
  sameSeries,
  seriesArrays,
  seriesColumns,
  seriesOf,
  seriesValues,
  type WindowScope,
} from './series.ts';

/** A record that could not be read, or values of it. */
export type RejectedRecord = {
  readonly record_hash: string;
  readonly reason: string;
  /** True if the record is a row, and only values of it could not be read. */
  readonly is_row: boolean;
  /** The whole record, as JSON that PostgreSQL can store. */
  readonly record: string;
};

/** Stores records that could not be read, or not whole, once each, with the reason as of now. */
export async function keepRejected(
  db: Kysely<Database>,
  records: readonly RejectedRecord[],
  from: { series: Series; windowId: number | null; loadId: number; askedAt: string },
): Promise<void> {
  if (records.length === 0) return;
  const { series, windowId, loadId, askedAt } = from;
  await sql`
    insert into gmsi.rejected_records as kept (${seriesColumns}, window_id, load_id, asked_at, record_hash, reason, is_row, record)
    select ${seriesValues(series)}, ${windowId}::bigint, ${loadId}::bigint, ${askedAt}::timestamptz,
           unnest(${arrayParameter(
             records.map(({ record_hash }) => record_hash),
             'uuid',
           )}::uuid[]),
           unnest(${arrayParameter(
             records.map(({ reason }) => reason),
             'text',
           )}::text[]),
           unnest(${records.map(({ is_row }) => is_row)}::boolean[]),
           unnest(${arrayParameter(
             records.map(({ record }) => record),
             'jsonb',
           )}::jsonb[])
    on conflict (${seriesColumns}, record_hash) do update
      set reason = excluded.reason, is_row = kept.is_row or excluded.is_row, asked_at = greatest(kept.asked_at, excluded.asked_at)
      where (kept.reason, kept.is_row) is distinct from (excluded.reason, kept.is_row or excluded.is_row)
        or excluded.asked_at > kept.asked_at
  `.execute(db);
}

export interface Rejected extends Series {
  readonly record_hash: string;
  readonly record: unknown;
  readonly reason: string;
  readonly is_row: boolean;
  /** With its microseconds, which a Date would drop. */
  readonly asked_at: string;
}

const order = sql`r.asked_at, r.record_hash, ${seriesOf('r')}`;

/**
 * Returns the rejected records of a feed in the order in which the service told them.
 * @param scope only those of a job's series
 * @param after only those that came after this one
 * @param db in a transaction, locks them
 */
export async function rejectedAfter(
  db: Kysely<Database>,
  feed: string,
  scope: WindowScope | undefined,
  after: Rejected | undefined,
  limit: number,
): Promise<Rejected[]> {
  const ofJob = scope ? sql`and ${isOfJob('r', scope)}` : sql.raw('');
  const onwards = after
    ? sql`and (${order}) > (${after.asked_at}::timestamptz, ${after.record_hash}::uuid, ${seriesValues(after)})`
    : sql.raw('');
  const { rows } = await sql<Rejected>`
    select ${seriesOf('r')}, r.record_hash, r.record, r.reason, r.is_row, r.asked_at::text
    from gmsi.rejected_records r where r.feed = ${feed} ${ofJob} ${onwards}
    order by ${order} limit ${limit} ${db.isTransaction ? sql`for update` : sql``}
  `.execute(db);
  return rows;
}

/** Removes rejected records. */
export async function forgetRejected(
  trx: Transaction<Database>,
  records: readonly Rejected[],
): Promise<void> {
  if (records.length === 0) return;
  await sql`
    delete from gmsi.rejected_records r
    using unnest(${seriesArrays(records)}, ${records.map(({ record_hash }) => record_hash)}::uuid[])
      as sent (${seriesColumns}, record_hash)
    where ${sameSeries('r', 'sent')} and r.record_hash = sent.record_hash
  `.execute(trx);
}

/**
 * Finds records that are rows now, but whose row is stored in a version of a later state of the service, or was confirmed by a
 * later reading: it must not be replaced.
 */
export async function findSuperseded<Found extends Rejected & { readonly row: Row | undefined }>(
  db: Kysely<Database>,
  table: FeedTable,
  all: readonly Found[],
): Promise<Set<Found>> {
  const records = all.filter(({ row }) => row !== undefined);
  const keys = table.key.map((column) => {
    const type = table.columns[column]!;
    return sql`${arrayParameter(
      records.map(({ row }) => row![column]!),
      type,
    )}::${sql.raw(type)}[]`;
  });
  const names = sql.join([...table.key, 'asked_at', 'position'].map((column) => sql.ref(column)));
  const isOfKey = table.key.map((column) => sql`kept.${sql.ref(column)} = sent.${sql.ref(column)}`);
  const { rows: superseded } = await sql<{ position: number }>`
    select sent.position
    from unnest(${seriesArrays(records)}, ${sql.join(keys)}, ${records.map(({ asked_at }) => asked_at)}::timestamptz[])
      with ordinality as sent (${seriesColumns}, ${names})
    join ${sql.table(`gmsi.${table.name}`)} kept
      on ${sql.join([isRowOfSame('kept', table, 'sent'), ...isOfKey], sql` and `)}
    where kept.asked_at > sent.asked_at or exists (
      select from gmsi.readings r join gmsi.series s using (series_id)
      where ${sameSeries('s', 'sent')} and r.is_whole and r.asked_at > sent.asked_at
        and (kept.${sql.ref(table.key[0])} at time zone 'UTC')::date between r.first_day and r.last_day)
  `.execute(db);
  return new Set(superseded.map(({ position }) => records[position - 1]!));
}
