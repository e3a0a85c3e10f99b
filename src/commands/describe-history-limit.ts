import { count } from '../terminal/table.ts';
import type { ShortenedPeriod } from '../window/wanted-days.ts';

/** `2025-11-21, from the job file: 3,610 days before it are not asked for`; `undefined` if nothing is shortened. */
export function describeHistoryLimit(limit: ShortenedPeriod | undefined): string | undefined {
  if (!limit) return undefined;
  const { firstDay, by, days } = limit;
  const from = by === 'job' ? 'from the job file' : 'as a probe has learned';
  return `${firstDay}, ${from}: ${count(days, 'day')} before it ${days === 1 ? 'is' : 'are'} not asked for`;
}
