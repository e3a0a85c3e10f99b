import { openService, openWarehouse, readJobs, runBy, type Session, serviceAccess } from '../compose.ts';
import { exitCodeOfOutcome, worst } from '../exit.ts';
import type { Job } from '../job/job.ts';
import { backfill } from '../pipeline/backfill.ts';
import type { PlanOptions } from '../pipeline/plan-windows.ts';
import { showProgress } from '../terminal/progress.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type BackfillSummary, describeSummary, summaryAsJson } from './backfill-summary.ts';

export type BackfillOptions = Partial<PlanOptions>;

/** `gmsi backfill <job>…`: the jobs one after the other, each summed up. */
export async function backfillCommand(
  session: Session,
  names: string[],
  options: BackfillOptions,
): Promise<number> {
  serviceAccess(session);
  const jobs = await readJobs(session, names);
  await using warehouse = await openWarehouse(session);
  const codes: number[] = [];
  const summaries: object[] = [];
  for (const job of jobs) {
    const summary = await backfillJob(session, warehouse.db, job, options);
    const code = exitCodeOfOutcome(summary.outcome);
    codes.push(code);
    summaries.push(summaryAsJson(summary));
    if (!session.json) process.stdout.write(`${describeSummary(summary)}\n`);
    // A key that is refused, or a person who interrupts, concerns the jobs that follow as well.
    if (summary.outcome === 'failed' || summary.outcome === 'interrupted') break;
  }
  if (session.json) process.stdout.write(`${JSON.stringify({ jobs: summaries }, null, 2)}\n`);
  return worst(codes);
}

/** Runs one job with its progress shown; what it did, and what is left of the budget. */
export async function backfillJob(
  session: Session,
  warehouse: Warehouse,
  job: Job,
  options: BackfillOptions,
): Promise<BackfillSummary> {
  const limit = job.budget.requestsPerMonth - job.budget.reserve;
  await using service = openService(session, warehouse, job.service, limit);
  let progress: Disposable | undefined;
  try {
    const result = await backfill({
      ...{ job, warehouse, ...service, runBy },
      ...{
        log: session.log,
        clock: session.clock,
        stop: session.stop,
        leaseSeconds: session.config.leaseSeconds,
      },
      plan: { fullRefresh: options.fullRefresh ?? false, retryRefused: options.retryRefused ?? false },
      onStart: (read) => {
        progress = showProgress(job.name, read, session.log, session.progress);
      },
    });
    await service.ledger.settle();
    return { ...result, job, budget: { used: await service.ledger.used(), limit } };
  } finally {
    progress?.[Symbol.dispose]();
  }
}
