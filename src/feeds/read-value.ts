import type { ColumnType } from './feed.ts';
import { holdableText } from './holdable-json.ts';
import { readTime } from './read-time.ts';

/** The types of columns that one field of a record can fill. */
export type FieldType = Exclude<ColumnType, 'jsonb'>;

/** What a column takes from a field, or `undefined` where the field's value is not of the column's type. */
export type ValueReader = (value: unknown) => string | number | undefined;

/** How a field's value is read for each type of column; null, missing and "" have been sorted out before. */
export const valueReaders: Readonly<Record<FieldType, ValueReader>> = {
  text: readText,
  'double precision': readNumber,
  timestamptz: readTime,
  uuid: readId,
};

// Number() alone would also take "0x10", " " and "Infinity". No character can be taken by two parts of it: with
// `\d+\.?\d*`, a million digits that are no number after all would take hours.
const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && decimal.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return holdableText(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** An identifier as the service wrote it; what UUID it becomes is settled in identity.ts. */
function readId(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}
