import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import { firstUnsettledDayAt } from '../plan/days.ts';
import { planGaps } from '../plan/plan-windows.ts';
import { daysFrom } from '../terminal/table.ts';
import type { Day } from '../warehouse/database.ts';
import { isListed } from '../warehouse/tables/loads.ts';
import { findGaps, type Gap, type WantedDays } from '../warehouse/tables/planning.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import { drainAll } from './drain-all.ts';
import type { LoadEnd } from './ends.ts';
import type { Load } from './load.ts';

/** The warehouse does not show what a load has done. */
export class NotInWarehouse extends GmsiError {
  override readonly kind = 'retryable';
}

/** The days that a load was to load. */
export interface Wanted {
  /** What they were planned by. */
  readonly days: WantedDays;
  /** Those of the job if not set. */
  readonly series?: readonly Series[];
}

/**
 * Drains all open windows of a load, then asks the warehouse whether its settled days are covered and the others drained. That
 * no window is open does not show it: a warehouse that has gone back in time has no windows either. Days that are missing are
 * planned and drained once more, such as those that settled since a window began.
 * @param wanted `undefined` if it was to load no missing days
 * @returns `incomplete` if the warehouse no longer lists the load, or if days are still missing
 */
export async function drainToEnd(load: Load, wanted: Wanted | undefined): Promise<LoadEnd> {
  for (let isAgain = false; ; isAgain = true) {
    const drained = await drainAll(load);
    const mayBeDone = drained.outcome === 'done' || (drained.outcome === 'incomplete' && !drained.error);
    if (!mayBeDone) return drained;
    if (!(await isKnown(load))) return { outcome: 'incomplete', error: goneBack('this load') };
    // If the clocks are too far apart, no day counts as covered.
    if (drained.outcome !== 'done' || !wanted || load.clocks.apart) return drained;
    const missing = await missingDays(load, wanted);
    if (missing.length === 0) return drained;
    if (isAgain) return { outcome: 'incomplete', error: stillMissing(missing, load) };
    load.log.info({ windows: missing.length }, 'days are still missing, so they are loaded');
    await planGaps(load.warehouse, load.job, missing, load.clock().toISOString().slice(0, 10), load);
  }
}

/** Returns the settled days that are not covered and the unsettled days that were not drained, except days of windows. */
async function missingDays(load: Load, { days, series }: Wanted): Promise<Gap[]> {
  const { warehouse, scope, clocks, startedAt, job, loadId } = load;
  const begun = firstUnsettledDayAt(clocks.earliest(startedAt), job.lookbackDays);
  // A sync may have been planned on the day before it began.
  const [firstUnsettled] = [begun, 'firstUnsettled' in days ? days.firstUnsettled : begun].sort() as [Day];
  const asked = series && new Set(series.map(keyOfSeries));
  const gaps = await findGaps(warehouse, scope, days, { firstUnsettled, readBy: loadId });
  return asked ? gaps.filter((gap) => asked.has(keyOfSeries(gap))) : gaps;
}

/** Returns true if the warehouse lists the load. */
export function isKnown({ warehouse, loadId, process }: Load): Promise<boolean> {
  return isListed(warehouse, { loadId, processId: process.processId });
}

/** Returns the error of a warehouse that no longer lists something that it had stored. */
export function goneBack(what: string): NotInWarehouse {
  return new NotInWarehouse(
    `The warehouse does not list ${what} any more: it has gone back in time, as after the restore of a backup ` +
      'or a failover that lost its last seconds.',
    { hint: 'Run it again: it loads what is missing.' },
  );
}

function stillMissing(missing: readonly Gap[], { job }: Load): NotInWarehouse {
  const { from, to, country, topic, ticker } = missing[0]!;
  const name = [country, topic, ticker].filter((part) => part !== '').join(' ');
  return new NotInWarehouse(
    `Every window is drained, but the warehouse does not have all days, such as ${daysFrom(from, to)} of ${name || job.name}.`,
    { hint: 'Run it again: it loads what is missing.' },
  );
}
