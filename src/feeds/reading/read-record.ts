import type {
  EntryIdentity,
  FieldAliases,
  ReadResult,
  RecordIdentity,
  RecordReader,
  RecordShape,
  Row,
} from '../feed.ts';
import { identityOfContent, identityOfEntry, identityOfId, identityOfText } from './identity.ts';
import { type Layout, layoutOf } from './layout.ts';
import {
  buildFieldTree,
  fillDifferences,
  type JsonObject,
  keepAsSent,
  nothingRead,
  type Reading,
  readFields,
} from './read-fields.ts';
import { refillRow } from './refill-row.ts';
import { type SentRecord, sentRecord } from './sent-record.ts';
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
  const rejectedValues = new Map<string, number>();
  const layouts: Layout[] = [];

  function read(record: unknown): ReadResult {
    const sent = sentRecord(record);
    if (sent === undefined) return { rejected: 'not a JSON object' };
    const row = readFlat(sent);
    return row ? { row } : readWhole(sent.object);
  }

  /** Reads a record without nesting, doubt or fault, as nearly all are. */
  function readFlat(sent: SentRecord): Row | undefined {
    const layout = layoutFor(sent.fields.names);
    const row = { ...nothing.row };
    const extra = layout?.fill(sent, row);
    if (extra === undefined) return undefined;
    if (shape.required.some(({ anyOf }) => anyOf.every((column) => row[column] === null))) return undefined;
    fillDifferences(shape.differences, row);
    if (!identify(shape.identity, row)) return undefined;
    row.extra = extra;
    if (!layout!.isNoted)
      for (const name of layout!.names) noteField(name, tree.has(name) ? 'column' : 'extra', fieldsSeen);
    layout!.isNoted = true;
    return row;
  }

  function layoutFor(names: readonly string[]): Layout | undefined {
    const known = layouts.find((layout) => layout.names === names || isSame(layout.names, names));
    if (known || layouts.length === mostLayouts) return known;
    layouts.push(layoutOf(names, tree));
    return layouts.at(-1);
  }

  function readWhole(record: JsonObject): ReadResult {
    const names = Object.keys(record);
    const reading = readFields(record, names, tree, nothing);
    noteFields(reading, names, fieldsSeen);

    for (const { anyOf, reason } of shape.required) {
      if (anyOf.every((column) => reading.row[column] === null)) return { rejected: reason };
    }
    fillDifferences(shape.differences, reading.row);
    const { row } = reading;
    if (!identify(shape.identity, row)) identifyByRecord(shape.identity as RecordIdentity, reading);
    row.extra = reading.extra === undefined ? null : storableJson(reading.extra);
    // Only now: another field, a difference or the identity may have filled the column.
    const empty = [...(reading.unread ?? [])].filter((column) => row[column] === null);
    if (empty.length === 0) return { row };
    for (const column of empty) rejectedValues.set(column, (rejectedValues.get(column) ?? 0) + 1);
    return { row, rejected: `no readable ${empty.sort().join(', ')}` };
  }

  const refill = (row: Row) => refillRow(shape, tree, nothing, row);
  const computed = new Set(shape.differences.map(({ column }) => column));
  return {
    read,
    refill,
    knownFields: [...tree.keys()],
    fieldsSeen,
    rejectedValues,
    get absent() {
      const hasField = (name: string) => fieldsSeen.has(name.split('.')[0]!);
      return Object.keys(shape.fields).filter(
        (column) =>
          !computed.has(column) && ![...(overrides[column] ?? []), ...shape.fields[column]!].some(hasField),
      );
    },
  };
}

/** Fills a row's identity, if it is made from columns alone. @returns false if it needs the record */
function identify(identity: RecordIdentity | EntryIdentity, row: Row): boolean {
  if ('of' in identity) {
    row.entry_id = identityOfEntry(identity.of.map((part) => row[part]!));
    return true;
  }
  const id = row[identity.id];
  const text = row[identity.text];
  if (typeof id === 'string') {
    const made = identityOfId(id);
    if (made !== id.toLowerCase()) return false;
    row[identity.id] = made;
  } else if (typeof text === 'string') {
    row[identity.id] = identityOfText(
      row[identity.time] as string,
      text,
      identity.qualifiers.map((column) => row[column] ?? null),
    );
  } else return false;
  identifyApart(identity, row);
  return true;
}

/** Fills the identity of a row whose record has an id that is not a UUID, or neither id nor text. */
function identifyByRecord(identity: RecordIdentity, reading: Reading): void {
  const { row, record } = reading;
  const id = row[identity.id];
  if (typeof id === 'string') {
    keepAsSent(reading, filledBy(reading, identity.id));
    row[identity.id] = identityOfId(id);
  } else {
    const field = filledBy(reading, identity.time);
    const time = row[identity.time] as string;
    row[identity.id] = identityOfContent(time, record, field.parents.length === 0 ? field.name : undefined);
  }
  identifyApart(identity, row);
}

function identifyApart({ id, apart }: RecordIdentity, row: Row): void {
  if (apart) row.entry_id = identityOfEntry([id, ...apart].map((column) => row[column]!));
}

/** The records of a feed have few sets of names; to make a layout for each record would take longer than to read it. */
const mostLayouts = 8;

function isSame(names: readonly string[], others: readonly string[]): boolean {
  return names.length === others.length && names.every((name, at) => name === others[at]);
}

function filledBy(reading: Reading, column: string) {
  return reading.filledBy.find((field) => field?.target?.column === column)!;
}

/** How many field names a load notes: far more than any feed has, so that a service with random names cannot fill a table. */
const mostFieldsNoted = 1000;

function canBeNoted(name: string, { size }: { readonly size: number }): boolean {
  return size < mostFieldsNoted && name.length <= 200 && storableText(name) === name;
}

function noteField(name: string, as: 'column' | 'extra', fieldsSeen: Map<string, 'column' | 'extra'>): void {
  const seen = fieldsSeen.get(name);
  if (seen !== 'column' && (seen !== undefined || canBeNoted(name, fieldsSeen))) fieldsSeen.set(name, as);
}

function noteFields(
  { filledBy, isNested, extra }: Reading,
  names: readonly string[],
  fieldsSeen: Map<string, 'column' | 'extra'>,
): void {
  for (const name of names)
    noteField(name, extra !== undefined && name in extra ? 'extra' : 'column', fieldsSeen);
  // If columns were read from an object, its other fields are in `extra`.
  if (!isNested) return;
  for (const field of filledBy) {
    const outermost = field?.parents[0];
    if (outermost !== undefined) fieldsSeen.set(outermost, 'column');
  }
}
