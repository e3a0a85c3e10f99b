import { type Kysely, sql, type Transaction } from 'kysely';
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
  return db
    .selectFrom('gmsi.learned_facts')
    .select(['fact', 'value', 'evidence', 'learned_at'])
    .where('feed', '=', feed)
    .execute();
}

/** Stores facts, in place of earlier values. */
export async function saveLearnedFacts(
  db: Kysely<Database>,
  feed: string,
  facts: readonly { readonly fact: string; readonly value: unknown; readonly evidence: string }[],
): Promise<void> {
  if (facts.length === 0) return;
  await db
    .insertInto('gmsi.learned_facts')
    .values(
      facts.map(({ fact, value, evidence }) => ({ feed, fact, value: JSON.stringify(value), evidence })),
    )
    .onConflict((conflict) =>
      conflict.columns(['feed', 'fact']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
        evidence: eb.ref('excluded.evidence'),
        learned_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

export type FieldsSeen = ReadonlyMap<string, 'column' | 'extra'>;

/** Returns the field names that loads of a feed have stored. */
export async function storedFields(db: Kysely<Database>, feed: string): Promise<string[]> {
  const rows = await db.selectFrom('gmsi.wire_fields').select('field').where('feed', '=', feed).execute();
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
    const known = await trx
      .selectFrom('gmsi.wire_fields')
      .select(['field', 'last_load_id'])
      .where('feed', '=', feed)
      .execute();
    const last = Math.max(...known.map((row) => row.last_load_id));
    const names = new Set(known.map((row) => row.field));
    const appeared = [...seen.keys()]
      .filter((field) => !names.has(field))
      .slice(0, Math.max(0, mostFields - names.size));
    const remembered = new Set([...names, ...appeared]);
    await upsertFields(trx, feed, loadId, new Map([...seen].filter(([field]) => remembered.has(field))));
    return {
      appeared: known.length === 0 ? [] : appeared,
      vanished: known
        .filter((row) => row.last_load_id === last && !seen.has(row.field))
        .map((row) => row.field),
    };
  });
}

async function upsertFields(
  trx: Transaction<Database>,
  feed: string,
  loadId: number,
  seen: FieldsSeen,
): Promise<void> {
  if (seen.size === 0) return;
  await trx
    .insertInto('gmsi.wire_fields')
    .values(
      [...seen]
        .sort()
        .map(([field, kept_in]) => ({ feed, field, kept_in, first_load_id: loadId, last_load_id: loadId })),
    )
    .onConflict((conflict) =>
      conflict.columns(['feed', 'field']).doUpdateSet({
        kept_in: sql`excluded.kept_in`,
        last_load_id: sql`greatest(wire_fields.last_load_id, excluded.last_load_id)`,
      }),
    )
    .execute();
}
