import { type RawBuilder, sql } from 'kysely';

/** A past moment: a time as text with its zone, or the name of one (`gmsi.moments`), which begins with a letter. */
export type Moment = string;

export function momentSql(moment: Moment): RawBuilder<Date> {
  return /^\d/.test(moment) ? sql`${moment}::timestamptz` : sql`gmsi.moment(${moment})`;
}
