import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../tables/database.ts';
import { arrayParameter } from './array-parameter.ts';
import { seriesValues } from './upsert-rows.ts';
import { inSeries, type WindowScope } from './window-scope.ts';

/** A record that could not be read when it came. */
export interface Rejected extends Series {
  readonly hash: string;
  readonly record: unknown;
  readonly reason: string;
  /** With its microseconds, which a Date would drop. */
  readonly rejectedAt: string;
}

const order = sql.raw('r.rejected_at, r.record_hash, r.country, r.topic, r.ticker, r.match_type, r.variant');

/**
 * The rejected records of a feed in the order in which they came.
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
  const ofJob = scope ? sql`and ${inSeries(scope, 'r')} and r.match_type = ${scope.matchType}` : sql.raw('');
  const onwards = after
    ? sql`and (${order}) > (${after.rejectedAt}::timestamptz, ${after.hash}::uuid, ${after.country}, ${after.topic},
                            ${after.ticker}, ${after.matchType}, ${after.variant})`
    : sql.raw('');
  const { rows } = await sql<Rejected>`
    select r.country, r.topic, r.ticker, r.match_type as "matchType", r.variant, r.record_hash as hash, r.record,
           r.reason, r.rejected_at::text as "rejectedAt"
    from gmsi.rejected_records r where r.feed = ${feed} ${ofJob} ${onwards}
    order by ${order} limit ${limit}
  `.execute(warehouse);
  return rows;
}

/** Takes records out of the rejected ones. @returns those that were still there */
export async function takeRejected<Taken extends Rejected>(
  trx: Transaction<Database>,
  feed: string,
  records: readonly Taken[],
): Promise<Taken[]> {
  if (records.length === 0) return [];
  const { rows } = await sql<{ position: number }>`
    delete from gmsi.rejected_records r using ${sent(records)} as sent where ${isSent(feed)} returning sent.position
  `.execute(trx);
  const taken = new Set(rows.map(({ position }) => position));
  return records.filter((_, index) => taken.has(index + 1));
}

/** Writes down why records cannot be read now. */
export async function renewReasons(
  trx: Transaction<Database>,
  feed: string,
  records: readonly Rejected[],
): Promise<void> {
  if (records.length === 0) return;
  await sql`
    update gmsi.rejected_records r set reason = sent.reason from ${sent(records)} as sent where ${isSent(feed)}
  `.execute(trx);
}

/**
 * Which rows stand in the table in a version that a load brought after their record had been rejected: the record is
 * older, and must not replace it. Versions that replays wrote do not count, because those go by the records' age.
 * @returns indices of `rows`
 */
export async function findSuperseded(
  db: Kysely<Database>,
  table: FeedTable,
  series: Series,
  rows: readonly { readonly row: Row; readonly rejectedAt: string }[],
): Promise<Set<number>> {
  const found = rows.map(({ row }) => row);
  const keys = table.key.map(
    (column) => sql`${arrayParameter(found, column, table.columns[column]!)}::${type(table, column)}[]`,
  );
  const values = seriesValues(table, series);
  const ofSeries = Object.keys(table.series).map((column, i) => sql`kept.${sql.ref(column)} = ${values[i]}`);
  const ofKey = table.key.map((column) => sql`kept.${sql.ref(column)} = sent.${sql.ref(column)}`);
  const names = [...table.key, 'rejected_at', 'position'].map((column) => sql.ref(column));
  const { rows: superseded } = await sql<{ position: number }>`
    select sent.position
    from unnest(${sql.join(keys)}, ${rows.map(({ rejectedAt }) => rejectedAt)}::timestamptz[])
      with ordinality as sent (${sql.join(names)})
    join ${sql.table(`gmsi.${table.name}`)} kept on ${sql.join([...ofSeries, ...ofKey], sql` and `)}
    left join gmsi.loads l on l.load_id = kept.load_id
    where kept.changed_at > sent.rejected_at and l.command is distinct from 'replay'
  `.execute(db);
  return new Set(superseded.map(({ position }) => position - 1));
}

function type(table: FeedTable, column: string): RawBuilder<unknown> {
  return sql.raw(table.columns[column]!);
}

/** Rejected records as rows `(country, …, hash, reason, position)`, counted from 1. */
function sent(records: readonly Rejected[]): RawBuilder<unknown> {
  const texts = (['country', 'topic', 'ticker', 'matchType', 'variant', 'reason'] as const).map(
    (part) => sql`${records.map((record) => record[part])}::text[]`,
  );
  return sql`(select * from unnest(${sql.join(texts)}, ${records.map(({ hash }) => hash)}::uuid[])
    with ordinality as s (country, topic, ticker, match_type, variant, reason, record_hash, position))`;
}

function isSent(feed: string): RawBuilder<boolean> {
  return sql`(r.feed = ${feed} and r.country = sent.country and r.topic = sent.topic and r.ticker = sent.ticker
    and r.match_type = sent.match_type and r.variant = sent.variant and r.record_hash = sent.record_hash)`;
}
