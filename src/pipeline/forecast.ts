import type { Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { findGaps } from '../warehouse/queries/planning.ts';
import { coverageOf, recordsPerDay } from '../warehouse/queries/status.ts';
import { countByLength, countByState, type WindowsByState } from '../warehouse/queries/window-counts.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import { dayRange, daysIn } from '../window/day-range.ts';
import { expectedRequests } from '../window/expected-requests.ts';
import { cutGaps, type PlanOptions } from './plan-windows.ts';

/** What a backfill of a job would do. */
export interface Forecast {
  readonly coveredDays: number;
  readonly wantedDays: number;
  /** Windows that would be added, and those that earlier runs left behind. */
  readonly newWindows: number;
  readonly openWindows: WindowsByState;
  /** One request a window: what it costs if no window has a second page. */
  readonly leastRequests: number;
  /** By the records a day that this job's series have had so far; `null` before anything is drained. */
  readonly expectedRequests: number | null;
}

/** Plans a job without writing anything or asking the service. */
export async function forecast(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  options: PlanOptions,
): Promise<Forecast> {
  const gaps = await findGaps(warehouse, scope, { ignoreCoverage: options.fullRefresh });
  const added = [...cutGaps(gaps, job)].map((window) => ({
    days: daysIn(dayRange(window.first_day, window.last_day)),
    windows: 1,
  }));
  const left = await countByLength(warehouse, scope, options.retryRefused ? 'all' : 'a few');
  const perDay = await recordsPerDay(warehouse, scope);
  const { covered, wanted } = await coverageOf(warehouse, scope);
  const all = [...added, ...left];
  return {
    coveredDays: covered,
    wantedDays: wanted,
    newWindows: added.length,
    openWindows: await countByState(warehouse, scope),
    leastRequests: all.reduce((total, { windows }) => total + windows, 0),
    expectedRequests: perDay === null ? null : expectedRequests(all, perDay, job.service.pageSize),
  };
}
