import type { Job } from '../config/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { coverageOf, recordsPerDay } from '../warehouse/questions/status.ts';
import { findGaps, type Gap } from '../warehouse/tables/planning.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { countByLength, countByState, type WindowsByState } from '../warehouse/tables/windows.ts';
import { dayRange, daysIn } from './days.ts';
import { cutGaps, type PlanOptions } from './plan-windows.ts';

/** The plan of a backfill. */
export interface Forecast {
  readonly coveredDays: number;
  readonly wantedDays: number;
  /** Windows that would be added, and those that earlier runs left behind. */
  readonly newWindows: number;
  readonly openWindows: WindowsByState;
  /** One request a window: what it costs if no window has a second page. */
  readonly leastRequests: number;
  /** Estimated from the records a day of this job's series so far; `null` before anything is drained. */
  readonly expectedRequests: number | null;
}

/** Plans a job without writing anything or asking the service. */
export async function forecast(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  options: PlanOptions,
  today: Day,
): Promise<Forecast> {
  const gaps = await findGaps(warehouse, scope, { ignoreCoverage: options.fullRefresh });
  const added = countOfGaps(gaps, job, today);
  const left = await countByLength(warehouse, scope, options.retryRefused ? 'all' : 'a few');
  const perDay = await recordsPerDay(warehouse, scope);
  const { covered, wanted } = await coverageOf(warehouse, scope);
  const all = [...added, ...left];
  return {
    coveredDays: covered,
    wantedDays: wanted,
    newWindows: windowsOf(added),
    openWindows: await countByState(warehouse, scope),
    leastRequests: windowsOf(all),
    expectedRequests: perDay === null ? null : expectedRequests(all, perDay, job.service.pageSize),
  };
}

/** How many windows there are of a length in days. */
interface WindowsOfLength {
  readonly days: number;
  readonly windows: number;
}

function windowsOf(counts: readonly WindowsOfLength[]): number {
  return counts.reduce((total, { windows }) => total + windows, 0);
}

/** How many windows of each length gaps would be cut into. Most series have the same days, so few lengths are computed. */
function countOfGaps(gaps: readonly Gap[], job: Job, today: Day): WindowsOfLength[] {
  const alike = new Map<string, number>();
  for (const { first_day, last_day } of cutGaps(gaps, job, today)) {
    const days = `${first_day}/${last_day}`;
    alike.set(days, (alike.get(days) ?? 0) + 1);
  }
  return [...alike].map(([days, windows]) => {
    const [first, last] = days.split('/') as [string, string];
    return { days: daysIn(dayRange(first, last)), windows };
  });
}

/**
 * About how many requests draining windows takes, one a page. The least possible is one a window, whatever it returns,
 * so a window expected to be empty counts as one too.
 * @param windows how many windows there are of each length in days
 */
export function expectedRequests(
  windows: Iterable<WindowsOfLength>,
  recordsPerDay: number,
  pageSize: number,
): number {
  let requests = 0;
  for (const { days, windows: many } of windows) {
    requests += many * Math.max(1, Math.ceil((days * recordsPerDay) / pageSize));
  }
  return requests;
}
