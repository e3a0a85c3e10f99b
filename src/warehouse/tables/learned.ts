import { type Kysely, sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';

/** A fact that a probe has learned about a feed. */
export interface LearnedFact {
  readonly fact: string;
  /** As it was stored; only the probe interprets it. */
  readonly value: unknown;
  readonly evidence: string;
  readonly learned_at: Date;
}

export async function readLearnedFacts(db: Kysely<Database>, feed: string): Promise<LearnedFact[]> {
  const { rows } = await sql<LearnedFact>`
    select fact, value, evidence, learned_at from gmsi.learned_facts where feed = ${feed}`.execute(db);
  return rows;
}

/** Stores facts, in place of earlier values. */
export async function saveLearnedFacts(
  db: Kysely<Database>,
  feed: string,
  facts: readonly { readonly fact: string; readonly value: unknown; readonly evidence: string }[],
): Promise<void> {
  await sql`
    insert into gmsi.learned_facts (feed, fact, value, evidence)
    select ${feed}, learned.*
    from unnest(${facts.map(({ fact }) => fact)}::text[], ${facts.map(({ value }) => JSON.stringify(value))}::jsonb[],
                ${facts.map(({ evidence }) => evidence)}::text[]) as learned
    on conflict (feed, fact) do update
    set value = excluded.value, evidence = excluded.evidence, learned_at = now()`.execute(db);
}

export type FieldsSeen = ReadonlyMap<string, 'column' | 'extra'>;

/** Returns the field names that loads of a feed have stored. */
export async function storedFields(db: Kysely<Database>, feed: string): Promise<string[]> {
  const { rows } = await sql<{ field: string }>`
    select field from gmsi.wire_fields where feed = ${feed}`.execute(db);
  return rows.map(({ field }) => field);
}

/** How a load's records differ from those of the loads before it. */
export interface FieldChanges {
  readonly appeared: readonly string[];
  readonly vanished: readonly string[];
}

/** How many names are stored for a feed, so that a service with random names cannot fill the table. */
const mostFields = 1000;

/**
 * Stores the field names that a load has seen. Returns new ones, and those of the last load that are missing. In a feed's
 * first load, no name counts as new. Stores at most `mostFields` names.
 */
export async function rememberFields(
  warehouse: Warehouse,
  feed: string,
  loadId: number,
  seen: FieldsSeen,
): Promise<FieldChanges> {
  if (seen.size === 0) return { appeared: [], vanished: [] };
  return warehouse.transaction().execute(async (trx) => {
    const { rows: known } = await sql<{ field: string; last_load_id: number }>`
      select field, last_load_id from gmsi.wire_fields where feed = ${feed}`.execute(trx);
    const last = Math.max(...known.map((row) => row.last_load_id));
    const names = new Set(known.map((row) => row.field));
    const appeared = [...seen.keys()]
      .filter((field) => !names.has(field))
      .slice(0, Math.max(0, mostFields - names.size));
    const remembered = new Set([...names, ...appeared]);
    const stored = [...seen].filter(([field]) => remembered.has(field)).sort();
    await sql`
      insert into gmsi.wire_fields (feed, field, kept_in, first_load_id, last_load_id)
      select ${feed}, field, kept_in, ${loadId}::bigint, ${loadId}::bigint
      from unnest(${stored.map(([field]) => field)}::text[], ${stored.map(([, keptIn]) => keptIn)}::text[])
        as seen (field, kept_in)
      on conflict (feed, field) do update
      set kept_in = excluded.kept_in, last_load_id = greatest(wire_fields.last_load_id, excluded.last_load_id)`.execute(
      trx,
    );
    return {
      appeared: known.length === 0 ? [] : appeared,
      vanished: known
        .filter((row) => row.last_load_id === last && !seen.has(row.field))
        .map((row) => row.field),
    };
  });
}

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
