import { sql } from 'kysely';
import type { FeedTable, Row } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import { writeTransaction } from '../write-transaction.ts';

/** Partitions known to exist, so that a load asks for each of them once. */
export type KnownPartitions = Set<string>;

/**
 * Makes the month partitions that rows will fall into, in transactions of their own before the page's: making one
 * inside the page's transaction would hold its lock until the commit.
 */
export async function ensurePartitions(
  warehouse: Warehouse,
  table: FeedTable,
  rows: readonly Row[],
  known: KnownPartitions,
): Promise<void> {
  const { partitionedBy } = table;
  if (partitionedBy === null) return;
  const months = new Set(rows.map((row) => (row[partitionedBy] as string).slice(0, 7)));
  for (const month of months) {
    if (known.has(`${table.name} ${month}`)) continue;
    await writeTransaction(warehouse, (trx) =>
      sql`select gmsi.ensure_month_partition(${table.name}, ${`${month}-01`}::date)`.execute(trx),
    );
    known.add(`${table.name} ${month}`);
  }
}
