import { type Kysely, sql } from 'kysely';
import type { Country, Topic } from '../../api/lookups.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../tables/database.ts';

/** The lookups as of their last refresh. */
export interface StoredLookups {
  readonly countries: readonly { code: string; name: string | null }[];
  readonly topics: readonly { name: string; category: string | null }[];
  /** `null` where they were never fetched. */
  readonly refreshedAt: Date | null;
}

/** Countries and topics that the service listed at the last refresh, in alphabetical order. */
export async function readLookups(db: Kysely<Database>): Promise<StoredLookups> {
  const countries = await db
    .selectFrom('countries')
    .selectAll()
    .where('listed', '=', true)
    .orderBy('country')
    .execute();
  const topics = await db
    .selectFrom('topics')
    .selectAll()
    .where('listed', '=', true)
    .orderBy('topic')
    .execute();
  const times = [...countries, ...topics].map((row) => row.refreshed_at.getTime());
  return {
    countries: countries.map((row) => ({ code: row.country, name: row.name })),
    topics: topics.map((row) => ({ name: row.topic, category: row.category })),
    refreshedAt: countries.length > 0 && topics.length > 0 ? new Date(Math.min(...times)) : null,
  };
}

/** Stores a refresh: what it lists is current, what it no longer lists stays, marked as not listed. */
export async function saveLookups(
  warehouse: Warehouse,
  countries: readonly Country[],
  topics: readonly Topic[],
): Promise<void> {
  await warehouse.transaction().execute(async (trx) => {
    // Refreshes of two runs come one after the other.
    await sql`select pg_advisory_xact_lock(hashtext('gmsi.lookups'))`.execute(trx);
    await trx.updateTable('countries').set({ listed: false }).execute();
    await trx.updateTable('topics').set({ listed: false }).execute();
    await sql`
      insert into gmsi.countries (country, name, extra)
      select * from unnest(${countries.map((row) => row.code)}::text[], ${countries.map((row) => row.name)}::text[],
                           ${countries.map((row) => json(row.extra))}::jsonb[])
      on conflict (country) do update
        set name = excluded.name, extra = excluded.extra, listed = true, refreshed_at = now()
    `.execute(trx);
    await sql`
      insert into gmsi.topics (topic, category, classification_rule, extra)
      select * from unnest(${topics.map((row) => row.name)}::text[], ${topics.map((row) => row.category)}::text[],
                           ${topics.map((row) => json(row.classificationRule))}::jsonb[], ${topics.map((row) => json(row.extra))}::jsonb[])
      on conflict (topic) do update
        set category = excluded.category, classification_rule = excluded.classification_rule,
            extra = excluded.extra, listed = true, refreshed_at = now()
    `.execute(trx);
  });
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
