import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import type { FeedTable, FieldAliases } from './feed.ts';
import { type FieldType, type ValueReader, valueReaders } from './read-value.ts';

/** What is known of one wire name: the column it fills, if any, and the names within it that fill columns. */
export interface Field {
  readonly name: string;
  /** The names of the objects that it is in, outermost first. */
  readonly parents: readonly string[];
  target: Target | undefined;
  readonly within: Map<string, Field>;
}

/** A column as one alias sees it; of several aliases present in a record the lowest rank fills the column. */
export interface Target {
  readonly column: string;
  readonly rank: number;
  readonly read: ValueReader;
}

/** The fields of a record by their wire names. A Map, so that no record's key is taken for one of Object.prototype. */
export type FieldTree = ReadonlyMap<string, Field>;

/** Job files can give wire names for the columns that the feed's records are read into, and for no others. */
export class UnknownColumn extends ConfigError {
  constructor(column: string, known: readonly string[]) {
    super(`fields: this feed has no column "${column}" to read into`, { hint: knownNames(column, known) });
  }
}

/** One wire name was given for two columns; one of them would stay empty without a word. */
export class AliasGivenTwice extends ConfigError {
  constructor(alias: string, columns: readonly [string, string]) {
    super(`fields: "${alias}" is given for both ${columns[0]} and ${columns[1]}`, {
      hint: 'Give each name of a field to one column only.',
    });
  }
}

/**
 * Arranges the aliases of all columns by wire name. A name that the overrides give to a column is taken from
 * whichever column had it by default. Throws `UnknownColumn` or `AliasGivenTwice` for overrides that make no sense.
 */
export function buildFieldTree(
  columns: FeedTable['columns'],
  defaults: FieldAliases,
  overrides: FieldAliases,
): FieldTree {
  const tree = new Map<string, Field>();
  for (const [column, aliases] of Object.entries(overrides)) {
    if (!Object.hasOwn(defaults, column)) throw new UnknownColumn(column, Object.keys(defaults));
    for (const [rank, alias] of aliases.entries()) {
      const field = fieldAt(tree, alias);
      if (field.target !== undefined) throw new AliasGivenTwice(alias, [field.target.column, column]);
      field.target = { column, rank, read: readerFor(columns, column) };
    }
  }
  for (const [column, aliases] of Object.entries(defaults)) {
    const overridden = overrides[column]?.length ?? 0;
    for (const [index, alias] of aliases.entries()) {
      fieldAt(tree, alias).target ??= { column, rank: overridden + index, read: readerFor(columns, column) };
    }
  }
  return tree;
}

function fieldAt(tree: Map<string, Field>, alias: string): Field {
  const path = alias.split('.');
  let level = tree;
  let field: Field | undefined;
  for (const [index, name] of path.entries()) {
    field = level.get(name) ?? { name, parents: path.slice(0, index), target: undefined, within: new Map() };
    level.set(name, field);
    level = field.within;
  }
  return field!;
}

function readerFor(columns: FeedTable['columns'], column: string): ValueReader {
  return valueReaders[columns[column] as FieldType];
}
