import type { Session } from '../compose.ts';
import { backfill } from '../pipeline/backfill.ts';
import type { PlanOptions } from '../pipeline/plan-windows.ts';
import { requestLimit } from '../pipeline/request-budget.ts';
import { enqueueJobs } from './enqueue-jobs.ts';
import { type JobRunner, runJobs } from './run-jobs.ts';

/** `gmsi backfill <job>…`; with `--enqueue`, workers do it. */
export function backfillCommand(
  session: Session,
  names: string[],
  { enqueue = false, ...options }: Partial<PlanOptions> & { readonly enqueue?: boolean },
): Promise<number> {
  return enqueue ? enqueueJobs(session, names, options) : runJobs(session, names, backfillRunner(options));
}

/** How a backfill runs a job: it leaves the job's reserve to others. */
export function backfillRunner({ fullRefresh = false, retryRefused = false }: Partial<PlanOptions>) {
  return {
    run: (context) => backfill({ ...context, plan: { fullRefresh, retryRefused } }),
    limit: ({ budget }) => requestLimit('backfill', budget),
  } satisfies JobRunner<Awaited<ReturnType<typeof backfill>>>;
}
