import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../tables/database.ts';

export interface MonthlyScore {
  /** `YYYY-MM` */
  readonly month: string;
  readonly headlines: number;
  /** Mean scores, -1 to 1. */
  readonly directional: number | null;
  readonly semantic: number | null;
}

/** Mean scores of one country and topic by month, for days (UTC) from `from` to `to`, both included. */
export async function monthlyScores(
  warehouse: Warehouse,
  { country, topic, from, to }: { country: string; topic: string; from: Day; to: Day },
): Promise<MonthlyScore[]> {
  const { rows } = await sql<MonthlyScore>`
    select to_char(published_at at time zone 'UTC', 'YYYY-MM') as month, count(*) as headlines,
           avg(directional_score) as directional, avg(semantic_score) as semantic
    from gmsi.headlines
    where country = ${country} and topic = ${topic} and match_type = 'COMBINED' and retracted_at is null
      and published_at >= ${from}::date at time zone 'UTC' and published_at < (${to}::date + 1) at time zone 'UTC'
    group by 1 order by 1
  `.execute(warehouse);
  return rows;
}
