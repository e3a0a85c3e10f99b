import { type RawBuilder, sql } from 'kysely';

/**
 * Returns a time as text (UTC) to the microsecond. A `Date` would be cut to the millisecond: as the moment of a further
 * question, it would be before the version that it is of, and compared with what is stored, it would differ.
 */
export function exactTime(time: string | RawBuilder<unknown>): RawBuilder<string> {
  return sql`to_char((${typeof time === 'string' ? sql.ref(time) : time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
