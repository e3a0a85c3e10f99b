import { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { completenessOf, recordsPerDay } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { findGaps, type Gap } from '../warehouse/tables/planning.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { countByLength, countByState } from '../warehouse/tables/windows.ts';
import { dayRange, daysIn, firstUnsettledDay } from './days.ts';
import { cutGaps, type PlanOptions } from './plan-windows.ts';

/** Plans a backfill without writing anything or sending a request. Days are those over all series that can be covered by now. */
export async function forecast(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  options: PlanOptions,
  today: Day,
) {
  const gaps = await findGaps(warehouse, scope, { ignoreCoverage: options.fullRefresh });
  const added = countOfGaps(gaps, job, today);
  const left = await countByLength(warehouse, scope, options.retryRefused ? 'all' : 'a few');
  const perDay = await recordsPerDay(warehouse, scope);
  const firstUnsettled = firstUnsettledDay(Temporal.PlainDate.from(today), job.lookbackDays).toString();
  const { covered, wanted } = await completenessOf(warehouse, scope, firstUnsettled);
  const all = [...added, ...left];
  return {
    covered,
    wanted,
    newWindows: windowsOf(added),
    /** Those that earlier runs have not finished. */
    openWindows: await countByState(warehouse, scope),
    /** One request a window, as if no window had a second page. */
    leastRequests: windowsOf(all),
    /** By the job's records a day so far; `null` before anything is drained. */
    expectedRequests: perDay === null ? null : expectedRequests(all, perDay, job.service.pageSize),
  };
}

interface WindowsOfLength {
  readonly days: number;
  readonly windows: number;
}

function windowsOf(counts: readonly WindowsOfLength[]): number {
  return counts.reduce((total, { windows }) => total + windows, 0);
}

/** Counts the windows of each length that the gaps need. Most series have the same gaps, so each set of days is cut only once. */
function countOfGaps(gaps: readonly Gap[], job: Job, today: Day): WindowsOfLength[] {
  const lengths = (of: readonly Gap[], windows: number) =>
    [...cutGaps(of, job, today)].map(({ first_day, last_day }) => ({
      days: daysIn(dayRange(first_day, last_day)),
      windows,
    }));
  // Answers that run to now join the gaps of a series.
  if (job.service.endDate === 'ignored') return lengths(gaps, 1);
  const alike = new Map<string, { readonly gap: Gap; readonly series: number }>();
  for (const gap of gaps) {
    const days = `${gap.from}/${gap.to}`;
    alike.set(days, { gap, series: (alike.get(days)?.series ?? 0) + 1 });
  }
  return [...alike.values()].flatMap(({ gap, series }) => lengths([gap], series));
}

/**
 * Estimates the requests for draining windows, one for each page and at least one for each window.
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
