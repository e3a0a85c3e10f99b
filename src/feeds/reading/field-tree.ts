import { ConfigError } from '../../errors.ts';
import { knownNames } from '../../nearest.ts';
import type { ColumnType, FeedTable, FieldAliases } from '../feed.ts';
import { readTime } from './read-time.ts';
import { storableText } from './storable-json.ts';

/** The column that a field fills. If a record has several names of a column, the one with the lowest rank wins. */
interface Target {
  readonly column: string;
  /** Its place among the columns of the row. */
  readonly place: number;
  readonly rank: number;
  readonly read: ValueReader;
}

/** A field of a record: the column it fills, if any, and its nested fields that fill columns. */
export interface Field {
  readonly name: string;
  /** The names of the objects around it, outermost first. */
  readonly parents: readonly string[];
  target: Target | undefined;
  readonly within: Map<string, Field>;
}

/** Fields by name. A Map, so that a key of a record cannot match a property of Object.prototype. */
export type FieldTree = ReadonlyMap<string, Field>;

/**
 * Arranges the aliases of all columns by field name. An override takes a name away from the column that has it by default.
 * @throws ConfigError if the feed has no such column, or if one name is given to two columns: one would silently stay empty
 */
export function buildFieldTree(
  columns: FeedTable['columns'],
  defaults: FieldAliases,
  overrides: FieldAliases,
): FieldTree {
  const tree = new Map<string, Field>();
  for (const [column, aliases] of Object.entries(overrides)) {
    if (!Object.hasOwn(defaults, column))
      throw new ConfigError(`fields: this feed has no column "${column}" to read into`, {
        hint: knownNames(column, Object.keys(defaults)),
      });
    for (const [rank, alias] of aliases.entries()) {
      const field = fieldAt(tree, alias);
      if (field.target !== undefined)
        throw new ConfigError(`fields: "${alias}" is given for both ${field.target.column} and ${column}`, {
          hint: 'Give each name of a field to one column only.',
        });
      field.target = targetOf(columns, column, rank);
    }
  }
  for (const [column, aliases] of Object.entries(defaults)) {
    const overridden = overrides[column]?.length ?? 0;
    for (const [index, alias] of aliases.entries()) {
      fieldAt(tree, alias).target ??= targetOf(columns, column, overridden + index);
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

function targetOf(columns: FeedTable['columns'], column: string, rank: number): Target {
  const place = Object.keys(columns).indexOf(column);
  return { column, place, rank, read: valueReaders[columns[column] as FieldType] };
}

/** The types of columns that one field of a record can fill. */
type FieldType = Exclude<ColumnType, 'jsonb'>;

/** Returns the value for a column, or `undefined` if the field's value does not have the column's type. */
type ValueReader = (value: unknown) => string | number | undefined;

/** The reader for each type of column; null, missing and "" never get here. */
export const valueReaders: Readonly<Record<FieldType, ValueReader>> = {
  text: readText,
  'double precision': readNumber,
  bigint: readWhole,
  timestamptz: readTime,
  uuid: readId,
};

// Number() alone would also accept "0x10", " " and "Infinity". No character can match two parts of the pattern: with
// `\d+\.?\d*`, backtracking over a million digits would take hours.
const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && decimal.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** A whole number. Any other stays in `extra`. */
function readWhole(value: unknown): number | undefined {
  const number = readNumber(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return storableText(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** An identifier as the service wrote it; identity.ts makes the UUID. */
function readId(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}
