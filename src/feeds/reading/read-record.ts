import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../../errors.ts';
import { knownNames } from '../../nearest.ts';
import type {
  ColumnType,
  Difference,
  FeedTable,
  FieldAliases,
  ReadResult,
  RecordIdentity,
  RecordReader,
  RecordShape,
  RefillResult,
  Row,
} from '../feed.ts';
import { identityOfContent, identityOfEntry, identityOfId, identityOfText, isMade } from './identity.ts';
import { readTime } from './read-time.ts';
import { storableJson, storableText } from './storable-json.ts';

/**
 * Makes a reader for one load of one feed. Each column gets the first of its aliases (`overrides` first) with a readable
 * value; null and "" count as missing. Everything else goes to `extra` as it was sent: fields without a column, values of
 * the wrong type, lower-ranked aliases, an id that is not a UUID, and unread fields of nested objects.
 */
export function createRecordReader(shape: RecordShape, overrides: FieldAliases = {}): RecordReader {
  const tree = buildFieldTree(shape.columns, shape.fields, overrides);
  const nothing = nothingRead(Object.keys(shape.columns));
  const fieldsSeen = new Map<string, 'column' | 'extra'>();

  function read(record: unknown): ReadResult {
    if (!isJsonObject(record)) return { rejected: 'not a JSON object' };
    const names = Object.keys(record);
    const reading = readFields(record, names, tree, nothing);
    noteFields(reading, names, fieldsSeen);

    for (const { anyOf, reason } of shape.required) {
      if (anyOf.every((column) => reading.row[column] === null)) return { rejected: reason };
    }
    fillDifferences(shape.differences, reading.row);
    const { row } = reading;
    if ('of' in shape.identity) row.entry_id = identityOfEntry(shape.identity.of.map((part) => row[part]!));
    else fillIdentity(shape.identity, reading);
    reading.row.extra = reading.extra === undefined ? null : storableJson(reading.extra);
    return { row: reading.row };
  }

  const refill = (row: Row) => refillRow(shape, tree, nothing, row);
  return { read, refill, knownFields: [...tree.keys()], fieldsSeen };
}

function fillIdentity(identity: RecordIdentity, reading: Reading): void {
  const { row, record } = reading;
  const id = row[identity.id];
  const time = row[identity.time] as string;
  const text = row[identity.text];
  if (typeof id === 'string') {
    const made = identityOfId(id);
    if (made !== id.toLowerCase()) keepAsSent(reading, filledBy(reading, identity.id));
    row[identity.id] = made;
  } else if (typeof text === 'string') {
    row[identity.id] = identityOfText(
      time,
      text,
      identity.qualifiers.map((column) => row[column] ?? null),
    );
  } else {
    const field = filledBy(reading, identity.time);
    row[identity.id] = identityOfContent(time, record, field.parents.length === 0 ? field.name : undefined);
  }
  const { id: idColumn, apart } = identity;
  if (apart) row.entry_id = identityOfEntry([idColumn, ...apart].map((column) => row[column]!));
}

function filledBy(reading: Reading, column: string) {
  return reading.filledBy.find((field) => field?.target?.column === column)!;
}

/** How many field names a load notes: far more than any feed has, so that a service with random names cannot fill a table. */
const mostFieldsNoted = 1000;

function canBeNoted(name: string, { size }: { readonly size: number }): boolean {
  return size < mostFieldsNoted && name.length <= 200 && storableText(name) === name;
}

function noteFields(
  { filledBy, isNested, extra }: Reading,
  names: readonly string[],
  fieldsSeen: Map<string, 'column' | 'extra'>,
): void {
  for (const name of names) {
    const seen = fieldsSeen.get(name);
    if (seen === 'column' || (seen === undefined && !canBeNoted(name, fieldsSeen))) continue;
    fieldsSeen.set(name, extra !== undefined && name in extra ? 'extra' : 'column');
  }
  // If columns were read from an object, its other fields are in `extra`.
  if (!isNested) return;
  for (const field of filledBy) {
    const outermost = field?.parents[0];
    if (outermost !== undefined) fieldsSeen.set(outermost, 'column');
  }
}

type JsonObject = Record<string, unknown>;

