import type { Warehouse } from '../warehouse/connect.ts';
import {
  confirmLearnedFacts,
  readLearnedFacts,
  saveLearnedFacts,
} from '../warehouse/queries/learned-facts.ts';
import { agree, type FactName, type FactValue, type Findings, factNames, readFactValue } from './fact.ts';

/**
 * - `learned`: not known before
 * - `confirmed`: as it was learned before
 * - `changed`: contradicts what was learned before, which stays
 * - `accepted`: contradicted it, and has taken its place
 * - `not learned`: the answers do not tell; what was learned before, if anything, stays
 */
export type Standing = 'learned' | 'confirmed' | 'changed' | 'accepted' | 'not learned';

/** A fact after a probe. */
export interface Lesson {
  readonly fact: FactName;
  readonly standing: Standing;
  /** What the probe found; `null` where its answers do not tell. */
  readonly value: FactValue | null;
  /** What it was found by, or why it was not. */
  readonly evidence: string;
  /** What was learned before. */
  readonly before: { readonly value: FactValue; readonly learnedAt: Date } | null;
}

/**
 * Compares what a probe found with what was learned before, and stores what is new.
 * @param accept store also what contradicts it
 */
export async function learn(
  warehouse: Warehouse,
  feed: string,
  findings: Findings,
  accept: boolean,
): Promise<Lesson[]> {
  return warehouse.transaction().execute(async (trx) => {
    const stored = new Map((await readLearnedFacts(trx, feed)).map((row) => [row.fact, row]));
    const lessons = factNames.map((fact): Lesson => {
      const finding = findings[fact];
      const row = stored.get(fact);
      const before = row ? { value: readFactValue(row.value), learnedAt: row.learned_at } : null;
      if (finding.value === undefined) {
        return { fact, standing: 'not learned', value: null, evidence: finding.reason, before };
      }
      const { value, evidence } = finding;
      const isAgreed = before === null || agree(before.value, value);
      const standing = !isAgreed ? (accept ? 'accepted' : 'changed') : before ? 'confirmed' : 'learned';
      return { fact, standing, value, evidence, before };
    });
    const isToBeSaved = ({ standing }: Lesson) => standing === 'learned' || standing === 'accepted';
    await saveLearnedFacts(trx, feed, lessons.filter(isToBeSaved));
    const confirmed = lessons.filter(({ standing }) => standing === 'confirmed');
    await confirmLearnedFacts(
      trx,
      feed,
      confirmed.map(({ fact }) => fact),
    );
    return lessons;
  });
}
