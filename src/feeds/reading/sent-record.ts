import { isJsonObject, type JsonObject } from './read-fields.ts';

/** What the records of a table have in common. */
export interface Fields {
  readonly names: readonly string[];
  /** Returns what JSON has in place of a value. */
  readonly jsonOf: (value: unknown, at: number) => unknown;
}

/** A record as the values of its fields. Few records of a table have to become objects. */
export class SentRecord {
  #object: JsonObject | undefined;

  constructor(
    readonly fields: Fields,
    readonly values: readonly unknown[],
    object?: JsonObject,
  ) {
    this.#object = object;
  }

  /** The record as a page has it. */
  get object(): JsonObject {
    const { names, jsonOf } = this.fields;
    this.#object ??= Object.fromEntries(names.map((name, at) => [name, jsonOf(this.values[at], at)]));
    return this.#object;
  }
}

/** Returns a record as the values of its fields; `undefined` if it is not an object. */
export function sentRecord(record: unknown): SentRecord | undefined {
  if (record instanceof SentRecord) return record;
  if (!isJsonObject(record)) return undefined;
  return new SentRecord({ names: Object.keys(record), jsonOf: itself }, Object.values(record), record);
}

/** For values that are as JSON has them. */
export const itself: Fields['jsonOf'] = (value) => value;

/** Returns a record as a page has it. */
export function asSent(record: unknown): unknown {
  return record instanceof SentRecord ? record.object : record;
}

/** Returns a field of a record as a page has it; `undefined` if the record has no such field. */
export function fieldOf(record: unknown, name: string): unknown {
  if (!(record instanceof SentRecord)) return isJsonObject(record) ? record[name] : undefined;
  const { names, jsonOf } = record.fields;
  const at = names.indexOf(name);
  return at < 0 ? undefined : jsonOf(record.values[at], at);
}
