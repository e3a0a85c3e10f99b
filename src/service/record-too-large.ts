import { createHash } from 'node:crypto';
import { storableJson } from '../feeds/reading/storable-json.ts';

/** Replaces a record that is too large to be read. */
export class RecordTooLarge {
  /** SHA-256 of its JSON text in UTF-8. */
  readonly digest: string;
  /** Size of its JSON text in UTF-8. */
  readonly bytes: number;
  /** The beginning of its JSON text. */
  readonly begins: string;

  constructor(json: string, bytes: number) {
    this.digest = `sha256:${createHash('sha256').update(json).digest('hex')}`;
    this.bytes = bytes;
    this.begins = json.slice(0, 300);
  }
}

/** Replaces the records whose JSON text has more bytes than `most`. */
export function withoutLarge(records: readonly unknown[], most: number): unknown[] {
  return records.map((record) => {
    const json = storableJson(record);
    const bytes = Buffer.byteLength(json);
    return bytes > most ? new RecordTooLarge(json, bytes) : record;
  });
}

/** Returns true if a stored record replaces one that was too large, so that there is nothing to read. */
export function standsForLarger(record: unknown): boolean {
  if (typeof record !== 'object' || record === null) return false;
  const { digest } = record as Record<string, unknown>;
  return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) && 'begins' in record;
}
