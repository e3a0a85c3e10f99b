import { hash } from 'node:crypto';
import { isDigit, isHexDigit, minus, zero } from '../../json-bytes.ts';
import { deepestKept } from './holdable-json.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The length of a UUID. */
export const uuidBytes = 16;

/** The bytes of a UUID, with dashes or without. @throws TypeError if it is none */
export function bytesOfUuid(text: string): Uint8Array {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex');
  if (bytes.length !== uuidBytes) throw new TypeError(`"${text}" is not a UUID.`);
  return bytes;
}

/**
 * Reads the usual form of a UUID from the bytes of its text.
 * @param into takes its 16 bytes
 * @returns false if it is not one
 */
export function scanUuid(text: Uint8Array, start: number, end: number, into: Uint8Array): boolean {
  if (end - start !== 36) return false;
  for (const dash of dashes) if (text[start + dash] !== minus) return false;
  for (let index = 0; index < uuidBytes; index++) {
    const at = start + digits[index]!;
    if (!isHexDigit(text[at]) || !isHexDigit(text[at + 1])) return false;
    into[index] = hexValue(text[at]!) * 16 + hexValue(text[at + 1]!);
  }
  return true;
}

/** Where a UUID has its dashes, and where the digits of each of its bytes begin. */
const dashes = [8, 13, 18, 23];
const digits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** The value of a hexadecimal digit. The letters, large and small, end in 1 to 6. */
function hexValue(digit: number): number {
  return isDigit(digit) ? digit - zero : (digit & 0xf) + 9;
}

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
