import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import {
  findGaps,
  findSyncBegin,
  joinOpenWindows,
  planAlone,
  readHabits,
  type SeriesHabit,
} from '../warehouse/tables/planning.ts';
import { askAgain } from '../warehouse/tables/refusals.ts';
import {
  everySeries,
  keyOfSeries,
  nameSeries,
  seriesOnly,
  type WindowScope,
} from '../warehouse/tables/series.ts';
import type { Waiting } from '../warehouse/turns.ts';
import { pollInterval } from './cadence.ts';
import { firstUnsettledDay } from './days.ts';
import { cutLongWindows, insertGaps } from './plan-windows.ts';

export interface DueSync {
  readonly scope: WindowScope;
  /** The series that it polls. */
  readonly series: readonly Series[];
  /** How many series it skips because they have had no news for long. */
  readonly seriesSkipped: number;
  /** First unsettled day. */
  readonly firstUnsettled: Day;
  /** Series whose live answers it reads. */
  readonly live: readonly Series[];
}

/**
 * Plans the days that a sync drains: for each series, the missing days since its watch began, and the unsettled days again.
 * With an adaptive cadence, skips series that are not due.
 * @returns the plan, with windows that earlier runs have not finished; `undefined` if the job's period is over
 */
export async function planDueSync(
  { job, warehouse, ...waiting }: { job: Job; warehouse: Warehouse } & Waiting,
  scope: WindowScope,
  { feed, today, now }: { feed: Feed; today: Temporal.PlainDate; now: Date },
): Promise<DueSync | undefined> {
  const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
  return planAlone(warehouse, scope.feed, waiting, async (trx) => {
    await nameSeries(trx, scope);
    await cutLongWindows(trx, job, scope, today.toString());
    const from = await findSyncBegin(trx, scope, firstUnsettled);
    if (from === null) return undefined;
    const gaps = await findGaps(trx, scope, { firstUnsettled });
    const habits = job.cadence.adaptive ? await readHabits(trx, scope, firstUnsettled) : undefined;
    const due = habits?.filter((habit) => isDue(habit, job, now)).map(seriesOnly);
    const dueKeys = due && new Set(due.map(keyOfSeries));
    const gapsOfDue = dueKeys ? gaps.filter((gap) => dueKeys.has(keyOfSeries(gap))) : gaps;
    await insertGaps(trx, gapsOfDue, job, today.toString());
    await joinOpenWindows(trx, { ...scope, from }, today.toString());
    await askAgain(trx, { ...scope, from });
    const series = due ?? everySeries(scope);
    return {
      scope: { ...scope, from },
      series,
      seriesSkipped: habits ? habits.length - series.length : 0,
      firstUnsettled,
      live: feed.live && scope.to === today.toString() ? series : [],
    };
  });
}

function isDue({ polled_at, news_at }: SeriesHabit, job: Job, now: Date): boolean {
  if (polled_at === null) return true;
  const history = { polledAt: polled_at, newsAt: news_at ?? polled_at };
  // A poll that lies further ahead than its interval was stored when a clock was wrong.
  return Math.abs(now.getTime() - polled_at.getTime()) >= pollInterval(history, job.cadence.longest);
}