/** A record that is being read. */
interface Reading {
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
type NothingRead = Readonly<Pick<Reading, 'row' | 'filledBy'>>;

function nothingRead(columns: readonly string[]): NothingRead {
  return {
    row: Object.fromEntries(columns.map((column) => [column, null])),
    filledBy: columns.map(() => undefined),
  };
}

/** Reads each field of a record into its column or into `extra`. @param names the keys of the record */
function readFields(
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
function keepAsSent(reading: Reading, field: Field): void {
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

function isJsonObject(value: unknown): value is JsonObject {
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
type FieldTree = ReadonlyMap<string, Field>;

/**
 * Arranges the aliases of all columns by field name. An override takes a name away from the column that has it by default.
 * @throws ConfigError if the feed has no such column, or if one name is given to two columns: one would silently stay empty
 */
function buildFieldTree(
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

/**
 * Fills a row's empty columns from its `extra`, and computes columns that can be computed now. A column with a value keeps it,
 * unless the value was computed. Leaves the row as it is if its identity would change, for example because it gets the text
 * that identifies it: otherwise the same record, loaded again, would become a second row.
 * @param row as stored, times in UTC
 */
function refillRow(shape: RecordShape, tree: FieldTree, nothing: NothingRead, row: Row): RefillResult {
  const sent: unknown = typeof row.extra === 'string' ? JSON.parse(row.extra) : null;
  if (!isJsonObject(sent)) return { outcome: 'unchanged' };
  const before = withTimesAsRead(shape, row);
  const after = { ...before };
  emptyDifferences(shape.differences, after);

  const reading = readFields(sent, Object.keys(sent), tree, nothing);
  for (const field of reading.filledBy) {
    if (!field?.target) continue;
    const { column } = field.target;
    if (after[column] === null) after[column] = reading.row[column]!;
    else keepAsSent(reading, field);
  }
  fillDifferences(shape.differences, after);
  after.extra = reading.extra === undefined ? null : storableJson(reading.extra);

  const filled = Object.keys(shape.columns).filter(
    (column) => column !== 'extra' && after[column] !== before[column],
  );
  const keepsIdentity =
    'of' in shape.identity
      ? !shape.identity.of.some((column) => filled.includes(column))
      : !shape.identity.apart?.some((column) => filled.includes(column)) &&
        staysTheSame(shape.identity, before, after, reading.row[shape.identity.id] ?? null);
  if (!keepsIdentity) return { outcome: 'another identity' };
  const left: unknown = after.extra === null ? null : JSON.parse(after.extra);
  const isSame = filled.length === 0 && isDeepStrictEqual(left, sent);
  return isSame ? { outcome: 'unchanged' } : { outcome: 'refilled', row: after, filled };
}

/** Returns the row with times in the reader's form, which identities use. */
function withTimesAsRead({ columns }: RecordShape, row: Row): Row {
  const times = Object.keys(columns).filter((column) => columns[column] === 'timestamptz');
  return { ...row, ...Object.fromEntries(times.map((column) => [column, readTime(row[column]) ?? null])) };
}

/** Returns true if the reader would give the record the same identity. @param idInExtra an id found in `extra` */
function staysTheSame(
  identity: RecordIdentity,
  before: Row,
  after: Row,
  idInExtra: string | number | null,
): boolean {
  const id = before[identity.id] as string;
  if (textIdentity(identity, before) === id)
    return idInExtra === null && textIdentity(identity, after) === id;
  const isByItsOwnId =
    before[identity.text] !== null ||
    !isMade(id) ||
    (typeof idInExtra === 'string' && identityOfId(idInExtra) === id);
  // Otherwise its identity is all its content. New aliases change that only if they find an id or a text.
  return isByItsOwnId || (idInExtra === null && after[identity.text] === null);
}

function textIdentity({ time, text, qualifiers }: RecordIdentity, row: Row): string | undefined {
  const found = row[text];
  if (typeof found !== 'string') return undefined;
  return identityOfText(
    row[time] as string,
    found,
    qualifiers.map((column) => row[column] ?? null),
  );
}

/** Fills the empty columns that can be computed. */
function fillDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) row[column] ??= differenceIn(row, of);
}

/** Empties the columns whose value is the computed one. */
function emptyDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) if (row[column] === differenceIn(row, of)) row[column] = null;
}

function differenceIn(row: Row, [from, take]: readonly [string, string]): number | null {
  const minuend = row[from];
  const subtrahend = row[take];
  return typeof minuend === 'number' && typeof subtrahend === 'number' ? minuend - subtrahend : null;
}
