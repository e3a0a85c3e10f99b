import { isDeepStrictEqual } from 'node:util';
import type { RecordIdentity, RecordShape, RefillResult, Row } from '../feed.ts';
import { identityOfId, identityOfText, isMade } from './identity.ts';
import {
  emptyDifferences,
  type FieldTree,
  fillDifferences,
  isJsonObject,
  keepAsSent,
  type NothingRead,
  readFields,
} from './read-fields.ts';
import { readTime } from './read-time.ts';
import { storableJson } from './storable-json.ts';

/**
 * Fills a row's empty columns from its `extra`, and computes columns that can be computed now. A column with a value keeps it,
 * unless the value was computed. Leaves the row as it is if its identity would change, for example because it gets the text
 * that identifies it: otherwise the same record, loaded again, would become a second row.
 * @param row as stored, times in UTC
 */
export function refillRow(shape: RecordShape, tree: FieldTree, nothing: NothingRead, row: Row): RefillResult {
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
