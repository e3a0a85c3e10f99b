import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../tables/database.ts';

/** A series of headlines and the hours, as PostgreSQL writes them, between which it has any. */
export interface RolledUpSeries {
  readonly country: string;
  readonly topic: string;
  readonly match_type: string;
  readonly first_hour: string;
  readonly last_hour: string;
}

/** The series that have headlines or rollups on some days; an open end is all there is. */
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

/** Sums up a series anew, in a transaction of its own. @returns how many rows of the rollups were not right */
export async function rollUp(warehouse: Warehouse, series: RolledUpSeries): Promise<number> {
  const { country, topic, match_type, first_hour, last_hour } = series;
  const { rows } = await sql<{ mended: number }>`
    select gmsi.roll_up(${country}, ${topic}, ${match_type}, ${first_hour}::timestamptz, ${last_hour}::timestamptz, true)
      as mended
  `.execute(warehouse);
  return rows[0]!.mended;
}

/** What there is of a rollup. */
export interface RollupExtent {
  readonly rollup: string;
  readonly rows: number;
  readonly first_day: Day | null;
  readonly last_day: Day | null;
}

export async function rollupExtents(warehouse: Warehouse): Promise<RollupExtent[]> {
  const { rows } = await sql<RollupExtent>`
    select 'sentiment_hourly' as rollup, count(*) as rows, (min(hour) at time zone 'UTC')::date as first_day,
           (max(hour) at time zone 'UTC')::date as last_day
    from gmsi.sentiment_hourly
    union all
    select 'sentiment_daily', count(*), min(day), max(day) from gmsi.sentiment_daily
  `.execute(warehouse);
  return rows;
}
