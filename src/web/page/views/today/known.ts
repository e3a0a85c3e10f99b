import type { failuresByCause } from '../../../../warehouse/questions/coverage.ts';
import type {
  fieldChanges,
  LoadShown,
  lastChecks,
  livingWorkers,
  openAlerts,
  requestsByKey,
} from '../../../../warehouse/questions/runs.ts';
import type { JobShown } from '../../../jobs.ts';
import type { Wire } from '../../api.ts';
import type { Row } from '../../rows.ts';

type Rows<Asked> = readonly Wire<Row<Asked>>[] | undefined;

/** What the view knows so far. A list is `undefined` until it is answered, or if the server's user may not see it. */
export interface Known {
  readonly jobs: readonly Wire<JobShown>[] | undefined;
  readonly loads: readonly Wire<LoadShown>[];
  readonly failures: Rows<typeof failuresByCause>;
  readonly requests: Rows<typeof requestsByKey>;
  readonly workers: Rows<typeof livingWorkers>;
  readonly checks: Rows<typeof lastChecks>;
  readonly fields: Rows<typeof fieldChanges>;
  readonly alerts: Rows<typeof openAlerts>;
}

/** True if every series has all days that no longer change. */
export function isComplete({ complete, series }: Wire<JobShown>): boolean {
  return series !== null && complete === series;
}

/** True for jobs that nobody has loaded, unless other jobs have loaded all of their days. */
export function isNeverLoaded(job: Wire<JobShown>): boolean {
  return job.problem === null && job.last_load_at === null && !isComplete(job);
}

/** True if a job may send no more requests this month. */
export function isSpent({ requests_used, requests_per_month }: Wire<JobShown>): boolean {
  return requests_used !== null && requests_per_month !== null && requests_used >= requests_per_month;
}
