import type { Transaction } from 'kysely';
import type { Job } from '../config/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Database, Day } from '../warehouse/database.ts';
import {
  findGaps,
  forgetRefused,
  type Gap,
  insertWindows,
  joinOpenWindows,
  type PlannedWindow,
  planAlone,
  takeLongWindows,
} from '../warehouse/tables/planning.ts';
import { askAgain, cutAtBeginning } from '../warehouse/tables/refusals.ts';
import { keyOfSeries, nameSeries, type WindowScope } from '../warehouse/tables/series.ts';
import type { Waiting } from '../warehouse/turns.ts';
import { cutWindows, longestWindowDays } from './cut-windows.ts';
import { dayRange } from './days.ts';

export interface PlanOptions {
  /** Also plan days that are covered already. */
  readonly fullRefresh: boolean;
  /** Request all refused windows again, not only a few. */
  readonly retryRefused: boolean;
}

/** Windows written at a time, so that even a huge job fits into memory. */
const batchSize = 5_000;

/**
 * Plans a job's missing days: wanted days minus covered days minus days of open windows, cut into windows.
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
  return planAlone(warehouse, scope.feed, waiting, async (trx) => {
    await nameSeries(trx, scope);
    if (options.retryRefused) await forgetRefused(trx, scope);
    await cutAtBeginning(trx, scope);
    await cutLongWindows(trx, job, scope, today);
    const gaps = await findGaps(trx, scope, { ignoreCoverage: options.fullRefresh });
    const planned = await insertGaps(trx, gaps, job, today);
    await joinOpenWindows(trx, scope, today);
    // After joining, so that a window that may be refused again is not joined with one that the service answers.
    await askAgain(trx, scope);
    return planned;
  });
}

/** Plans windows that are longer than now allowed again, cut into shorter ones. */
export async function cutLongWindows(
  trx: Transaction<Database>,
  job: Job,
  scope: WindowScope,
  today: Day,
): Promise<void> {
  const longest = longestWindowDays(job.stepDays, job.service.endDate);
  await insertGaps(trx, await takeLongWindows(trx, scope, longest), job, today);
}

/** Plans windows for gaps that are known. */
export async function planGaps(
  warehouse: Warehouse,
  job: Job,
  gaps: readonly Gap[],
  today: Day,
  waiting: Waiting = {},
): Promise<void> {
  await planAlone(warehouse, job.feed, waiting, (trx) => insertGaps(trx, gaps, job, today));
}

/** Inserts windows for gaps. @returns how many */
export async function insertGaps(
  trx: Transaction<Database>,
  gaps: readonly Gap[],
  job: Job,
  today: Day,
): Promise<number> {
  let planned = 0;
  let batch: PlannedWindow[] = [];
  const insert = async () => {
    if (batch.length > 0) await insertWindows(trx, batch);
    planned += batch.length;
    batch = [];
  };
  for (const window of cutGaps(gaps, job, today)) if (batch.push(window) === batchSize) await insert();
  await insert();
  return planned;
}

/**
 * Cuts the gaps of all series into windows. Most series have the same gaps, so each set of gaps is cut only once.
 * @param gaps ordered by series, then by time
 */
export function* cutGaps(gaps: readonly Gap[], job: Job, today: Day): Iterable<PlannedWindow> {
  if (job.service.endDate === 'ignored') return yield* windowsToToday(gaps, today);
  const shape = { stepDays: job.stepDays, endDate: job.service.endDate, order: job.order };
  const cut = new Map<string, { first_day: string; last_day: string }[]>();
  for (const { from, to, ...series } of gaps) {
    const key = `${from}/${to}`;
    let windows = cut.get(key);
    if (!windows) {
      windows = cutWindows(dayRange(from, to), shape).map((days) => ({
        first_day: days.from.toString(),
        last_day: days.to.toString(),
      }));
      cut.set(key, windows);
    }
    for (const window of windows) yield { ...series, ...window };
  }
}

/** Yields one window for each series, from its first missing day to today, which includes its other gaps. */
function* windowsToToday(gaps: readonly Gap[], today: Day): Iterable<PlannedWindow> {
  let before: string | undefined;
  for (const { from, to: _, ...series } of gaps) {
    const key = keyOfSeries(series);
    if (key !== before) yield { ...series, first_day: from, last_day: today };
    before = key;
  }
}
