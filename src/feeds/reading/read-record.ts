import type { FieldAliases, ReadResult, RecordIdentity, RecordReader, RecordShape, Row } from '../feed.ts';
import { identityOfContent, identityOfEntry, identityOfId, identityOfText } from './identity.ts';
import {
  buildFieldTree,
  fillDifferences,
  isJsonObject,
  keepAsSent,
  nothingRead,
  type Reading,
  readFields,
} from './read-fields.ts';
import { refillRow } from './refill-row.ts';
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
