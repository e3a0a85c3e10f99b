import { pipeline, type Readable, Transform } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import { defaultServiceSettings } from '../../config/service-schema.ts';
import type { Feed } from '../../feeds/feed.ts';
import { parseBody } from '../../service/parse-body.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { csvSplitter } from './split-csv.ts';

/** Records that are committed together, and the line of each. */
export interface Batch {
  readonly records: readonly unknown[];
  readonly lines: readonly number[];
}

/** A record with the line on which it stands, and its approximate size. */
export interface PlacedRecord {
  readonly record: unknown;
  readonly line: number;
  readonly size: number;
}

/** As many records as a page has, or fewer if they are large: the batches in hand decide how much memory an import needs. */
const most = { records: 1000, size: 4 * 1024 * 1024 };

/** The longest record, as of a page. */
const longest = defaultServiceSettings.maxRecordBytes;

export interface Reading {
  readonly feed: Feed;
  /** Given to each record that does not have them itself. */
  readonly columns: Readonly<Record<string, string>>;
  /** Records at the beginning that are loaded already. */
  readonly skip: number;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads a file's records batch by batch, whatever its size in the same memory.
 * @throws FileRefused with the line, if it cannot be read any further
 */
export async function* readBatches(file: DataFile, reading: Reading): AsyncGenerator<Batch, void> {
  let skip = reading.skip;
  let batch = { records: [] as unknown[], lines: [] as number[], size: 0 };
  const columns = Object.entries(reading.columns);
  for await (const piece of recordsOf(file, reading)) {
    for (const { record, line, size } of piece) {
      if (skip-- > 0) continue;
      if (typeof record === 'object' && record !== null) {
        const fields = record as Record<string, unknown>;
        for (const [name, value] of columns) fields[name] ??= value;
      }
      batch.records.push(record);
      batch.lines.push(line);
      batch.size += size;
      if (batch.records.length < most.records && batch.size < most.size) continue;
      yield batch;
      batch = { records: [], lines: [], size: 0 };
    }
  }
  if (batch.records.length > 0) yield batch;
}

/** Piece by piece: to await each record by itself would cost more than to read it. */
async function* recordsOf(
  file: DataFile,
  { feed, onBytes }: Reading,
): AsyncGenerator<Iterable<PlacedRecord>> {
  if (file.bytes === 0) throw new FileRefused('is empty');
  if (file.format !== 'parquet') {
    yield* file.format === 'csv' ? csvRecords(file, feed, onBytes) : jsonRecords(file, onBytes);
    return;
  }
  const { parquetRecords } = await import('./read-parquet.ts');
  yield* parquetRecords(file);
  onBytes(file.bytes);
}

async function* csvRecords(
  file: DataFile,
  feed: Feed,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Iterable<PlacedRecord>> {
  const splitter = csvSplitter(longest);
  let header: { readonly line: string; readonly columns: readonly Column[] } | undefined;
  function* read(text: string, isEnd: boolean): Generator<PlacedRecord> {
    for (const { cells, line } of splitter.push(text, isEnd)) {
      if (header === undefined) {
        header = { line: cells.join('\n'), columns: columnsOf(cells, feed) };
        continue;
      }
      const { columns } = header;
      // Files that were put together have it more than once.
      if (cells[0] === columns[0]!.name && cells.join('\n') === header.line) continue;
      if (cells.length !== columns.length)
        throw new FileRefused(
          `has another number of cells (${cells.length}) than its header (${columns.length})`,
          { line },
        );
      const record: Record<string, unknown> = {};
      let size = 0;
      for (let at = 0; at < columns.length; at++) {
        const { name, isText } = columns[at]!;
        const cell = cells[at]!;
        size += cell.length;
        if (name !== '') record[name] = cell === '' ? null : isText ? cell : readCell(cell);
      }
      yield { record, line, size };
    }
  }
  for await (const [text, isEnd] of textOf(file, onBytes, () => splitter.line)) yield read(text, isEnd);
  if (header === undefined) throw new FileRefused('is empty, without even a header');
}

interface Column {
  readonly name: string;
  /** True if a page has a text there, whatever it looks like. */
  readonly isText: boolean;
}

function columnsOf(header: readonly string[], feed: Feed): Column[] {
  const twice = header.find((name, at) => name !== '' && header.indexOf(name) !== at);
  if (twice !== undefined) throw new FileRefused(`has the column "${twice}" twice`, { line: 1 });
  // Assigned to a record, it would not become one of its fields.
  if (header.includes('__proto__')) throw new FileRefused('has a column "__proto__"', { line: 1 });
  refuseExport(header);
  const texts = new Set(
    Object.entries(feed.fields).flatMap(([column, names]) =>
      feed.table.columns[column] === 'double precision' ? [] : names,
    ),
  );
  return header.map((name) => ({ name, isText: texts.has(name) }));
}

/** Its times say when this program's warehouse held a row, which cannot be given to another. */
export function refuseExport(columns: readonly string[]): void {
  if (!['is_backfilled', 'first_seen_at', 'load_id'].every((name) => columns.includes(name))) return;
  throw new FileRefused('is an export of a warehouse (gmsi export), and holds no records of the service');
}

/**
 * What JSON would have instead of the cell, so that the same record of a page is the same row: a number, a list or an object,
 * if the cell is one and can be written no other way; else its text.
 */
function readCell(cell: string): unknown {
  const first = cell.charCodeAt(0);
  if ((first >= 0x30 && first <= 0x39) || first === 0x2d) {
    const number = Number(cell);
    return String(number) === cell ? number : cell;
  }
  if (cell === 'true' || cell === 'false') return cell === 'true';
  if (first !== 0x5b && first !== 0x7b) return cell;
  try {
    return parseBody(cell);
  } catch {
    return cell;
  }
}

async function* jsonRecords(
  file: DataFile,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Iterable<PlacedRecord>> {
  let rest = '';
  let line = 1;
  let isEmpty = true;
  function* read(text: string, isEnd: boolean): Generator<PlacedRecord> {
    const lines = (rest + text).split('\n');
    rest = isEnd ? '' : lines.pop()!;
    for (const json of lines) {
      if (json.length > longest) throw tooLong(line);
      if (json.trim() !== '') {
        isEmpty = false;
        yield { record: parsed(json, line), line, size: json.length };
      }
      line++;
    }
    if (rest.length > longest) throw tooLong(line);
  }
  for await (const [text, isEnd] of textOf(file, onBytes, () => line)) yield read(text, isEnd);
  // More likely cut off than without news, so its days must not count as covered.
  if (isEmpty) throw new FileRefused('is empty');
}

const tooLong = (line: number) => new FileRefused(`a record is longer than ${longest} characters`, { line });

function parsed(json: string, line: number): unknown {
  try {
    return parseBody(json);
  } catch (cause) {
    throw new FileRefused('is not JSON; each line is to hold one record', { line, cause });
  }
}

/** A file's text, piece by piece, the last one marked. @throws FileRefused with the line on which it is broken */
async function* textOf(
  file: DataFile,
  onBytes: (bytes: number) => void,
  line: () => number,
): AsyncGenerator<readonly [text: string, isEnd: boolean]> {
  // Also takes away a byte-order mark.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    const stored = await file.open();
    const steps = [
      stored,
      checking(file, onBytes),
      ...(file.isGzipped ? [createGunzip({ chunkSize: 256 * 1024 })] : []),
    ];
    // Its error is thrown by the last step.
    const bytes = pipeline(steps, () => {}) as unknown as Readable;
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      let text: string;
      try {
        text = decoder.decode(chunk, { stream: true });
      } catch (cause) {
        // Up to the line that is broken, so that this is the line which is named.
        const lossy = chunk.toString('utf8');
        yield [lossy.slice(0, lossy.lastIndexOf('\n', lossy.indexOf('\ufffd')) + 1), false];
        throw new FileRefused('is not UTF-8', { line: line(), cause });
      }
      yield [text, false];
    }
    yield [decoder.decode(), true];
  } catch (cause) {
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be read: ${(cause as Error).message}`, { line: line(), cause });
  }
}

/** Counts the bytes that come from the disk, and compares their checksum at the end. */
export function checking(file: DataFile, onBytes: (bytes: number) => void): Transform {
  let sum = 0;
  return new Transform({
    highWaterMark: 256 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length);
      if (file.crc32 !== undefined) sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush(done) {
      const isRight = file.crc32 === undefined || sum === file.crc32;
      done(isRight ? null : new Error('its checksum (CRC-32) is wrong'));
    },
  });
}
