/**
 * A feed with one value of each dimension, loaded over time. Each series has its own coverage, windows and cursors. A
 * dimension that the feed lacks is empty. Property names are those of the warehouse.
 */
export interface Series {
  readonly feed: string;
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly match_type: string;
  /** Further parameters of the series, as `name=value&name=value`, sorted by name. */
  readonly variant: string;
}

/** The fields in which records name parts of their series, if they do. An import adds them to records. */
export const addedFields = { topic: 'topic_name', ticker: 'ticker' } as const;

/** A job selects series by these; a lookup lists the values of each. */
export type Dimension = 'country' | 'topic' | 'ticker';

/** The PostgreSQL types that a feed's columns may have. */
export type ColumnType = 'text' | 'uuid' | 'timestamptz' | 'double precision' | 'bigint' | 'jsonb';

/** The table that a feed fills. */
export interface FeedTable {
  /** Name within the schema `gmsi`. */
  readonly name: string;
  /** The columns that a record fills, in the order in which they are sent. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns of `columns` that, together with the series, identify a row: its time and its id. */
  readonly key: readonly [time: string, id: string];
  /** The columns of its key that name a row's series. */
  readonly series: readonly (keyof Series)[];
  /** Whether it is partitioned by the month of its key's time. */
  readonly isPartitioned: boolean;
}

/** One row read from a record, with `null` for each column that the record does not fill. */
export type Row = Record<string, string | number | null>;

/** The field names that may fill each column, best first; `a.b` is a field in a nested object. */
export type FieldAliases = Readonly<Record<string, readonly string[]>>;

/**
 * The result of reading one record. A rejected record is stored with its reason in `rejected_records`. A record of which only
 * values are rejected is a row, too, with `null` in their columns.
 */
export type ReadResult =
  | { readonly row: Row; readonly rejected?: string }
  | { readonly row?: undefined; readonly rejected: string };

/** The result of reading a row's `extra` again. A row whose identity would change stays as it is. */
export type RefillResult =
  | { readonly outcome: 'unchanged' | 'another identity' }
  | { readonly outcome: 'refilled'; readonly row: Row; readonly filled: readonly string[] };

/** Turns records of one feed into rows. Each load has its own reader, which remembers the fields it has seen. */
export interface RecordReader {
  read(record: unknown): ReadResult;
  /** Fills the empty columns of a row from its `extra`. */
  refill(row: Row): RefillResult;
  /** Every top-level field that fills a column, itself or through nested fields. */
  readonly knownFields: readonly string[];
  /** The first 1,000 top-level fields seen, and whether each fills a column. */
  readonly fieldsSeen: ReadonlyMap<string, 'column' | 'extra'>;
  /** Columns of which no record so far has had a field, and that cannot be computed. */
  readonly absent: readonly string[];
  /** How many rows have null in a column because its value could not be read, by column. */
  readonly rejectedValues: ReadonlyMap<string, number>;
}

/**
 * The names of a feed's query parameters. The cursor and the dates of ticker feeds are documented (docs/service.md, "Paging",
 * "Asset feeds"); the others are our best guess. A job can rename them all.
 */
export interface ParameterNames {
  readonly topic?: string;
  readonly matchType?: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly limit: string;
  readonly nextToken: string;
}

/** A live feed: the newest records of a series in one answer, probably a bare array (docs/service.md, "Live feeds"). */
export interface LiveTwin {
  readonly path: (series: Series) => string;
  /** Hours that it reaches back; our best guess. */
  readonly hours: number;
  /** Parameters that are sent unless the series has them. */
  readonly query: Readonly<Record<string, string>>;
}

/** One feed of the service: its path, its parameters, how its records are read, which table it fills. */
export interface Feed<Name extends string = string> {
  /** As in a job file's `feed`. */
  readonly name: Name;
  /** Empty if a job is one series. */
  readonly dimensions: readonly Dimension[];
  /** `POST` sends the parameters in a JSON body, together with the body from the job file. */
  readonly method: 'GET' | 'POST';
  /** The path below `/v1` for a series, each segment URL-encoded. */
  readonly path: (series: Series) => string;
  readonly parameters: ParameterNames;
  /** Our best guess of the match types (index types of an index), the default first; empty if it has none. */
  readonly matchTypes: readonly string[];
  /**
   * Further parameters with their default values. Each combination is its own series. A parameter without values is sent only
   * if a job names it.
   */
  readonly variants: Readonly<Record<string, readonly string[]>>;
  /** Variants that are part of the path instead of the query. */
  readonly inPath: readonly string[];
  /** The live feed, which has the newest records before the historical feed. */
  readonly live?: LiveTwin;
  readonly table: FeedTable;
  readonly fields: FieldAliases;
  /** `overrides` come from a job file and are tried before the feed's own aliases. */
  readonly reader: (overrides?: FieldAliases) => RecordReader;
}

/** How the records of a feed are read, as data. */
export interface RecordShape {
  /** The columns to fill. Each has aliases in `fields`, except `extra`, which takes everything else. */
  readonly columns: FeedTable['columns'];
  readonly fields: FieldAliases;
  readonly identity: RecordIdentity | EntryIdentity;
  readonly differences: readonly Difference[];
  /** A record that fills none of `anyOf` is rejected for `reason`. */
  readonly required: readonly { readonly anyOf: readonly string[]; readonly reason: string }[];
}

/**
 * The columns that identify a record: its id, else its time, text and qualifiers, else its time and all its content. `time`
 * must be `required`.
 */
export interface RecordIdentity {
  readonly id: string;
  readonly time: string;
  readonly text: string;
  readonly qualifiers: readonly string[];
  /** Columns that may differ between records with the same id; `entry_id`, made from the id and these, identifies the row. */
  readonly apart?: readonly string[];
}

/** For aggregates, which have no id: `entry_id` is made from these columns, the time first. */
export interface EntryIdentity {
  readonly of: readonly string[];
}

/** A column that is computed as first minus second of two others, if a record lacks it. */
export interface Difference {
  readonly column: string;
  readonly of: readonly [string, string];
}

/** `by country and topic, into gmsi.headlines` */
export function describeFeed(feed: Feed): string {
  return `${by(feed)}, into gmsi.${feed.table.name}`;
}

/** `by country and topic` */
export function by({ dimensions: selects }: Feed): string {
  return selects.length === 0 ? 'requested as a whole' : `by ${selects.join(' and ')}`;
}
