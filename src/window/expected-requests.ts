import { type DayRange, daysIn } from './day-range.ts';

/**
 * About how many requests draining the windows takes, one a page. The least possible is one a window, whatever it
 * returns, so a window expected to be empty counts as one too.
 */
export function expectedRequests(
  windows: readonly DayRange[],
  recordsPerDay: number,
  pageSize: number,
): number {
  return windows
    .map((window) => Math.max(1, Math.ceil((daysIn(window) * recordsPerDay) / pageSize)))
    .reduce((total, pages) => total + pages, 0);
}
