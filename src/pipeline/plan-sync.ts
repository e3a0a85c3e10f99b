import type { Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { noteConcern, noteSavings, readHabits } from '../warehouse/queries/cadence.ts';
import {
  dropLongWindows,
  findSyncBegin,
  findSyncGaps,
  insertWindows,
  lockPlanning,
} from '../warehouse/queries/planning.ts';
import { askAgain } from '../warehouse/queries/refusals.ts';
import { type SeriesKey, seriesOf, type WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { dayRange, daysIn } from '../window/day-range.ts';
import { longestWindowDays } from '../window/request-range.ts';
import { settledBefore } from '../window/wanted-days.ts';
import type { Load } from './load.ts';
import { batches, cutGaps } from './plan-windows.ts';
import type { ResolvedRun } from './resolve-job.ts';
import { daysToRecheck, type SyncMoment, spacePolls } from './space-polls.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** What a sync is to do. */
export interface SyncPlan {
  readonly scope: WindowScope;
  /** The series that it polls. */
  readonly series: readonly SeriesKey[];
  /** How many it leaves out, since they have had no news for long. */
  readonly leftOut: number;
  /** Requests that this saves at the least, less what polls after a pause spend more. */
  readonly requestsSaved: number;
}

/** The same for the moment at which it begins. */
export interface DueSync extends SyncPlan {
  /** First day that may still change: from there on, days are loaded as they happen. */
  readonly unsettledFrom: Day;
  /** Days before today that it drains again of every series. */
  readonly recheckDays: number;
  /** Series whose live answers it reads. */
  readonly live: readonly SeriesKey[];
}

/** Plans a sync of a job that begins now; `undefined` where the job's period is over. */
export async function planDueSync(
  { job, warehouse }: { job: Job; warehouse: Warehouse },
  { feed, today, clocks }: ResolvedRun,
  scope: WindowScope,
): Promise<DueSync | undefined> {
  const now = clocks.now();
  const unsettledFrom = settledBefore(today, job.lookbackDays).toString();
  const recheckDays = await daysToRecheck(warehouse, job, feed, now);
  const hasLive = feed.live !== undefined && scope.to === today.toString();
  const moment = { now, today, unsettledFrom, recheckDays, hasLive };
  const plan = await planSync(warehouse, job, scope, moment);
  return plan && { ...plan, unsettledFrom, recheckDays, live: hasLive ? plan.series : [] };
}

/**
 * Plans the days that a sync drains: of each series those since its coverage's end, and the unsettled days again. Where the
 * job's cadence is adaptive, series that are not due are left out.
 * @returns what the sync has to drain, with what earlier runs left there; `undefined` where the job's period is over
 */
async function planSync(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  moment: SyncMoment & { readonly hasLive: boolean },
): Promise<SyncPlan | undefined> {
  const { unsettledFrom, now, hasLive } = moment;
  return withWarehouseRetries(() =>
    warehouse.transaction().execute(async (trx) => {
      await lockPlanning(trx, scope.feed);
      await dropLongWindows(trx, scope, longestWindowDays(job.stepDays, job.service.endDate));
      const from = await findSyncBegin(trx, scope, unsettledFrom);
      if (from === null) return undefined;
      await askAgain(trx, { ...scope, from });
      const gaps = await findSyncGaps(trx, scope, unsettledFrom);
      const habits = job.cadence.adaptive ? await readHabits(trx, scope, unsettledFrom) : undefined;
      const spaced = habits && spacePolls(job, scope, { habits, gaps, hasLive }, moment);
      const wanted = cutGaps(spaced?.gaps ?? gaps, job);
      for (const batch of batches(wanted)) await insertWindows(trx, scope, batch);
      await noteConcern(trx, scope, unsettledFrom);
      const savings = spaced?.savings ?? [];
      await noteSavings(trx, scope, savings, now);
      return {
        scope: { ...scope, from },
        series: spaced?.series ?? seriesOf(scope),
        leftOut: savings.filter(({ isLeftOut }) => isLeftOut).length,
        requestsSaved: savings.reduce((sum, { requests }) => sum + requests, 0),
      };
    }),
  );
}

/** What a full live answer may have left out is in the historical feed, for the days that the live feed reaches over. */
export async function planCutOff(load: Load, series: readonly SeriesKey[]): Promise<void> {
  const { warehouse, job, scope, feed, log } = load;
  const days = Math.ceil(feed.live!.hours / 24);
  log.warn(
    { series: series.length },
    `live answers are as long as their limit and may be cut off; asking the historical feed for the last ${days + 1} days of these series`,
  );
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
