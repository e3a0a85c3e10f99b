import { ConfigError } from '../../errors.ts';
import { knownNames } from '../../nearest.ts';
import type { ColumnType, Difference, FeedTable, FieldAliases, Row } from '../feed.ts';
import { readTime } from './read-time.ts';
import { storableText } from './storable-json.ts';

export type JsonObject = Record<string, unknown>;

/** A record that is being read. */
export interface Reading {
  readonly record: JsonObject;
  readonly row: Row;
  /** The field that filled each column, in the order of the row's columns. */
  readonly filledBy: (Field | undefined)[];
  /** True if a nested field filled a column. */
  isNested: boolean;
  /** Fields that filled no column; `undefined` if there are none. */
  extra: JsonObject | undefined;
  /** Columns of fields whose value could not be read; `undefined` if there are none. Another field may have filled them. */
  unread: Set<string> | undefined;
}

/** A row without values. Copying it for each record is much faster than adding columns one by one. */
export type NothingRead = Readonly<Pick<Reading, 'row' | 'filledBy'>>;

export function nothingRead(columns: readonly string[]): NothingRead {
  return {
    // Objects of JSON.parse are copied more than twice as fast as others.
    row: JSON.parse(JSON.stringify(Object.fromEntries(columns.map((column) => [column, null])))),
    filledBy: columns.map(() => undefined),
  };
}

/** Reads each field of a record into its column or into `extra`. @param names the keys of the record */
export function readFields(
  record: JsonObject,
  names: readonly string[],
  tree: FieldTree,
  nothing: NothingRead,
): Reading {
  const { row, filledBy } = nothing;
  const reading = {
    record,
    row: { ...row },
    filledBy: [...filledBy],
    isNested: false,
    extra: undefined,
    unread: undefined,
  };
  readObject(record, names, tree, [], reading);
  return reading;
}

function readObject(
  object: JsonObject,
  names: readonly string[],
  fields: FieldTree,
  parents: readonly string[],
  reading: Reading,
): void {
  for (const name of names) {
    const value = object[name];
    const field = fields.get(name);
    if (field === undefined) {
      keep(reading, parents, name, value);
      continue;
    }
    const inner = field.within.size > 0 && isJsonObject(value) ? Object.keys(value) : [];
    if (inner.some((one) => field.within.has(one)))
      readObject(value as JsonObject, inner, field.within, [...field.parents, name], reading);
    else if (value !== null && value !== '') readField(field, value, reading);
  }
}

/** The column of a deviation, which one score does not have: there NaN says so, as null does. */
export const deviation = 'sentiment_std';

function readField(field: Field, value: unknown, reading: Reading): void {
  // Python writes NaN where nothing is: as a text, it would be a publisher, or an id that many records share.
  const taken = value === 'NaN' ? undefined : field.target?.read(value);
  if (field.target === undefined || taken === undefined) {
    keep(reading, field.parents, field.name, value);
    if (field.target && !(field.target.column === deviation && /^nan$/i.test(String(value)))) {
      reading.unread ??= new Set();
      reading.unread.add(field.target.column);
    }
    return;
  }
  const { column, place, rank } = field.target;
  const rival = reading.filledBy[place];
  if (rival?.target !== undefined && rival.target.rank < rank) {
    keep(reading, field.parents, field.name, value);
    return;
  }
  if (rival !== undefined) keepAsSent(reading, rival);
  reading.row[column] = taken;
  reading.filledBy[place] = field;
  if (field.parents.length > 0) reading.isNested = true;
}

/** Puts the value of a field into `extra` as it was sent. */
export function keepAsSent(reading: Reading, field: Field): void {
  const { parents, name } = field;
  const holder = parents.reduce((object, parent) => object[parent] as JsonObject, reading.record);
  keep(reading, parents, name, holder[name]);
}

/** Puts a value into `extra` under its own name, within the objects it was found in, `parents`. */
function keep(reading: Reading, parents: readonly string[], name: string, value: unknown): void {
  reading.extra ??= new BareObject();
  let level = reading.extra;
  for (const parent of parents) {
    level[parent] ??= new BareObject();
    level = level[parent] as JsonObject;
  }
  level[name] = value;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function Bare(): void {
  // Empty: only its missing prototype matters.
}
Bare.prototype = Object.create(null);

/**
 * Makes objects without Object.prototype, so that `__proto__` and `constructor` are ordinary keys. With Object.create(null),
 * V8 would use hash tables, which cost a sixth of the time to read a record.
 */
const BareObject = Bare as unknown as new () => Record<string, unknown>;

/** The column that a field fills. If a record has several names of a column, the one with the lowest rank wins. */
interface Target {
  readonly column: string;
  /** Its place among the columns of the row. */
  readonly place: number;
  readonly rank: number;
  readonly read: ValueReader;
}

/** A field of a record: the column it fills, if any, and its nested fields that fill columns. */
interface Field {
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

/** Fills the empty columns that can be computed. */
export function fillDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) row[column] ??= differenceIn(row, of);
}

/** Empties the columns whose value is the computed one. */
export function emptyDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) if (row[column] === differenceIn(row, of)) row[column] = null;
}

function differenceIn(row: Row, [from, take]: readonly [string, string]): number | null {
  const minuend = row[from];
  const subtrahend = row[take];
  return typeof minuend === 'number' && typeof subtrahend === 'number' ? minuend - subtrahend : null;
}
