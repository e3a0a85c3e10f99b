import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { noteConcern, readHabits, type SeriesHabit } from '../warehouse/tables/cadence.ts';
import {
  dropLongWindows,
  findGaps,
  findSyncBegin,
  insertWindows,
  joinOpenWindows,
  planAlone,
} from '../warehouse/tables/planning.ts';
import { askAgain } from '../warehouse/tables/refusals.ts';
import { everySeries, keyOfSeries, seriesOnly, type WindowScope } from '../warehouse/tables/series.ts';
import type { Waiting } from '../warehouse/turns.ts';
import { pollInterval } from './cadence.ts';
import { longestWindowDays } from './cut-windows.ts';
import { firstUnsettledDay } from './days.ts';
import { batches, cutGaps } from './plan-windows.ts';

export interface SyncPlan {
  readonly scope: WindowScope;
  /** The series that it polls. */
  readonly series: readonly Series[];
  /** How many series it skips because they have had no news for long. */
  readonly seriesSkipped: number;
}

export interface DueSync extends SyncPlan {
  /** First unsettled day; rows from this day on do not count as backfilled. */
  readonly firstUnsettled: Day;
  /** Series whose live answers it reads. */
  readonly live: readonly Series[];
}

/** Plans a sync of a job that begins now; `undefined` if the job's period is over. */
export async function planDueSync(
  { job, warehouse, ...waiting }: { job: Job; warehouse: Warehouse } & Waiting,
  scope: WindowScope,
  { feed, today, now }: { feed: Feed; today: Temporal.PlainDate; now: Date },
): Promise<DueSync | undefined> {
  const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
  const hasLive = feed.live !== undefined && scope.to === today.toString();
  const plan = await planSync(warehouse, job, scope, { now, today, firstUnsettled }, waiting);
  return plan && { ...plan, firstUnsettled, live: hasLive ? plan.series : [] };
}

/**
 * Plans the days that a sync drains: for each series, the days since its newest covered one, and the unsettled days again.
 * With an adaptive cadence, skips series that are not due.
 * @returns the plan, with windows that earlier runs have not finished; `undefined` if the job's period is over
 */
async function planSync(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  { firstUnsettled, now, today }: SyncMoment,
  waiting: Waiting,
): Promise<SyncPlan | undefined> {
  return planAlone(warehouse, scope.feed, waiting, async (trx) => {
    await dropLongWindows(trx, scope, longestWindowDays(job.stepDays, job.service.endDate));
    const from = await findSyncBegin(trx, scope, firstUnsettled);
    if (from === null) return undefined;
    const gaps = await findGaps(trx, scope, { firstUnsettled });
    const habits = job.cadence.adaptive ? await readHabits(trx, scope, firstUnsettled) : undefined;
    const due = habits?.filter((habit) => isDue(habit, job, now)).map(seriesOnly);
    const dueKeys = due && new Set(due.map(keyOfSeries));
    const gapsOfDue = dueKeys ? gaps.filter((gap) => dueKeys.has(keyOfSeries(gap))) : gaps;
    const wanted = cutGaps(gapsOfDue, job, today.toString());
    for (const batch of batches(wanted)) await insertWindows(trx, batch);
    await joinOpenWindows(trx, { ...scope, from }, today.toString());
    await askAgain(trx, { ...scope, from });
    await noteConcern(trx, scope, firstUnsettled);
    return {
      scope: { ...scope, from },
      series: due ?? everySeries(scope),
      seriesSkipped: habits && due ? habits.length - due.length : 0,
    };
  });
}

interface SyncMoment {
  readonly now: Date;
  readonly today: Temporal.PlainDate;
  /** First unsettled day, by the job's lookback. */
  readonly firstUnsettled: Day;
}

function isDue({ polled_at, news_at, quiet_polls }: SeriesHabit, job: Job, now: Date): boolean {
  if (polled_at === null) return true;
  const history = { polledAt: polled_at, newsAt: news_at ?? polled_at, quietPolls: quiet_polls ?? 0 };
  // A poll that lies further ahead than its interval was stored when a clock was wrong.
  return Math.abs(now.getTime() - polled_at.getTime()) >= pollInterval(history, job.cadence.longest);
}
