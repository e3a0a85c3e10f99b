import { feedNamed } from '../feeds/catalog.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { gmsiHeadlines } from '../feeds/gmsi-headlines.ts';
import { refreshList } from '../load/resolve-load.ts';
import { missingLists } from '../plan/scope.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLearnedFacts, saveLearnedFacts } from '../warehouse/tables/learned.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import type { Probing } from './ask.ts';
import { chooseSeries } from './choose-series.ts';
import {
  agree,
  type FactName,
  type FactValue,
  factNames,
  type ProbeFindings,
  readFactValue,
} from './fact.ts';
import { probe } from './probe.ts';

/** Without a job, the historical GMSI headlines are probed. */
export interface ProbeContext extends Omit<Probing, 'feed' | 'origin'> {
  readonly warehouse: Warehouse;
}

/** The findings of a probe, and its requests. */
export interface ProbeReport {
  readonly feed: Feed;
  readonly series: Series | undefined;
  /** Requests sent, including failed ones and those for the lookups. */
  readonly requests: number;
  readonly lessons: readonly Lesson[];
}

/**
 * Probes a feed and stores the learned facts. Loads missing lookups first.
 * @throws errors that end the probe: a refused key, a spent budget of the month, the signal's reason
 */
export async function probeService(context: ProbeContext): Promise<ProbeReport> {
  const { warehouse, client, job, signal } = context;
  const clock = () => new Date(context.clock.now());
  const feed = job ? feedNamed(job.feed) : gmsiHeadlines;
  const origin = originOf(warehouse);
  for (const list of missingLists(feed, await readLookups(warehouse)))
    await refreshList(warehouse, client, origin, list, { clock, signal });
  const series = await chooseSeries(warehouse, feed, job, await readLookups(warehouse));
  const probed = await probe({ ...context, feed, origin }, series);
  const lessons = await learn(warehouse, feed.name, probed.findings);
  return { feed, series: probed.series, requests: client.requests, lessons };
}

/** A fact after a probe. */
export interface Lesson {
  readonly fact: FactName;
  /**
   * - `learned`: not known before
   * - `confirmed`: as it was learned before
   * - `changed`: contradicts what was learned before, which stays
   * - `not learned`: the answers do not tell; what was learned before, if anything, stays
   */
  readonly standing: 'learned' | 'confirmed' | 'changed' | 'not learned';
  /** The finding; `null` if the answers do not show it. */
  readonly value: FactValue | null;
  /** How it was found, or why it was not. */
  readonly evidence: string;
  readonly before: { readonly value: FactValue; readonly learnedAt: Date } | null;
}

/** Compares the findings of a probe with the learned facts, and stores new ones. */
async function learn(warehouse: Warehouse, feed: string, findings: ProbeFindings): Promise<Lesson[]> {
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
      const standing = !isAgreed ? 'changed' : before ? 'confirmed' : 'learned';
      return { fact, standing, value, evidence, before };
    });
    const learned = lessons.filter(({ standing }) => standing === 'learned');
    await saveLearnedFacts(trx, feed, learned);
    return lessons;
  });
}
