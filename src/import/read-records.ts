import { isJsonObject } from '../feeds/reading/read-fields.ts';
import { asSent, fieldOf } from '../feeds/reading/sent-record.ts';
import { parseJson } from '../service/json.ts';
import { type Batch, longest, most, type PlacedRecord, type ReadOptions, tooLong } from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { linesOf } from './file-bytes.ts';

interface Mutable extends Batch {
  readonly records: unknown[];
  readonly at: number[];
  size: number;
}

/**
 * Yields a file's records in batches. Memory does not grow with the file.
 * @throws FileRefused with the line, if the file cannot be read any further
 */
export async function* readBatches(file: DataFile, reading: ReadOptions): AsyncGenerator<Batch, void> {
  if (file.bytes === 0) throw new FileRefused('is empty');
  const unit = file.format === 'ndjson' ? 'line' : 'record';
  let skip = reading.skip;
  let batch: Mutable = { unit, records: [], at: [], size: 0 };
  const columns = Object.entries(reading.columns);
  let refusal: FileRefused | undefined;
  try {
    // Piece by piece: awaiting each record would cost more than reading it.
    for await (const piece of await recordsOf(file, reading)) {
      for (const { record, at, size } of piece) {
        if (skip-- > 0) continue;
        batch.records.push(withColumns(record, columns));
        batch.at.push(at);
        batch.size += size;
        if (batch.records.length < most.records && batch.size < most.size) continue;
        yield batch;
        batch = { unit, records: [], at: [], size: 0 };
      }
    }
  } catch (error) {
    // The records before the error are still loaded.
    if (!(error instanceof FileRefused)) throw error;
    refusal = error;
  }
  if (batch.records.length > 0) yield batch;
  if (refusal) throw refusal;
}

/** Adds fields to a record that lacks them. */
function withColumns(record: unknown, columns: readonly (readonly [name: string, value: string])[]): unknown {
  const lacking = columns.filter(([name]) => (fieldOf(record, name) ?? null) === null);
  if (lacking.length === 0) return record;
  const object = asSent(record);
  return isJsonObject(object) ? Object.assign(object, Object.fromEntries(lacking)) : object;
}

async function recordsOf(
  file: DataFile,
  reading: ReadOptions,
): Promise<AsyncIterable<Iterable<PlacedRecord>>> {
  if (file.format === 'ndjson') return jsonRecords(file, reading);
  if (file.format === 'csv') return (await import('./read-csv.ts')).csvRecords(file, reading);
  return (await import('./read-parquet.ts')).parquetRecords(file, reading);
}

async function* jsonRecords(file: DataFile, reading: ReadOptions): AsyncGenerator<Iterable<PlacedRecord>> {
  let line = 1;
  let isEmpty = true;
  function* read(lines: string): Generator<PlacedRecord> {
    for (const json of lines.split('\n')) {
      if (json.length > longest) throw tooLong(line);
      if (json.trim() !== '') {
        isEmpty = false;
        const record = parseJson(json);
        if (record === undefined)
          throw new FileRefused('is not JSON; each line must be one record', { line });
        yield { record, at: line, size: json.length };
      }
      line++;
    }
  }
  for await (const [lines] of linesOf(file, reading, () => line)) yield read(lines.replace(/\n$/, ''));
  // The file is probably cut off, so its days must not count as covered.
  if (isEmpty) throw new FileRefused('is empty');
}
