import { hash } from 'node:crypto';
import { deepestKept } from './storable-json.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function isUuid(id: string): boolean {
  return uuid.test(id);
}

/** Returns true if the identity was made here rather than sent by the service. */
export function isMade(identity: string): boolean {
  return identity.charAt(14) === '8';
}

/** Returns the identity of a record with its own id: the id if it is a UUID, else a UUID made from it. */
export function identityOfId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : uuidOf(['id', id]);
}

/** Returns the identity of a record with a text but no id, made from its time, text and qualifiers. */
export function identityOfText(
  time: string,
  text: string,
  qualifiers: readonly (string | number | null)[],
): string {
  return uuidOf(['text', time, text, ...qualifiers]);
}

/**
 * Returns the identity of a record with neither, made from all its content in any order of keys. Uses the record as sent, so
 * that new aliases do not change it, except that `time` replaces the field `timeField`, because feeds write the same time
 * with and without a zone. Equal records have the same identity.
 */
export function identityOfContent(time: string, record: object, timeField: string | undefined): string {
  return uuidOf(['content', time, canonicalObject(record, 0, timeField)]);
}

/** Returns the identity of an aggregate, made from its hour, topic and the like, without its values. */
export function identityOfEntry(parts: readonly (string | number | null)[]): string {
  return uuidOf(['entry', ...parts]);
}

/**
 * Makes a UUID of version 8 (RFC 9562, for custom content) from the SHA-256 of the parts' JSON text. JSON keeps the parts
 * separate, so different lists never give the same text.
 */
function uuidOf(parts: readonly unknown[]): string {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Returns a form that is the same only for equal values. Sorts keys, and marks objects and arrays, as both become arrays. */
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
