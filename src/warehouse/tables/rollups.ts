import { type Kysely, sql } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import type { Database, Day } from '../database.ts';
import { seriesColumns } from './series.ts';

/** A series of headlines, and its first and last hour as PostgreSQL writes them. */
export interface RolledUpSeries {
  readonly country: string;
  readonly topic: string;
  readonly match_type: string;
  readonly first_hour: string;
  readonly last_hour: string;
}

/** Returns the series that have headlines or rollups on some days; an open end means no bound. */
export async function seriesToRollUp(
  warehouse: Warehouse,
  days: { readonly from: Day | undefined; readonly to: Day | undefined },
): Promise<RolledUpSeries[]> {
  const { rows } = await sql<RolledUpSeries>`
    select country, topic, match_type, first_hour::text, last_hour::text
    from gmsi.series_to_roll_up(${days.from ?? null}::date, ${days.to ?? null}::date)
  `.execute(warehouse);
  return rows;
}

/** Computes a series again, in its own transaction. @returns how many rows of the rollups were wrong */
export async function rollUp(warehouse: Warehouse, series: RolledUpSeries): Promise<number> {
  const { country, topic, match_type, first_hour, last_hour } = series;
  const { rows } = await sql<{ corrected: number }>`
    select gmsi.roll_up(${country}, ${topic}, ${match_type}, ${first_hour}::timestamptz, ${last_hour}::timestamptz, true)
      as corrected
  `.execute(warehouse);
  return rows[0]!.corrected;
}

/** Returns the series of a feed and match type that have had the most records a day so far, the busiest first. */
export async function busiestSeries(
  db: Kysely<Database>,
  feed: string,
  matchType: string,
  atMost: number,
): Promise<Series[]> {
  const { rows } = await sql<Series>`
    select ${seriesColumns} from gmsi.windows
    where feed = ${feed} and match_type = ${matchType} and state = 'drained' and records > 0
    group by ${seriesColumns}
    order by sum(records)::float8 / sum(last_day - first_day + 1) desc limit ${atMost}
  `.execute(db);
  return rows;
}
