import type { Job } from '../config/job.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readHabits, type SeriesHabit } from '../warehouse/tables/planning.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import { pollInterval } from './cadence.ts';
import { refreshRequests } from './plan-refresh.ts';
import { costOfSchedule, pollCost, runsOf, type ScheduleCost, type Scheduled } from './schedule-cost.ts';

/** The least requests for a job's schedule over `days`, which are 30. */
export interface ScheduledRequests extends ScheduleCost {
  readonly days: number;
  readonly refreshes: number;
  /** Expected requests for the refreshes, which load the longest-ago loaded days again. */
  readonly refreshRequests: number;
  /** Requests for the syncs with an adaptive cadence, if the series stay as quiet as now; `null` before any poll. */
  readonly adaptiveSyncRequests: number | null;
}

export interface ScheduleForecast extends ScheduledRequests {
  /** Changes that save requests, the largest saving first. */
  readonly choices: readonly { readonly change: string; readonly requests: number; readonly saves: number }[];
}

const days = 30;

/** A moment, and the first unsettled day then. */
interface Moment {
  readonly now: Date;
  readonly firstUnsettled: string;
}

/**
 * Returns the requests of a job's schedule once all settled days are covered; `undefined` if the job has no schedule, or if
 * its period has ended and nothing loads it again. Takes tens of milliseconds.
 */
export async function scheduledRequests(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  { now, firstUnsettled }: Moment,
): Promise<ScheduledRequests | undefined> {
  const { schedule } = job;
  if (!schedule || (job.endDate !== 'today' && !schedule.refresh)) return undefined;
  const { refresh, timezone } = schedule;
  // Once the period has ended and is covered, only refreshes load it again.
  const scheduled = { ...job, schedule: job.endDate === 'today' ? schedule : { timezone } };
  const refreshes = runsOf(refresh, timezone, { from: now, days }).all;
  const hasLive = feedNamed(job.feed).live !== undefined;
  const series = seriesIn(scope);
  const cost = costOfSchedule(scheduled, { series, hasLive }, { from: now, days });
  const habits = await readHabits(warehouse, scope, firstUnsettled);
  return {
    days,
    refreshes,
    ...cost,
    adaptiveSyncRequests: adaptiveRequests(scheduled, habits, cost, hasLive),
    refreshRequests: await refreshRequests(warehouse, job, scope, { refreshes, firstUnsettled }),
  };
}

/** Returns the requests of a job's syncs under its own cadence. */
export function requestsOfSyncs(
  { cadence }: Pick<Job, 'cadence'>,
  { syncRequests, adaptiveSyncRequests }: ScheduledRequests,
): number {
  return cadence.adaptive && adaptiveSyncRequests !== null ? adaptiveSyncRequests : syncRequests;
}

/** Returns the requests of all runs of a job's schedule. */
export function requestsOfAll(job: Pick<Job, 'cadence'>, cost: ScheduledRequests): number {
  return requestsOfSyncs(job, cost) + cost.backfillRequests + cost.refreshRequests;
}

/** Returns `scheduledRequests` together with changes that save requests. */
export async function forecastSchedule(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  moment: Moment,
): Promise<ScheduleForecast | undefined> {
  const cost = await scheduledRequests(warehouse, job, scope, moment);
  const { schedule } = job;
  if (!cost || !schedule) return undefined;
  const asIs = { ...job, schedule };
  const series = seriesIn(scope);
  const hasLive = feedNamed(job.feed).live !== undefined;
  const { adaptiveSyncRequests: adaptive } = cost;
  const syncRequests = requestsOfSyncs(job, cost);
  const total = requestsOfAll(job, cost);

  // Assumes that a change saves the same share with an adaptive cadence.
  const scale = cost.syncRequests === 0 ? 1 : syncRequests / cost.syncRequests;
  const requestsOf = (changed: Partial<Scheduled>) => {
    const span = { from: moment.now, days };
    const other = costOfSchedule({ ...asIs, ...changed }, { series, hasLive }, span);
    return Math.round(other.syncRequests * scale) + other.backfillRequests + cost.refreshRequests;
  };
  const syncAt = (sync: string) => requestsOf({ schedule: { ...schedule, sync } });
  const choices: [string, number][] = [];
  if (!job.cadence.adaptive && adaptive !== null)
    choices.push([
      'cadence: { adaptive: true }, if series stay as quiet as now',
      adaptive + cost.backfillRequests + cost.refreshRequests,
    ]);
  if (schedule.sync !== undefined) {
    choices.push(['sync every 4 hours', syncAt('0 */4 * * *')], ['sync once a day', syncAt('0 1 * * *')]);
  }
  if (schedule.backfill !== undefined)
    choices.push(['backfill once a week', requestsOf({ schedule: { ...schedule, backfill: '0 1 * * 0' } })]);
  if (job.lookbackDays > 1) choices.push(['lookback: P1D', requestsOf({ lookbackDays: 1 })]);
  return {
    ...cost,
    choices: choices
      .map(([change, requests]) => ({ change, requests, saves: total - requests }))
      .filter(({ saves }) => saves > 0)
      .sort((a, b) => b.saves - a.saves),
  };
}

/** Returns the requests of the syncs if each series stays as quiet as now; a series that was never polled counts in full. */
function adaptiveRequests(
  job: Job & Scheduled,
  habits: readonly SeriesHabit[],
  { syncs, syncRequests }: ScheduleCost,
  hasLive: boolean,
): number | null {
  if (habits.every(({ polled_at }) => polled_at === null)) return null;
  const atEverySync = syncRequests / habits.length;
  let requests = 0;
  for (const { polled_at, news_at } of habits) {
    const polls = polled_at && { polledAt: polled_at, newsAt: news_at! };
    const interval = polls ? pollInterval(polls, job.cadence.longest) / (24 * 3600 * 1000) : 0;
    requests +=
      interval === 0
        ? atEverySync
        : Math.min(atEverySync, Math.min(syncs, days / interval) * pollCost(job, interval, hasLive));
  }
  return Math.round(requests);
}
