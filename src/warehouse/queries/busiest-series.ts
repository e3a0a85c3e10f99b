import { type Kysely, sql } from 'kysely';
import type { Database, SeriesColumns } from '../tables/database.ts';

/** The series of a feed and match type that brought the most records a day so far, the busiest first. */
export async function busiestSeries(
  db: Kysely<Database>,
  feed: string,
  matchType: string,
  atMost: number,
): Promise<SeriesColumns[]> {
  const { rows } = await sql<SeriesColumns>`
    select feed, country, topic, ticker, match_type, variant from gmsi.windows
    where feed = ${feed} and match_type = ${matchType} and state = 'drained' and records > 0
    group by 1, 2, 3, 4, 5, 6
    order by sum(records)::float8 / sum(last_day - first_day + 1) desc limit ${atMost}
  `.execute(db);
  return rows;
}
