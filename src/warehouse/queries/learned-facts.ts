import { type Kysely, sql } from 'kysely';
import type { Database } from '../tables/database.ts';

/** What a probe has learned about a feed. */
export interface LearnedFact {
  readonly fact: string;
  /** As it was stored; what it means is the probe's affair. */
  readonly value: unknown;
  readonly evidence: string;
  readonly learned_at: Date;
}

export async function readLearnedFacts(db: Kysely<Database>, feed: string): Promise<LearnedFact[]> {
  return db
    .selectFrom('learned_facts')
    .select(['fact', 'value', 'evidence', 'learned_at'])
    .where('feed', '=', feed)
    .execute();
}

/** Stores facts, in place of what was learned before. */
export async function saveLearnedFacts(
  db: Kysely<Database>,
  feed: string,
  facts: readonly { readonly fact: string; readonly value: unknown; readonly evidence: string }[],
): Promise<void> {
  if (facts.length === 0) return;
  await db
    .insertInto('learned_facts')
    .values(
      facts.map(({ fact, value, evidence }) => ({ feed, fact, value: JSON.stringify(value), evidence })),
    )
    .onConflict((conflict) =>
      conflict.columns(['feed', 'fact']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
        evidence: eb.ref('excluded.evidence'),
        learned_at: sql<Date>`now()`,
        confirmed_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

/** Notes that a probe has found facts as they were learned before. */
export async function confirmLearnedFacts(
  db: Kysely<Database>,
  feed: string,
  facts: readonly string[],
): Promise<void> {
  if (facts.length === 0) return;
  await db
    .updateTable('learned_facts')
    .set({ confirmed_at: sql<Date>`now()` })
    .where('feed', '=', feed)
    .where('fact', 'in', [...facts])
    .execute();
}
