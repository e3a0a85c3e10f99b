import { hash } from 'node:crypto';
import { deepestKept } from './holdable-json.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether an id of the service can be kept as it is in a `uuid` column. */
function isUuid(id: string): boolean {
  return uuid.test(id);
}

/** Whether an identity was made here, rather than sent by the service. */
export function isMade(identity: string): boolean {
  return identity.charAt(14) === '8';
}

/** The identity of a record that has an id of its own: that id if it is a UUID, else one made from it. */
export function identityOfId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : uuidOf(['id', id]);
}

/** The identity of a record without an id but with a text: its time, its text and what tells equal texts apart. */
export function identityOfText(
  time: string,
  text: string,
  qualifiers: readonly (string | number | null)[],
): string {
  return uuidOf(['text', time, text, ...qualifiers]);
}

/**
 * The identity of a record that has neither: all its content, in any order of its keys. It is made from the record as sent,
 * so that new aliases do not change it. Only the top-level field `timeField`, if given, is replaced by the time read from
 * it, because the feeds write the same time with and without a zone. Equal records are one.
 */
export function identityOfContent(time: string, record: object, timeField: string | undefined): string {
  return uuidOf(['content', time, canonicalObject(record, 0, timeField)]);
}

/** The identity of an aggregate: what it is about, such as its hour and topic, without its values. */
export function identityOfEntry(parts: readonly (string | number | null)[]): string {
  return uuidOf(['entry', ...parts]);
}

/**
 * A UUID of version 8 (RFC 9562: the meaning is the maker's) from the SHA-256 of the parts' JSON text. The JSON text of an
 * array says where each part ends, so different lists never give the same text.
 */
function uuidOf(parts: readonly unknown[]): string {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A form that is the same only for equal values: keys sorted, and objects and arrays marked, since both become arrays. */
function canonical(value: unknown, depth: number): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : ['number', String(value)];
  if (typeof value !== 'object' || value === null) return value;
  if (depth > deepestKept) return ['deeper'];
  if (Array.isArray(value)) return ['array', ...value.map((item) => canonical(item, depth + 1))];
  return canonicalObject(value, depth);
}

function canonicalObject(object: object, depth: number, without?: string): unknown[] {
  const parts: unknown[] = ['object'];
  for (const name of Object.keys(object).sort()) {
    if (name !== without) parts.push(name, canonical((object as Record<string, unknown>)[name], depth + 1));
  }
  return parts;
}
