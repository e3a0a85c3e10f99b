import type { Row } from '../../rows.ts';

/** What the view knows so far. A list is `undefined` until it is answered, or if the server's user may not see it. */
export type Known = {
  readonly [Of in 'jobs' | 'loads' | 'failures' | 'requests' | 'workers' | 'checks' | 'fields' | 'alerts']:
    | readonly Row<Of>[]
    | undefined;
};

/** True if every series has all days that no longer change. */
export function isComplete({ complete, series }: Row<'jobs'>): boolean {
  return series !== null && complete === series;
}

/** True for jobs that nobody has loaded, unless other jobs have loaded all of their days. */
export function isNeverLoaded(job: Row<'jobs'>): boolean {
  return job.problem === null && job.last_load_at === null && !isComplete(job);
}

/** True if a job may send no more requests this month. */
export function isSpent({ requests_used, requests_per_month }: Row<'jobs'>): boolean {
  return requests_used !== null && requests_per_month !== null && requests_used >= requests_per_month;
}
