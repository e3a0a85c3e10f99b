import type { Feed, FieldAliases } from '../feeds/feed.ts';
import { readTime } from '../feeds/read-time.ts';

/** What of a record tells something about the service. */
export interface SeenRecord {
  /** Milliseconds since 1970, a time without a zone taken as UTC. */
  readonly time: number;
  /** As it was sent. */
  readonly writtenTime: string | number;
  readonly record: unknown;
}

/** Finds the fields of a feed's records under the names that the job or the feed knows. */
export interface RecordFields {
  /** Records in the order in which they came; those without a readable time are left out. */
  see(records: readonly unknown[]): SeenRecord[];
  /** The wire names under which an id may be, best first. */
  readonly idNames: readonly string[];
}

export function recordFields({ table, fields }: Feed, overrides: FieldAliases): RecordFields {
  const namesOf = (type: string) =>
    Object.keys(table.columns)
      .filter((column) => table.columns[column] === type)
      .flatMap((column) => [...(overrides[column] ?? []), ...(fields[column] ?? [])]);
  const timeNames = namesOf('timestamptz');
  return {
    idNames: namesOf('uuid'),
    see(records) {
      return records.flatMap((record) => {
        for (const name of timeNames) {
          const writtenTime = valueAt(record, name);
          const time = readTime(writtenTime);
          if (time !== undefined)
            return [{ time: Date.parse(time), writtenTime: writtenTime as string | number, record }];
        }
        return [];
      });
    },
  };
}

/** The value under a wire name, in which `a.b` reaches into an object. */
export function valueAt(record: unknown, name: string): unknown {
  return name
    .split('.')
    .reduce(
      (value, key) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
      record,
    );
}
