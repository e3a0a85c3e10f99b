import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../database.ts';

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
