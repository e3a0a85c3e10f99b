import { type Kysely, sql } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database } from '../tables/database.ts';
import { arrayParameter } from './array-parameter.ts';

/** A record that could not be read. */
export type RejectedRecord = {
  readonly record_hash: string;
  readonly reason: string;
  /** The whole record, as JSON that PostgreSQL can hold. */
  readonly record: string;
};

/** Keeps records that could not be read, once each. */
export async function keepRejected(
  db: Kysely<Database>,
  records: readonly RejectedRecord[],
  from: { feed: string; series: Series; windowId: number | null; loadId: number },
): Promise<void> {
  if (records.length === 0) return;
  const { feed, series, windowId, loadId } = from;
  await sql`
    insert into gmsi.rejected_records
      (feed, country, topic, ticker, match_type, variant, window_id, load_id, record_hash, reason, record)
    select ${feed}, ${series.country}, ${series.topic}, ${series.ticker}, ${series.matchType}, ${series.variant},
           ${windowId}::bigint, ${loadId}::bigint,
           unnest(${arrayParameter(records, 'record_hash', 'uuid')}::uuid[]),
           unnest(${arrayParameter(records, 'reason', 'text')}::text[]),
           unnest(${arrayParameter(records, 'record', 'jsonb')}::jsonb[])
    on conflict do nothing
  `.execute(db);
}
