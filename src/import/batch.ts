import { defaultServiceSettings } from '../config/service-schema.ts';
import type { DuckDB } from '../duckdb.ts';
import type { Feed } from '../feeds/feed.ts';
import { FileRefused } from './data-file.ts';

/** Records that are committed together, and the place of each in the file. */
export interface Batch {
  readonly records: readonly unknown[];
  /** What is counted: lines, or records of a table. */
  readonly unit: 'line' | 'record';
  readonly at: readonly number[];
}

/** As many records as a page has, or fewer if they are large: the batches in hand decide how much memory an import needs. */
export const most = { records: 1000, size: 4 * 1024 * 1024 };

/** The longest record, as of a page. */
export const longest = defaultServiceSettings.maxRecordBytes;

export interface ReadOptions {
  readonly feed: Feed;
  /** Given to each record that does not have them itself. */
  readonly columns: Readonly<Record<string, string>>;
  /** Records at the beginning that are loaded already. */
  readonly skip: number;
  /** Reads CSV and Parquet. */
  readonly duckdb: DuckDB | undefined;
  readonly onBytes: (bytes: number) => void;
  /** Fires when nothing more is to be read. */
  readonly stop: AbortSignal;
}

/**
 * Refuses a file without a record, unless the time of a record would be found in it. It may be cut off, or of something else, so
 * that its days must not count as covered.
 */
export function refuseEmpty({ table, fields }: Feed, columns: readonly string[]): void {
  const times = fields[table.key[0]]!;
  if (times.some((name) => columns.includes(name))) return;
  throw new FileRefused(`has no record, and no column that says a time (${times.join(', ')})`);
}

/** Its times say when this program's warehouse held a row, which cannot be given to another. */
export function refuseExport(columns: readonly string[]): void {
  if (!['is_backfilled', 'first_seen_at', 'load_id'].every((name) => columns.includes(name))) return;
  throw new FileRefused('is an export of a warehouse (gmsi export), and holds no records of the service');
}

/** A record with its place in the file, and its approximate size. */
export interface PlacedRecord {
  readonly record: unknown;
  /** Its line, or of a table its number, counted from 1. */
  readonly at: number;
  readonly size: number;
}
