import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';

export interface MonthlyScore {
  /** `YYYY-MM` */
  readonly month: string;
  readonly headlines: number;
  /** Mean scores, -1 to 1. */
  readonly directional: number | null;
  readonly semantic: number | null;
}

/** Mean scores of one country and topic by month (UTC), over its last months with headlines. */
export async function monthlyScores(
  warehouse: Warehouse,
  { country, topic, months }: { country: string; topic: string; months: number },
): Promise<MonthlyScore[]> {
  const { rows } = await sql<MonthlyScore>`
    with last as (
      select max(published_at) as at from gmsi.headlines where country = ${country} and topic = ${topic}
    )
    select to_char(published_at at time zone 'UTC', 'YYYY-MM') as month, count(*) as headlines,
           avg(directional_score) as directional, avg(semantic_score) as semantic
    from gmsi.headlines
    where country = ${country} and topic = ${topic} and match_type = 'COMBINED' and retracted_at is null
      and published_at >= (select date_trunc('month', at, 'UTC') - make_interval(months => ${months - 1}::int) from last)
    group by 1 order by 1
  `.execute(warehouse);
  return rows;
}
