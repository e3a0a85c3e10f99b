import type { Path, Row } from '../../rows.ts';

type Rows<Of extends Path> = readonly Row<Of>[];

/** What the view knows so far. A list is `undefined` until it is answered, or if the server's user may not see it. */
export interface Known {
  readonly jobs: Rows<'jobs'> | undefined;
  readonly loads: Rows<'loads'>;
  readonly failures: Rows<'failures'> | undefined;
  readonly requests: Rows<'requests'> | undefined;
  readonly workers: Rows<'workers'> | undefined;
  readonly checks: Rows<'checks'> | undefined;
  readonly fields: Rows<'fields'> | undefined;
  readonly alerts: Rows<'alerts'> | undefined;
}

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
