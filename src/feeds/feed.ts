/** One thing that a feed is asked for over time; coverage, windows and cursors are kept per series. */
export interface Series {
  readonly country: string;
  readonly topic: string;
  readonly matchType: string;
}

/** The PostgreSQL types that a feed's columns may have. */
export type ColumnType = 'text' | 'uuid' | 'timestamptz' | 'double precision' | 'jsonb';

/** A table that a feed fills, as far as the loader has to know it. */
export interface FeedTable {
  /** Name within the schema `gmsi`. */
  readonly name: string;
  /** The columns that a record is read into, in the order in which they are sent. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Columns of `columns` that, together with the series, identify a row; sorted by in every write. */
  readonly key: readonly string[];
  /** The column of `key` by whose month the table is partitioned. */
  readonly partitionedBy: string;
}

/** One row as read from a record: a value for each of the table's columns, `null` where the record has none. */
export type Row = Record<string, string | number | null>;

/** Wire names under which a column's value is looked for, best first; `a.b` reaches into a nested object. */
export type FieldAliases = Readonly<Record<string, readonly string[]>>;

/** What became of one record. A rejected one is kept, with its reason, in `rejected_records`. */
export type ReadResult =
  | { readonly row: Row; readonly rejected?: undefined }
  | { readonly row?: undefined; readonly rejected: string };

/** Turns records of one feed into rows; one reader serves one load, so that it can tell which fields it has met. */
export interface RecordReader {
  read(record: unknown): ReadResult;
  /** Every top-level wire name met so far, with whether a column is filled from it. */
  readonly fieldsSeen: ReadonlyMap<string, 'column' | 'extra'>;
}

/** The names of the query parameters; all but `next_token` and `limit` are only likely, so a job can rename them. */
export interface ParameterNames {
  readonly topic: string;
  readonly matchType: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly limit: string;
  readonly nextToken: string;
}

/** One feed of the service: where it is, how it is asked, how its records are read, which table it fills. */
export interface Feed {
  /** As in a job file's `feed`. */
  readonly name: string;
  /** The path below `/v1` for a series, each segment URL-encoded. */
  readonly path: (series: Series) => string;
  readonly parameters: ParameterNames;
  readonly table: FeedTable;
  readonly fields: FieldAliases;
  /** `overrides` come from a job file and are tried before the feed's own aliases. */
  readonly reader: (overrides?: FieldAliases) => RecordReader;
}
