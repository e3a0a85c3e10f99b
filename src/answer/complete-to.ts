import type { JobShown } from './answer.ts';

/**
 * Returns the day up to which all jobs have all days of their periods; `undefined` if one lacks its first day, or
 * without a job. A job that ended before and is whole sets no limit.
 */
export function completeTo(jobs: readonly Pick<JobShown, 'complete_to' | 'to'>[]): string | undefined {
  if (jobs.some(({ complete_to }) => !complete_to)) return undefined;
  const limits = jobs.filter(({ complete_to, to }) => complete_to !== to);
  const days = (limits.length > 0 ? limits : jobs).map(({ complete_to }) => complete_to!).toSorted();
  return limits.length > 0 ? days[0] : days.at(-1);
}
