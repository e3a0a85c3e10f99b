import { BareObject } from './bare-object.ts';
import type { FeedTable, FieldAliases, ReadResult, RecordReader, Row } from './feed.ts';
import { buildFieldTree, type Field, type FieldTree } from './field-tree.ts';
import { holdableJson } from './holdable-json.ts';
import { identityOfContent, identityOfEntry, identityOfId, identityOfText, isUuid } from './identity.ts';

/** How the records of a feed are read, as data. */
export interface RecordShape {
  /** The columns to fill; each but `extra`, which takes what no column does, has aliases in `fields`. */
  readonly columns: FeedTable['columns'];
  readonly fields: FieldAliases;
  readonly identity: RecordIdentity | EntryIdentity;
  /** Columns that are the difference of two others, first minus second, where the record does not have them. */
  readonly differences: readonly { readonly column: string; readonly of: readonly [string, string] }[];
  /** A record that fills none of `anyOf` is rejected for `reason`. */
  readonly required: readonly { readonly anyOf: readonly string[]; readonly reason: string }[];
}

/**
 * The columns that a record is known by: its id, else its time, text and qualifiers, else its time and all its
 * content. `time` has to be `required`.
 */
export interface RecordIdentity {
  readonly id: string;
  readonly time: string;
  readonly text: string;
  readonly qualifiers: readonly string[];
}

/** For aggregates, which have no id: `column` is filled from the columns `of` that say which one it is. */
export interface EntryIdentity {
  readonly column: string;
  readonly of: readonly string[];
}

type JsonObject = Record<string, unknown>;

/** What has been made of a record so far. */
interface Reading {
  readonly record: JsonObject;
  readonly row: Row;
  /** The field that filled each column. */
  readonly filledBy: Map<string, Field>;
  /** What no column took, by its own names; `undefined` while that is nothing. */
  extra: JsonObject | undefined;
}

/**
 * Makes a reader for one load of one feed. Each column takes the first of its aliases (`overrides` first) that has
 * a readable value; null and "" are no values. Everything else is kept in `extra` as it was sent: fields without a
 * column, values that a column could not take, aliases that lost, an id that is no UUID, and of an object that
 * columns were read from the rest of its fields.
 */
export function createRecordReader(shape: RecordShape, overrides: FieldAliases = {}): RecordReader {
  const tree = buildFieldTree(shape.columns, shape.fields, overrides);
  const emptyRow: Row = Object.fromEntries(Object.keys(shape.columns).map((column) => [column, null]));
  const fieldsSeen = new Map<string, 'column' | 'extra'>();

  function read(record: unknown): ReadResult {
    if (!isJsonObject(record)) return { rejected: 'not a JSON object' };
    const reading: Reading = { record, row: { ...emptyRow }, filledBy: new Map(), extra: undefined };
    readFields(record, tree, [], reading);
    noteFields(reading, fieldsSeen);

    for (const { anyOf, reason } of shape.required) {
      if (anyOf.every((column) => reading.row[column] === null)) return { rejected: reason };
    }
    fillDifferences(shape, reading.row);
    if ('of' in shape.identity) fillEntryIdentity(shape.identity, reading.row);
    else fillIdentity(shape.identity, reading);
    reading.row.extra = reading.extra === undefined ? null : holdableJson(reading.extra);
    return { row: reading.row };
  }

  return { read, fieldsSeen };
}

function readFields(
  object: JsonObject,
  fields: FieldTree,
  parents: readonly string[],
  reading: Reading,
): void {
  for (const name of Object.keys(object)) {
    const value = object[name];
    const field = fields.get(name);
    if (field === undefined) keep(reading, parents, name, value);
    else if (isJsonObject(value) && field.within.size > 0) {
      readFields(value, field.within, [...field.parents, name], reading);
    } else if (value !== null && value !== '') readField(field, value, reading);
  }
}

function readField(field: Field, value: unknown, reading: Reading): void {
  const taken = field.target?.read(value);
  if (field.target === undefined || taken === undefined) {
    keep(reading, field.parents, field.name, value);
    return;
  }
  const { column, rank } = field.target;
  const rival = reading.filledBy.get(column);
  if (rival?.target !== undefined && rival.target.rank < rank) {
    keep(reading, field.parents, field.name, value);
    return;
  }
  if (rival !== undefined) keep(reading, rival.parents, rival.name, sentValue(rival, reading.record));
  reading.row[column] = taken;
  reading.filledBy.set(column, field);
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

function sentValue({ parents, name }: Field, record: JsonObject): unknown {
  return parents.reduce((object, parent) => object[parent] as JsonObject, record)[name];
}

function fillDifferences(shape: RecordShape, row: Row): void {
  for (const { column, of } of shape.differences) {
    const from = row[of[0]];
    const take = row[of[1]];
    if (row[column] === null && typeof from === 'number' && typeof take === 'number')
      row[column] = from - take;
  }
}

function fillEntryIdentity({ column, of }: EntryIdentity, row: Row): void {
  row[column] = identityOfEntry(of.map((part) => row[part] ?? null));
}

function fillIdentity(identity: RecordIdentity, reading: Reading): void {
  const { row, record, filledBy } = reading;
  const id = row[identity.id];
  const time = row[identity.time] as string;
  const text = row[identity.text];
  if (typeof id === 'string') {
    const field = filledBy.get(identity.id)!;
    if (!isUuid(id)) keep(reading, field.parents, field.name, sentValue(field, record));
    row[identity.id] = identityOfId(id);
  } else if (typeof text === 'string') {
    row[identity.id] = identityOfText(
      time,
      text,
      identity.qualifiers.map((column) => row[column] ?? null),
    );
  } else {
    const field = filledBy.get(identity.time)!;
    row[identity.id] = identityOfContent(time, record, field.parents.length === 0 ? field.name : undefined);
  }
}

function noteFields({ record, filledBy, extra }: Reading, fieldsSeen: Map<string, 'column' | 'extra'>): void {
  for (const name of Object.keys(record)) {
    if (fieldsSeen.get(name) === 'column') continue;
    fieldsSeen.set(name, extra !== undefined && name in extra ? 'extra' : 'column');
  }
  // Of an object that columns were read from, the rest is in `extra`.
  for (const { parents } of filledBy.values()) {
    if (parents[0] !== undefined) fieldsSeen.set(parents[0], 'column');
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
