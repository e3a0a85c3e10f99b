import { createHash } from 'node:crypto';
import type { FeedTable, ReadResult, RecordReader } from '../feeds/feed.ts';
import { holdableJson } from '../feeds/reading/holdable-json.ts';
import type { Records } from '../service/page.ts';
import { RecordsAsJson, RecordTooLarge } from '../service/parse-page.ts';
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
 * Turns a page's records into rows; a record that cannot be read is rejected with its reason. Of one that is too large, only its
 * hash, size and beginning are kept. The records cannot be read again: their memory is given back.
 */
export function readPage(records: Records, reader: RecordReader, table: FeedTable): ReadPage {
  const { rows } = reader;
  const rejected = new Map<string, RejectedRecord>();
  let rejectedCount = 0;
  const take = (record: unknown) => {
    const { row, rejected: reason } =
      record instanceof RecordTooLarge ? tooLarge(record) : reader.read(record);
    if (row) {
      rows.add(row);
    } else {
      const json = holdableJson(record);
      const record_hash = createHash('md5').update(json).digest('hex');
      rejectedCount++;
      rejected.set(record_hash, { record_hash, reason, record: json });
    }
  };
  if (records instanceof RecordsAsJson) {
    rows.begin(records.length, records.content);
    for (let index = 0; index < records.length; index++) {
      const isScanned = !records.isTooLarge(index) && reader.scan(records, index);
      if (!isScanned) take(records.at(index));
    }
  } else {
    rows.begin(records.length);
    for (const record of records) take(record);
  }
  const sorted = sortedRows(table, rows);
  rows.clear();
  if (records instanceof RecordsAsJson) records.forget();
  return { rows: sorted, rejected: [...rejected.values()], rejectedCount };
}

function tooLarge({ bytes, values }: RecordTooLarge): ReadResult {
  return {
    rejected: `larger than a record may be (service.max_record_bytes): ${bytes} bytes of JSON with ${values} values`,
  };
}
