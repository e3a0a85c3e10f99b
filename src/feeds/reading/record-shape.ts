import type { FeedTable, FieldAliases } from '../feed.ts';

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
