import type { Row } from '../feed.ts';
import type { Field, FieldTree } from './field-tree.ts';

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
}

/** A row without values. Copying it for each record is much faster than adding columns one by one. */
export type NothingRead = Readonly<Pick<Reading, 'row' | 'filledBy'>>;

export function nothingRead(columns: readonly string[]): NothingRead {
  return {
    row: Object.fromEntries(columns.map((column) => [column, null])),
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
  const reading = { record, row: { ...row }, filledBy: [...filledBy], isNested: false, extra: undefined };
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
    if (field === undefined) keep(reading, parents, name, value);
    else if (isJsonObject(value) && field.within.size > 0) {
      readObject(value, Object.keys(value), field.within, [...field.parents, name], reading);
    } else if (value !== null && value !== '') readField(field, value, reading);
  }
}

function readField(field: Field, value: unknown, reading: Reading): void {
  const taken = field.target?.read(value);
  if (field.target === undefined || taken === undefined) {
    keep(reading, field.parents, field.name, value);
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
