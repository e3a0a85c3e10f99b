import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import { arrayParameter } from '../arrays.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';
import {
  isOfJob,
  isRowOfSeries,
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

/** Stores records that could not be read, or not whole, once each. */
export async function keepRejected(
  db: Kysely<Database>,
  records: readonly RejectedRecord[],
  from: { series: Series; windowId: number | null; loadId: number },
): Promise<void> {
  if (records.length === 0) return;
  const { series, windowId, loadId } = from;
  const texts = records.map(({ is_row: _, ...texts }) => texts);
  await sql`
    insert into gmsi.rejected_records (${seriesColumns}, window_id, load_id, record_hash, reason, is_row, record)
    select ${seriesValues(series)}, ${windowId}::bigint, ${loadId}::bigint,
           unnest(${arrayParameter(texts, 'record_hash', 'uuid')}::uuid[]),
           unnest(${arrayParameter(texts, 'reason', 'text')}::text[]),
           unnest(${records.map(({ is_row }) => is_row)}::boolean[]),
           unnest(${arrayParameter(texts, 'record', 'jsonb')}::jsonb[])
    on conflict do nothing
  `.execute(db);
}

export interface Rejected extends Series {
  readonly record_hash: string;
  readonly record: unknown;
  readonly reason: string;
  readonly is_row: boolean;
  /** With its microseconds, which a Date would drop. */
  readonly rejected_at: string;
}

const order = sql`r.rejected_at, r.record_hash, ${seriesOf('r')}`;

/**
 * Returns the rejected records of a feed in the order in which they came.
 * @param scope only those of a job's series
 * @param after only those that came after this one
 */
export async function rejectedAfter(
  warehouse: Warehouse,
  feed: string,
  scope: WindowScope | undefined,
  after: Rejected | undefined,
  limit: number,
): Promise<Rejected[]> {
  const ofJob = scope ? sql`and ${isOfJob('r', scope)}` : sql.raw('');
  const onwards = after
    ? sql`and (${order}) > (${after.rejected_at}::timestamptz, ${after.record_hash}::uuid, ${seriesValues(after)})`
    : sql.raw('');
  const { rows } = await sql<Rejected>`
    select ${seriesOf('r')}, r.record_hash, r.record, r.reason, r.is_row, r.rejected_at::text
    from gmsi.rejected_records r where r.feed = ${feed} ${ofJob} ${onwards}
    order by ${order} limit ${limit}
  `.execute(warehouse);
  return rows;
}

/** Removes rejected records. @returns those that still existed */
export async function takeRejected<Taken extends Rejected>(
  trx: Transaction<Database>,
  records: readonly Taken[],
): Promise<Taken[]> {
  if (records.length === 0) return [];
  const { rows } = await sql<{ position: number }>`
    delete from gmsi.rejected_records r using ${sent(records)} where ${isSent} returning sent.position
  `.execute(trx);
  const taken = new Set(rows.map(({ position }) => position));
  return records.filter((_, index) => taken.has(index + 1));
}

/** Stores why records still cannot be read, or values of them. */
export async function renewReasons(trx: Transaction<Database>, records: readonly Rejected[]): Promise<void> {
  if (records.length === 0) return;
  await sql`
    update gmsi.rejected_records r set reason = sent.reason, is_row = sent.is_row from ${sent(records)} where ${isSent}
  `.execute(trx);
}

/**
 * Finds rows whose stored version is newer than their rejected record, which must not replace it. Versions from repairs do not
 * count, because repairs go by the age of the records.
 * @returns indices of `rows`
 */
export async function findSuperseded(
  db: Kysely<Database>,
  table: FeedTable,
  series: Series,
  rows: readonly { readonly row: Row; readonly rejected_at: string }[],
): Promise<Set<number>> {
  const found = rows.map(({ row }) => row);
  const keys = table.key.map(
    (column) => sql`${arrayParameter(found, column, table.columns[column]!)}::${type(table, column)}[]`,
  );
  const ofKey = table.key.map((column) => sql`kept.${sql.ref(column)} = sent.${sql.ref(column)}`);
  const names = [...table.key, 'rejected_at', 'position'].map((column) => sql.ref(column));
  const { rows: superseded } = await sql<{ position: number }>`
    select sent.position
    from unnest(${sql.join(keys)}, ${rows.map(({ rejected_at }) => rejected_at)}::timestamptz[])
      with ordinality as sent (${sql.join(names)})
    join ${sql.table(`gmsi.${table.name}`)} kept on ${sql.join([isRowOfSeries('kept', table, series), ...ofKey], sql` and `)}
    left join gmsi.loads l on l.load_id = kept.load_id
    where kept.changed_at > sent.rejected_at and l.command is distinct from 'repair'
  `.execute(db);
  return new Set(superseded.map(({ position }) => position - 1));
}

function type(table: FeedTable, column: string): RawBuilder<unknown> {
  return sql.raw(table.columns[column]!);
}

/** Rejected records as rows `sent`, with a `position` counted from 1. */
function sent(records: readonly Rejected[]): RawBuilder<unknown> {
  const column = (name: 'record_hash' | 'reason' | 'is_row') => records.map((record) => record[name]);
  return sql`unnest(${seriesArrays(records)}, ${column('record_hash')}::uuid[], ${column('reason')}::text[],
      ${column('is_row')}::boolean[])
    with ordinality as sent (${seriesColumns}, record_hash, reason, is_row, position)`;
}

const isSent = sql<boolean>`(${sameSeries('r', 'sent')} and r.record_hash = sent.record_hash)`;
