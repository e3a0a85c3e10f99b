import { createHash } from 'node:crypto';
import type { FeedTable, ReadResult, RecordReader, Row } from '../feeds/feed.ts';
import { holdableJson } from '../feeds/reading/holdable-json.ts';
import { RecordTooLarge } from '../service/record-too-large.ts';
import { type SortedRows, sortedRows } from '../warehouse/arrays.ts';
import type { RejectedRecord } from '../warehouse/tables/rejected-records.ts';

export interface ReadPage {
  readonly rows: SortedRows;
  readonly rejected: readonly RejectedRecord[];
}

/**
 * Turns a page's records into rows; a record that cannot be read is rejected with its reason. Of one that is too large, only
 * its hash, size and beginning are kept.
 */
export function readPage(records: readonly unknown[], reader: RecordReader, table: FeedTable): ReadPage {
  const rows: Row[] = [];
  const rejected = new Map<string, RejectedRecord>();
  for (const record of records) {
    const { row, rejected: reason } =
      record instanceof RecordTooLarge ? tooLarge(record) : reader.read(record);
    if (row) {
      rows.push(row);
    } else {
      const json = holdableJson(record);
      const record_hash = createHash('md5').update(json).digest('hex');
      rejected.set(record_hash, { record_hash, reason, record: json });
    }
  }
  return { rows: sortedRows(table, rows), rejected: [...rejected.values()] };
}

function tooLarge({ bytes }: RecordTooLarge): ReadResult {
  return { rejected: `larger than a record may be (service.max_record_bytes): ${bytes} bytes of JSON` };
}
