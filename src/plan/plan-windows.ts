import type { Job } from '../config/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import {
  dropLongWindows,
  findGaps,
  forgetRefused,
  type Gap,
  insertWindows,
  joinOpenWindows,
  lockPlanning,
  type PlannedWindow,
} from '../warehouse/tables/planning.ts';
import { askAgain, cutAtBeginning, cutRefused } from '../warehouse/tables/refusals.ts';
import { keyOfSeries, type WindowScope } from '../warehouse/tables/series.ts';
import type { Waiting } from '../warehouse/turns.ts';
import { cutWindows, longestWindowDays } from './cut-windows.ts';
import { dayRange } from './days.ts';

export interface PlanOptions {
  /** Plan days that are covered already, too. */
  readonly fullRefresh: boolean;
  /** Ask again for all windows that were refused, not only for a few. */
  readonly retryRefused: boolean;
}

/** Windows of a job's missing days are written in batches of this many, so that no job is too large for the memory. */
const batchSize = 5_000;

/**
 * Plans what a job is missing: wanted days less covered days less days that a window stands for, cut into windows.
 * @returns how many windows were added
 */
export async function planWindows(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  options: PlanOptions,
  today: Day,
  waiting: Waiting = {},
): Promise<number> {
  return warehouse.transaction().execute(async (trx) => {
    await lockPlanning(trx, scope.feed, waiting);
    if (options.retryRefused) await forgetRefused(trx, scope);
    await cutAtBeginning(trx, scope);
    await dropLongWindows(trx, scope, longestWindowDays(job.stepDays, job.service.endDate));
    const gaps = await findGaps(trx, scope, { ignoreCoverage: options.fullRefresh });
    let planned = 0;
    for (const batch of batches(cutGaps(gaps, job, today))) {
      await insertWindows(trx, batch);
      planned += batch.length;
    }
    await joinOpenWindows(trx, scope, today);
    // After that, so that a window that may be refused again is not joined with one that is answered.
    await askAgain(trx, scope);
    return planned;
  });
}

/**
 * Plans a part of what was refused together with older days, once nothing else of a job is open.
 * @param round how often this was done in this load: while no series' first day is known, each round takes twice as many
 * series
 * @returns true if there is something to drain again
 */
export async function cutRefusedWindows(
  warehouse: Warehouse,
  scope: WindowScope,
  round: number,
  waiting: Waiting,
): Promise<boolean> {
  const cut = await warehouse.transaction().execute(async (trx) => {
    await lockPlanning(trx, scope.feed, waiting);
    return cutRefused(trx, scope, 2 ** Math.min(round, 30));
  });
  return cut > 0;
}

/**
 * Cuts the gaps of all series into windows. Most series have the same gaps, so each set of gaps is cut only once.
 * @param gaps those of a series together, in the order of time
 */
export function* cutGaps(gaps: readonly Gap[], job: Job, today: Day): Iterable<PlannedWindow> {
  if (job.service.endDate === 'ignored') return yield* windowsToToday(gaps, today);
  const shape = { stepDays: job.stepDays, endDate: job.service.endDate, order: job.order };
  const cut = new Map<string, { first_day: string; last_day: string }[]>();
  for (const { from, to, ...series } of gaps) {
    const key = `${from}/${to}`;
    let windows = cut.get(key);
    if (!windows) {
      windows = cutWindows([dayRange(from, to)], shape).map((days) => ({
        first_day: days.from.toString(),
        last_day: days.to.toString(),
      }));
      cut.set(key, windows);
    }
    for (const window of windows) yield { ...series, ...window };
  }
}

/** One window for each series, from its first missing day on: its answer includes the days of the other gaps. */
function* windowsToToday(gaps: readonly Gap[], today: Day): Iterable<PlannedWindow> {
  let before: string | undefined;
  for (const { from, to: _, ...series } of gaps) {
    const key = keyOfSeries(series);
    if (key !== before) yield { ...series, first_day: from, last_day: today };
    before = key;
  }
}

/** Cut into batches that are small enough to send. */
export function* batches<T>(items: Iterable<T>): Iterable<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    if (batch.push(item) < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
