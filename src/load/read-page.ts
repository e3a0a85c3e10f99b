import { createHash } from 'node:crypto';
import type { FeedTable, RecordReader, Row, Series } from '../feeds/feed.ts';
import type { OtherSeries } from '../feeds/reading/other-series.ts';
import { microsecondsOf } from '../feeds/reading/read-time.ts';
import { asSent } from '../feeds/reading/sent-record.ts';
import { storableJson } from '../feeds/reading/storable-json.ts';
import { sortedRows } from '../warehouse/arrays.ts';
import type { ReadRecords } from '../warehouse/commit.ts';
import type { RejectedRecord } from '../warehouse/tables/rejected-records.ts';

/** A page, a live answer or a batch of a file, as read. */
export type ReadPage = Omit<ReadRecords, 'series'>;

/** Microseconds since 1970. */
export interface Times {
  readonly from: number;
  readonly before: number;
}

/** How records are read, and of which series they must be. */
interface Reading {
  readonly reader: RecordReader;
  readonly table: FeedTable;
  readonly series: Series;
  readonly otherSeries: OtherSeries;
}

/**
 * Turns a page's records into rows. Rejects a record that cannot be read or that names another series, and values that cannot be
 * read, with the reason.
 * @param requested records of other times are counted and dropped
 */
export function readPage(
  records: readonly unknown[],
  { reader, table, series, otherSeries }: Reading,
  requested: Times = { from: Number.NEGATIVE_INFINITY, before: Number.POSITIVE_INFINITY },
): ReadPage {
  const [timeColumn] = table.key;
  const rows: Row[] = [];
  const outside: number[] = [];
  const rejected = new Map<string, RejectedRecord>();
  let rejectedCount = 0;
  for (const record of records) {
    const other = otherSeries(record, series);
    const { row, rejected: reason } = other === undefined ? reader.read(record) : { rejected: other };
    if (row) {
      const time = microsecondsOf(row[timeColumn] as string);
      if (time < requested.from || time >= requested.before) {
        outside.push(time);
        continue;
      }
      rows.push(row);
    } else rejectedCount++;
    if (reason !== undefined) {
      const json = storableJson(asSent(record));
      const record_hash = createHash('md5').update(json).digest('hex');
      rejected.set(record_hash, { record_hash, reason, is_row: row !== undefined, record: json });
    }
  }
  return {
    records: records.length,
    rows: sortedRows(table, rows),
    rejected: [...rejected.values()],
    rejectedCount,
    outside,
  };
}
