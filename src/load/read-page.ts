import { createHash } from 'node:crypto';
import type { FeedTable, ReadResult, RecordReader } from '../feeds/feed.ts';
import { holdableJson } from '../feeds/reading/holdable-json.ts';
import type { Records } from '../service/page.ts';
import { RecordsAsJson, RecordTooLarge } from '../service/parse-page.ts';
import { type SortedRows, sortedRows } from '../warehouse/arrays.ts';
import type { RejectedRecord } from '../warehouse/tables/rejected-records.ts';

export interface ReadPage {
  readonly rows: SortedRows;
  readonly rejected: readonly RejectedRecord[];
  /** The times, in microseconds since 1970, of records that are not of the times asked for and so are not among the rows. */
  readonly outside: readonly number[];
}

/** From one time to before another, in microseconds since 1970. */
export interface Times {
  readonly from: number;
  readonly before: number;
}

/**
 * Turns a page's records into rows; a record that cannot be read is rejected with its reason. Of one that is too large, only its
 * hash, size and beginning are kept. The records cannot be read again: their memory is given back.
 * @param asked the times that were asked for; records of others are counted and dropped
 */
export function readPage(
  records: Records,
  reader: RecordReader,
  table: FeedTable,
  asked: Times = { from: Number.NEGATIVE_INFINITY, before: Number.POSITIVE_INFINITY },
): ReadPage {
  const { rows } = reader;
  const timePlace = rows.placeOf(table.key[0]);
  const outside: number[] = [];
  const dropIfOutside = () => {
    const time = rows.numberAt(rows.length - 1, timePlace);
    if (time >= asked.from && time < asked.before) return;
    rows.length--;
    outside.push(time);
  };
  const rejected = new Map<string, RejectedRecord>();
  const take = (record: unknown) => {
    const { row, rejected: reason } =
      record instanceof RecordTooLarge ? tooLarge(record) : reader.read(record);
    if (row) {
      rows.add(row);
      dropIfOutside();
    } else {
      const json = holdableJson(record);
      const record_hash = createHash('md5').update(json).digest('hex');
      rejected.set(record_hash, { record_hash, reason, record: json });
    }
  };
  if (records instanceof RecordsAsJson) {
    rows.begin(records.length, records.content);
    for (let index = 0; index < records.length; index++) {
      const isScanned = !records.isTooLarge(index) && reader.scan(records, index);
      if (isScanned) dropIfOutside();
      else take(records.at(index));
    }
  } else {
    rows.begin(records.length);
    for (const record of records) take(record);
  }
  const sorted = sortedRows(table, rows);
  rows.clear();
  if (records instanceof RecordsAsJson) records.forget();
  return { rows: sorted, rejected: [...rejected.values()], outside };
}

function tooLarge({ bytes, values }: RecordTooLarge): ReadResult {
  return {
    rejected: `larger than a record may be (service.max_record_bytes): ${bytes} bytes of JSON with ${values} values`,
  };
}
