import { Temporal } from 'temporal-polyfill';
import type { Feed } from '../feeds/feed.ts';
import type { Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Saving, SeriesHabit } from '../warehouse/queries/cadence.ts';
import { measureChangeAges, storedChangeAges } from '../warehouse/queries/change-ages.ts';
import type { Gap } from '../warehouse/queries/planning.ts';
import type { SeriesKey, WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { nextPollDue, pollFrom, recheckDays } from '../window/cadence.ts';
import { dayRange, daysIn } from '../window/day-range.ts';
import { windowsIn } from '../window/schedule-cost.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** A sync's plan, spaced out by the habits of its series. */
export interface SpacedPolls {
  /** The series that it polls, with what it drains of each. */
  readonly series: readonly SeriesKey[];
  readonly gaps: readonly Gap[];
  readonly savings: readonly Saving[];
}

export interface SyncMoment {
  readonly now: Date;
  readonly today: Temporal.PlainDate;
  /** First day that may still change, by the job's lookback. */
  readonly unsettledFrom: Day;
  /** Days that every poll drains again, by how old changes are; see `daysToRecheck`. */
  readonly recheckDays: number;
}

/** How many days back polls of a job look for changes; measured once a day where the job's cadence is adaptive. */
export async function daysToRecheck(warehouse: Warehouse, job: Job, feed: Feed, now: Date): Promise<number> {
  if (!job.cadence.adaptive) return job.lookbackDays;
  const seen = await withWarehouseRetries(
    async () =>
      (await storedChangeAges(warehouse, feed.name, now)) ?? (await measureChangeAges(warehouse, feed, now)),
  );
  return recheckDays(seen, job.lookbackDays);
}

/** Leaves out the series that are not due yet, and of those that are the days in which changes are too rare to look. */
export function spacePolls(
  job: Job,
  scope: WindowScope,
  { habits, gaps, hasLive }: { habits: readonly SeriesHabit[]; gaps: readonly Gap[]; hasLive: boolean },
  moment: SyncMoment,
): SpacedPolls {
  const gapsOf = groupByKey(gaps);
  const usual = dayRange(later(scope.from, moment.unsettledFrom), scope.to);
  const usualWindows = windowsIn(daysIn(usual), job);
  const series: SeriesKey[] = [];
  const wanted: Gap[] = [];
  const savings: Saving[] = [];
  for (const habit of habits) {
    const { country, topic, ticker, variant } = habit;
    const key = { country, topic, ticker, variant };
    const from = beginOf(habit, job, moment);
    if (from === null) {
      savings.push({ ...key, requests: usualWindows + (hasLive ? 1 : 0), isLeftOut: true });
      continue;
    }
    series.push(key);
    const own = (gapsOf.get(keyOf(habit)) ?? []).filter(({ to }) => to >= from);
    wanted.push(...own.map((gap) => ({ ...gap, from: later(gap.from, from) })));
    if (habit.is_paused) {
      // After a long pause, there may be too many days for one window.
      const windows = own.reduce((sum, gap) => sum + windowsIn(daysIn(dayRange(gap.from, gap.to)), job), 0);
      savings.push({ ...key, requests: Math.min(0, usualWindows - windows), isLeftOut: false });
    }
  }
  return { series, gaps: wanted, savings };
}

/** The first day to drain of a series; `null` where it is not due. */
function beginOf(habit: SeriesHabit, job: Job, moment: SyncMoment): Day | null {
  const { first_uncovered, polled_at, news_at, quiet_polls } = habit;
  if (polled_at === null) return first_uncovered;
  const firstUncovered = Temporal.PlainDate.from(first_uncovered);
  const history = { polledAt: polled_at, newsAt: news_at ?? polled_at, quietPolls: quiet_polls ?? 0 };
  if (nextPollDue(history, firstUncovered, job.cadence) > moment.now) return null;
  const days = {
    ...moment,
    ...{ firstUncovered, unsettledFrom: Temporal.PlainDate.from(moment.unsettledFrom) },
    polledOn: Temporal.PlainDate.from(polled_at.toISOString().slice(0, 10)),
  };
  return pollFrom(days, job.cadence).toString();
}

function groupByKey(gaps: readonly Gap[]): Map<string, Gap[]> {
  const groups = new Map<string, Gap[]>();
  for (const gap of gaps) {
    const key = keyOf(gap);
    const group = groups.get(key);
    if (group) group.push(gap);
    else groups.set(key, [gap]);
  }
  return groups;
}

function keyOf({ country, topic, ticker, variant }: SeriesKey): string {
  return JSON.stringify([country, topic, ticker, variant]);
}

function later(a: Day, b: Day): Day {
  return a > b ? a : b;
}
