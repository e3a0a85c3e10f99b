import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import { firstUnsettledDayAt } from '../plan/days.ts';
import { isListed } from '../warehouse/tables/loads.ts';
import { findGaps, type WantedDays } from '../warehouse/tables/planning.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import type { LoadEnd } from './ends.ts';
import type { Load } from './load.ts';

/** The warehouse does not show what a load has done. */
export class NotInWarehouse extends GmsiError {
  override readonly kind = 'retryable';

  constructor(what: string) {
    super(
      `${what} The warehouse has probably gone back in time, as after the restore of a backup or a failover that lost its last seconds.`,
      { hint: 'Run it again: it loads what is missing.' },
    );
  }
}

/**
 * Asks the warehouse whether a load has done what it was asked for. That no window is open does not show it: a warehouse that has
 * gone back in time has no windows either.
 * @param wanted what its days were planned by; `undefined` if it was to load no missing days
 * @param series those that it was to load
 * @returns `incomplete` if the warehouse no longer lists the load, or if settled days are not covered
 */
export async function endByEvidence(
  { warehouse, loadId, process, scope, clocks, startedAt, job }: Load,
  end: LoadEnd,
  wanted: WantedDays | undefined,
  series?: readonly Series[],
): Promise<LoadEnd> {
  const mayBeDone = end.outcome === 'done' || (end.outcome === 'incomplete' && end.error === undefined);
  if (!mayBeDone) return end;
  if (!(await isListed(warehouse, loadId, process.processId)))
    return { outcome: 'incomplete', error: new NotInWarehouse('The warehouse does not list this load.') };
  if (end.outcome !== 'done' || !wanted) return end;
  const asked = series && new Set(series.map(keyOfSeries));
  const firstUnsettled = firstUnsettledDayAt(clocks.earliest(startedAt), job.lookbackDays);
  const gaps = await findGaps(warehouse, scope, wanted);
  const missing = gaps.filter((gap) => gap.from < firstUnsettled && (asked?.has(keyOfSeries(gap)) ?? true));
  if (missing.length === 0) return end;
  const { from, to, country, topic, ticker } = missing[0]!;
  const name = [country, topic, ticker].filter((part) => part !== '').join(' ');
  const what = `Every window is drained, but not all days are covered, such as ${from} to ${to} of ${name || job.name}.`;
  return { outcome: 'incomplete', error: new NotInWarehouse(what) };
}
