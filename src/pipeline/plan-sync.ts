import type { Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import {
  findSyncBegin,
  findSyncGaps,
  type Gap,
  insertWindows,
  lockPlanning,
} from '../warehouse/queries/planning.ts';
import type { SeriesKey, WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { dayRange, daysIn } from '../window/day-range.ts';
import { batches, cutGaps } from './plan-windows.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/**
 * Plans the days that a sync drains: of each series those since its coverage's end, and the unsettled days again. Days
 * that were missed are windows of their own, since what is found there is found after the fact.
 * @param unsettledFrom the first day that may still change
 * @returns what the sync has to drain, with what earlier runs left there; `undefined` where the job's period is over
 */
export async function planSync(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  unsettledFrom: Day,
): Promise<WindowScope | undefined> {
  return withWarehouseRetries(() =>
    warehouse.transaction().execute(async (trx) => {
      await lockPlanning(trx, scope.feed);
      const from = await findSyncBegin(trx, scope, unsettledFrom);
      if (from === null) return undefined;
      const gaps = await findSyncGaps(trx, scope, unsettledFrom);
      const parts = gaps.flatMap((gap) => splitAt(gap, unsettledFrom));
      for (const batch of batches(cutGaps(parts, job))) await insertWindows(trx, scope, batch);
      return { ...scope, from };
    }),
  );
}

/** Plans the last days of some series once more, up to the end of the scope. */
export async function planAgain(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  series: readonly SeriesKey[],
  days: number,
): Promise<void> {
  const { to } = dayRange(scope.from, scope.to);
  const from = to.subtract({ days: Math.min(days, daysIn(dayRange(scope.from, scope.to)) - 1) });
  const gaps = series.map((key) => ({ ...key, from: from.toString(), to: to.toString() }));
  await withWarehouseRetries(() =>
    warehouse.transaction().execute(async (trx) => {
      await lockPlanning(trx, scope.feed);
      for (const batch of batches(cutGaps(gaps, job))) await insertWindows(trx, scope, batch);
    }),
  );
}

function splitAt(gap: Gap, day: Day): Gap[] {
  if (gap.to < day || gap.from >= day) return [gap];
  const { from: before } = dayRange(day, day);
  return [
    { ...gap, to: before.subtract({ days: 1 }).toString() },
    { ...gap, from: day },
  ];
}
