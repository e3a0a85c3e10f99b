import { type RawBuilder, sql } from 'kysely';

/** A past moment: a time, or the name of one (`gmsi.moments`). */
export type Moment = Date | string;

export function momentSql(moment: Moment): RawBuilder<Date> {
  return typeof moment === 'string' ? sql`gmsi.moment(${moment})` : sql`${moment.toISOString()}::timestamptz`;
}

export function momentText(moment: Moment): string {
  return typeof moment === 'string' ? moment : moment.toISOString();
}
