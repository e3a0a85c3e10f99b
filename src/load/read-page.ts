import { createHash } from 'node:crypto';
import type { FeedTable, ReadResult, RecordReader, Row } from '../feeds/feed.ts';
import { holdableJson } from '../feeds/reading/holdable-json.ts';
import { RecordTooLarge } from '../service/record-too-large.ts';
import { type SortedRows, sortedRows } from '../warehouse/arrays.ts';
import type { RejectedRecord } from '../warehouse/tables/rejected-records.ts';

export interface ReadPage {
  readonly rows: SortedRows;
  /** Equal ones once. */
  readonly rejected: readonly RejectedRecord[];
  /** How many records were rejected, equal ones included. */
  readonly rejectedCount: number;
}

/**
 * Turns a page's records into rows; a record that cannot be read is rejected with its reason. Of one that is too large, only
 * its hash, size and beginning are kept.
 */
export function readPage(records: readonly unknown[], reader: RecordReader, table: FeedTable): ReadPage {
  const rows: Row[] = [];
  const rejected = new Map<string, RejectedRecord>();
  let rejectedCount = 0;
  for (const record of records) {
    const { row, rejected: reason } =
      record instanceof RecordTooLarge ? tooLarge(record) : reader.read(record);
    if (row) {
      rows.push(row);
    } else {
      const json = holdableJson(record);
      const record_hash = createHash('md5').update(json).digest('hex');
      rejectedCount++;
      rejected.set(record_hash, { record_hash, reason, record: json });
    }
  }
  return { rows: sortedRows(table, rows), rejected: [...rejected.values()], rejectedCount };
}

function tooLarge({ bytes }: RecordTooLarge): ReadResult {
  return { rejected: `larger than a record may be (service.max_record_bytes): ${bytes} bytes of JSON` };
}
