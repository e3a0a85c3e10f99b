import { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { recordsPerDay } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { requestsOfRefreshes } from '../warehouse/tables/loads.ts';
import { findOldest, insertWindows, joinOpenWindows, planAlone } from '../warehouse/tables/planning.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import { countByState } from '../warehouse/tables/windows.ts';
import type { Waiting } from '../warehouse/turns.ts';
import { longestWindowDays } from './cut-windows.ts';
import { type DayRange, dayRange, daysIn, firstUnsettledDay } from './days.ts';
import { expectedRequests } from './forecast.ts';

/** What the refreshes of a job may load again. */
interface RefreshLimits {
  /** Expected requests of a window, from the job's records a day so far. */
  readonly each: number;
  /** Windows that a month's refreshes may load: as many as `budget.refresh_percent` is enough for, and at least one. */
  readonly aMonth: number;
  /** Windows that the job has. */
  readonly all: number;
}

async function refreshLimits(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  grid: readonly DayRange[],
): Promise<RefreshLimits> {
  const longest = Math.max(1, ...grid.map(daysIn));
  const perDay = (await recordsPerDay(warehouse, scope)) ?? 0;
  const each = expectedRequests([{ days: longest, windows: 1 }], perDay, job.service.pageSize);
  const { requestsPerMonth, refreshPercent } = job.budget;
  const aMonth = Math.max(1, Math.floor((requestsPerMonth * refreshPercent) / 100 / each));
  return { each, aMonth, all: grid.length * seriesIn(scope) };
}

/** Returns the expected requests of a month's refreshes. */
export async function refreshRequests(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  { refreshes, firstUnsettled }: { refreshes: number; firstUnsettled: Day },
): Promise<number> {
  if (refreshes === 0) return 0;
  const grid = refreshGrid(job, scope, firstUnsettled);
  const { each, aMonth, all } = await refreshLimits(warehouse, job, scope, grid);
  return Math.min(aMonth, refreshes * all) * each;
}

/**
 * Plans windows whose days are all covered, those that were drained longest ago first, so that revisions are found that came
 * after the lookback. Plans fewer if the job has open windows, because these are drained with them, such as those that a refresh
 * has left because the budget was spent.
 * @returns how many windows are to be drained
 */
export async function planRefresh(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  today: Temporal.PlainDate,
  waiting: Waiting = {},
): Promise<number> {
  const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
  const grid = refreshGrid(job, scope, firstUnsettled);
  const { each, aMonth } = await refreshLimits(warehouse, job, scope, grid);
  const spent = await requestsOfRefreshes(warehouse, job.name);
  const windows = aMonth - Math.ceil(spent / each);
  if (windows <= 0) return 0;
  const days = grid.map(({ from, to }) => ({ from: from.toString(), to: to.toString() }));
  return planAlone(warehouse, scope.feed, waiting, async (trx) => {
    const { pending, draining, failed } = await countByState(trx, scope);
    const open = pending + draining + failed;
    const oldest = await findOldest(trx, scope, days, Math.max(0, windows - open));
    await insertWindows(trx, oldest);
    await joinOpenWindows(trx, scope, today.toString());
    return open + oldest.length;
  });
}

/**
 * Cuts the settled days of a job into windows. They begin on the same days in every month; otherwise each would have days that
 * were loaded again and days that were not.
 */
function refreshGrid(
  { stepDays, service }: Pick<Job, 'stepDays' | 'service'>,
  scope: WindowScope,
  firstUnsettled: Day,
): DayRange[] {
  const lastSettled = Temporal.PlainDate.from(firstUnsettled).subtract({ days: 1 }).toString();
  const [from, to] = [scope.from, scope.to < lastSettled ? scope.to : lastSettled];
  if (from > to) return [];
  if (service.endDate === 'ignored') return [dayRange(from, to)];
  const length = longestWindowDays(stepDays, service.endDate);
  const epoch = Temporal.PlainDate.from('1970-01-01');
  const before = Math.floor((daysIn(dayRange(epoch.toString(), from)) - 1) / length) * length;
  const grid: DayRange[] = [];
  for (let begin = epoch.add({ days: before }); begin.toString() <= to; begin = begin.add({ days: length })) {
    const end = begin.add({ days: length - 1 }).toString();
    grid.push(dayRange(begin.toString() < from ? from : begin.toString(), end > to ? to : end));
  }
  return grid;
}
