import type { Session } from '../compose.ts';
import { backfill } from '../pipeline/backfill.ts';
import type { PlanOptions } from '../pipeline/plan-windows.ts';
import { type JobRunner, runJobs } from './run-jobs.ts';

/** `gmsi backfill <job>…` */
export function backfillCommand(
  session: Session,
  names: string[],
  options: Partial<PlanOptions>,
): Promise<number> {
  return runJobs(session, names, backfillRunner(options));
}

/** How a backfill runs a job: it leaves the job's reserve to others. */
export function backfillRunner({ fullRefresh = false, retryRefused = false }: Partial<PlanOptions>) {
  return {
    run: (context) => backfill({ ...context, plan: { fullRefresh, retryRefused } }),
    limit: ({ budget }) => budget.requestsPerMonth - budget.reserve,
  } satisfies JobRunner<Awaited<ReturnType<typeof backfill>>>;
}
