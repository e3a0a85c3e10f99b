import type { Warehouse } from '../warehouse/connect.ts';
import { rollUp, seriesToRollUp } from '../warehouse/queries/rollups.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

export interface Rebuilt {
  readonly series: number;
  /** Rows of the rollups that were not right. */
  readonly mended: number;
  readonly interrupted: boolean;
}

/**
 * Sums up the rollups of some days (an open end is all there is) from the headlines anew: series by series, each in a
 * transaction of its own, so that a load waits for one series at the most.
 */
export async function rebuildRollups(
  warehouse: Warehouse,
  days: { readonly from: Day | undefined; readonly to: Day | undefined },
  stop: AbortSignal,
  onSeries: (done: number, all: number) => void,
): Promise<Rebuilt> {
  const all = await withWarehouseRetries(() => seriesToRollUp(warehouse, days));
  let series = 0;
  let mended = 0;
  for (const one of all) {
    if (stop.aborted) break;
    mended += await withWarehouseRetries(() => rollUp(warehouse, one));
    onSeries(++series, all.length);
  }
  return { series, mended, interrupted: series < all.length };
}
