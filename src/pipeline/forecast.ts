import type { Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { coverageOf, recordsPerDay } from '../warehouse/queries/status.ts';
import {
  countByState,
  findGaps,
  type WindowScope,
  type WindowsByState,
} from '../warehouse/queries/windows.ts';
import { dayRange } from '../window/day-range.ts';
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
  const openWindows = await countByState(warehouse, scope);
  const perDay = await recordsPerDay(warehouse, scope);
  const { covered, wanted } = await coverageOf(warehouse, scope);
  const toResume =
    openWindows.pending +
    openWindows.draining +
    openWindows.failed +
    (options.retryRefused ? openWindows.refused : 0);
  let newWindows = 0;
  let expected = toResume;
  for (const window of cutGaps(gaps, job)) {
    newWindows++;
    if (perDay !== null)
      expected += expectedRequests(
        [dayRange(window.first_day, window.last_day)],
        perDay,
        job.service.pageSize,
      );
  }
  return {
    coveredDays: covered,
    wantedDays: wanted,
    newWindows,
    openWindows,
    leastRequests: newWindows + toResume,
    expectedRequests: perDay === null ? null : expected,
  };
}
