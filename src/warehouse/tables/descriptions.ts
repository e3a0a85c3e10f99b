import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';

export interface KeptDescription {
  readonly facts: Readonly<Record<string, string>>;
  readonly first_seen_at: Date;
}

/** Stores the service's description if it differs from the last one. @returns the last two, the newest first */
export async function keepDescription(
  warehouse: Warehouse,
  facts: KeptDescription['facts'],
): Promise<KeptDescription[]> {
  const json = JSON.stringify(facts);
  return warehouse.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update gmsi.service_descriptions set last_seen_at = now()
      where description_id = (select max(description_id) from gmsi.service_descriptions) and facts = ${json}::jsonb
    `.execute(trx);
    if (!numAffectedRows)
      await sql`insert into gmsi.service_descriptions (facts) values (${json}::jsonb)`.execute(trx);
    const { rows } = await sql<KeptDescription>`
      select facts, first_seen_at from gmsi.service_descriptions order by description_id desc limit 2`.execute(
      trx,
    );
    return rows;
  });
}
