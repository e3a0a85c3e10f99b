import type { Row } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { type SortedRows, sortedRows } from '../../src/warehouse/arrays.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { ensurePartitions, type Upserted, upsertRows } from '../../src/warehouse/tables/rows.ts';
import { writeTransaction } from '../../src/warehouse/write-transaction.ts';

export const series = {
  feed: 'gmsi-headlines',
  country: 'US',
  topic: 'Inflation-Food',
  ticker: '',
  match_type: 'COMBINED',
  variant: '',
};

/** A row of gmsi.headlines with nothing in it but what every row has. */
export function aRow(values: Row = {}): Row {
  const nothing = Object.fromEntries(
    Object.keys(gmsiHeadlines.table.columns).map((column) => [column, null]),
  );
  return { ...nothing, headline_id: idOf(1), published_at: '2026-09-01T12:00:00Z', ...values };
}

export function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** Rows as a page's are once they are read. */
export function sorted(rows: readonly Row[]): SortedRows {
  return sortedRows(gmsiHeadlines.table, rows);
}

/** When rows were asked for, and came: if nobody watches and nothing is loaded, before all of their days or after them. */
export const cameOn = (isBackfilled: boolean) => ({
  askedAt: new Date().toISOString(),
  hereOn: isBackfilled ? 'infinity' : '-infinity',
});

/** Writes rows as the commit of a page does. */
export async function upsert(
  db: Warehouse,
  rows: readonly Row[],
  {
    topic = series.topic,
    loadId = 1,
    isBackfilled = true,
    areLikelyNew = false,
    windowId = null as number | null,
    cameAt = cameOn(isBackfilled),
  } = {},
): Promise<Upserted> {
  const ready = sorted(rows);
  await ensurePartitions(db, gmsiHeadlines.table, ready.times, new Set());
  const provenance = { series: { ...series, topic }, loadId, windowId, ...cameAt };
  return writeTransaction(db, (trx) => upsertRows(trx, gmsiHeadlines.table, ready, provenance, areLikelyNew));
}
