import type { DuckDB } from '../duckdb.ts';
import type { Feed } from '../feeds/feed.ts';
import { type Fields, SentRecord } from '../feeds/reading/sent-record.ts';
import { FileRefused } from './data-file.ts';

/** Records that are committed together, with the place of each in the file. */
export interface Batch {
  readonly records: readonly unknown[];
  /** What `at` counts. */
  readonly unit: 'line' | 'record';
  readonly at: readonly number[];
}

/** A batch has as many records as a page, or fewer if they are large, to limit the memory of an import. */
export const most = { records: 1000, size: 4 * 1024 * 1024 };

/** The longest record, in bytes. */
export const longest = 1024 * 1024;

/** Far more than a record has. DuckDB keeps 2,048 records in memory, so the number must have a bound. */
const mostColumns = 1000;

export interface ReadOptions {
  readonly feed: Feed;
  /** Added to each record that lacks them. */
  readonly columns: Readonly<Record<string, string>>;
  /** Records at the beginning that are loaded already. */
  readonly skip: number;
  /** Reads Parquet. */
  readonly duckdb: DuckDB | undefined;
  readonly onBytes: (bytes: number) => void;
  /** Stops reading. */
  readonly stop: AbortSignal;
}

/**
 * Refuses a file without records if it has no time column. It may be cut off or contain something else, so its days must not
 * count as covered.
 */
export function refuseEmpty({ table, fields }: Feed, columns: readonly string[]): void {
  const times = fields[table.key[0]]!;
  if (times.some((name) => columns.includes(name))) return;
  throw new FileRefused(`has no records and no time column (${times.join(', ')})`);
}

/** Refuses an export: its times say when another warehouse stored a row, which means nothing here. */
function refuseExport(columns: readonly string[]): void {
  if (!['is_backfilled', 'first_seen_at', 'load_id'].every((name) => columns.includes(name))) return;
  throw new FileRefused('is an export of a warehouse (gmsi export), not a file of service records');
}

/** Refuses names of columns that no record can have. @param line of the header, if they are written in a line */
export function checkNames(names: readonly string[], line?: number): void {
  refuseExport(names);
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new FileRefused(`has the column "${twice}" twice`, { line });
  if (names.includes('__proto__')) throw new FileRefused('has a column "__proto__"', { line });
  if (names.length > mostColumns) throw new FileRefused(`has more than ${mostColumns} columns`, { line });
}

/**
 * Returns a function that turns the rows of a table into records. They also have the fields that every record gets, unless the table
 * has such a column, and none of a column without a name.
 */
export function tableRecords(
  header: readonly string[],
  { columns }: ReadOptions,
  jsonOf: Fields['jsonOf'],
): (values: readonly unknown[]) => SentRecord {
  const added = Object.entries(columns).filter(([name]) => !header.includes(name));
  const places = header.flatMap((name, at) => (name === '' ? [] : [at]));
  const fields: Fields = {
    names: [...places.map((at) => header[at]!), ...added.map(([name]) => name)],
    jsonOf: (value, at) => (at < places.length ? jsonOf(value, places[at]!) : value),
  };
  const more = added.map(([, value]) => value);
  const isAsItIs = places.length === header.length && more.length === 0;
  return (values) => new SentRecord(fields, isAsItIs ? values : [...places.map((at) => values[at]), ...more]);
}

export function tooLong(line: number): FileRefused {
  return new FileRefused(`a record is longer than ${longest} bytes`, { line });
}

/** A record with its place in the file and its approximate size. */
export interface PlacedRecord {
  readonly record: unknown;
  /** Its line, or its number in a table, counted from 1. */
  readonly at: number;
  readonly size: number;
}
