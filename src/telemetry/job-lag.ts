import type { DayRange } from '../window/day-range.ts';

/**
 * How long ago, in seconds, the newest covered day ended, of the series that is furthest behind. Where nothing is
 * covered it counts from the job's first day; where the job's last day is over, up to its end, so that a job that has
 * loaded all of its period is never late.
 * @param newestCovered the day (UTC), within the period, up to which each series is covered; `null` where one has none
 */
export function lagSeconds(newestCovered: string | null, period: DayRange, now: Date): number {
  const covered = newestCovered === null ? startOf(period.from.toString()) : endOf(newestCovered);
  const until = Math.min(now.getTime(), endOf(period.to.toString()));
  return Math.max(0, until - covered) / 1000;
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function endOf(day: string): number {
  return startOf(day) + 24 * 3600 * 1000;
}
