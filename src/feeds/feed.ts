/**
 * What a feed is asked for over time. Coverage, windows and cursors are kept per series. A dimension that the feed does not
 * have is empty. Named as in the warehouse, whose rows hold one.
 */
export interface Series {
  readonly feed: string;
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly match_type: string;
  /** Further parameters that make it a series of its own, as `name=value&name=value` in the order of their names. */
  readonly variant: string;
}

/** What a job can select series by, each with a lookup that lists the values. */
export type Dimension = 'country' | 'topic' | 'ticker';

/** The PostgreSQL types that a feed's columns may have. */
export type ColumnType = 'text' | 'uuid' | 'timestamptz' | 'double precision' | 'jsonb';

/** What the loader needs to know about a table that a feed fills. */
export interface FeedTable {
  /** Name within the schema `gmsi`. */
  readonly name: string;
  /** The columns that a record is read into, in the order in which they are sent. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns of `columns` that, together with the series, identify a row: its time and its id. */
  readonly key: readonly [time: string, id: string];
  /** The columns that say which series a row belongs to, all part of its key; a `parameter` is one from the variant. */
  readonly series: Readonly<Record<string, keyof Series | { readonly parameter: string }>>;
  /** Whether it is partitioned by the month of its key's time. */
  readonly isPartitioned: boolean;
}

/** One row as read from a record: a value for each of the table's columns, `null` if the record has none. */
export type Row = Record<string, string | number | null>;

/** Wire names under which a column's value is looked for, best first; `a.b` reaches into a nested object. */
export type FieldAliases = Readonly<Record<string, readonly string[]>>;

/** The result of reading one record. A rejected one is kept, with its reason, in `rejected_records`. */
export type ReadResult =
  | { readonly row: Row; readonly rejected?: undefined }
  | { readonly row?: undefined; readonly rejected: string };

/** The result of reading a row's `extra` again; a row whose identity would change is left alone. */
export type RefillResult =
  | { readonly outcome: 'unchanged' | 'another identity' }
  | { readonly outcome: 'refilled'; readonly row: Row; readonly filled: readonly string[] };

/** Turns records of one feed into rows. Each load has its own reader, which remembers the fields that it has met. */
export interface RecordReader {
  read(record: unknown): ReadResult;
  /** Fills the empty columns of a row from its `extra`. */
  refill(row: Row): RefillResult;
  /** Every top-level wire name that fills a column, or holds names that do. */
  readonly knownFields: readonly string[];
  /** The top-level wire names met so far, the first 1,000 of them, with whether a column is filled from it. */
  readonly fieldsSeen: ReadonlyMap<string, 'column' | 'extra'>;
}

/**
 * The names of the query parameters that a feed takes. Those of the cursor and of ticker feeds' dates are
 * documented (docs/service.md, "Paging", "Asset feeds"), the others only likely; a job can rename them all.
 */
export interface ParameterNames {
  readonly topic?: string;
  readonly matchType?: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly limit: string;
  readonly nextToken: string;
}

/** A live feed: the newest records of a series in one answer, likely a bare array (docs/service.md, "Live feeds"). */
export interface LiveTwin {
  readonly path: (series: Series) => string;
  /** The most records of one answer; an answer with as many may be incomplete. */
  readonly limit: number;
  /** How far back it reaches, in hours; only likely. */
  readonly hours: number;
}

/** One feed of the service: its path, its parameters, how its records are read, which table it fills. */
export interface Feed<Name extends string = string> {
  /** As in a job file's `feed`. */
  readonly name: Name;
  /** What its jobs select series by; empty if a job is one series. */
  readonly dimensions: readonly Dimension[];
  /** `POST` sends the parameters in a JSON body, together with the body that the job file holds. */
  readonly method: 'GET' | 'POST';
  /** The path below `/v1` for a series, each segment URL-encoded. */
  readonly path: (series: Series) => string;
  readonly parameters: ParameterNames;
  /** Likely values of the match type (of an index: the index type), the default first; empty if it has none. */
  readonly matchTypes: readonly string[];
  /**
   * Further parameters with the values that are asked for if a job names none, each combination as a series of its own; one
   * without values is sent only if a job names it.
   */
  readonly variants: Readonly<Record<string, readonly string[]>>;
  /** Those of the variants that are part of the path, and so not sent as parameters. */
  readonly inPath: readonly string[];
  /** The live feed, which has the newest records before the historical feed. */
  readonly live?: LiveTwin;
  readonly table: FeedTable;
  readonly fields: FieldAliases;
  /** `overrides` come from a job file and are tried before the feed's own aliases. */
  readonly reader: (overrides?: FieldAliases) => RecordReader;
}
