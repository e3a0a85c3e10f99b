import type { ClientEvent } from '../api/client.ts';
import {
  openService,
  openWarehouse,
  readJobs,
  runBy,
  type Session,
  serviceAccess,
  today,
} from '../compose.ts';
import { exitCodeOf, exitCodeOfOutcome, exitCodes, explain, worst } from '../exit.ts';
import type { Job } from '../job/job.ts';
import type { RunContext, RunResult } from '../pipeline/open-load.ts';
import { alertAfterRun } from '../telemetry/alerts.ts';
import { watchKey } from '../telemetry/watch-key.ts';
import { print, printError, printJson } from '../terminal/print.ts';
import { showProgress } from '../terminal/progress.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { describeSummary, type RunSummary, summaryAsJson } from './run-summary.ts';

/** How a loading command runs one job. */
export interface JobRunner<Result extends RunResult> {
  readonly run: (context: RunContext) => Promise<Result>;
  /** Requests that the month's total may come to. */
  readonly limit: (job: Job) => number;
}

/** Runs jobs one after the other, each summed up; answers with the exit code. */
export async function runJobs<Result extends RunResult>(
  session: Session,
  names: readonly string[],
  runner: JobRunner<Result>,
): Promise<number> {
  serviceAccess(session);
  const jobs = await readJobs(session, names);
  await using warehouse = await openWarehouse(session);
  const key = watchKey();
  const watched = {
    ...session,
    onClientEvent(event: ClientEvent) {
      key.onClientEvent(event);
      session.onClientEvent?.(event);
    },
  };
  try {
    return await runEach(watched, warehouse.db, jobs, runner);
  } finally {
    // Also where a job could not even begin: whoever has cron run it may only ever see this. A person who stops it knows.
    if (!session.stop.aborted)
      await alertAfterRun(jobs, { ...session, warehouse: warehouse.db }, key.standing);
  }
}

async function runEach<Result extends RunResult>(
  session: Session,
  warehouse: Warehouse,
  jobs: readonly Job[],
  runner: JobRunner<Result>,
): Promise<number> {
  const codes: number[] = [];
  const summaries: object[] = [];
  for (const job of jobs) {
    let summary: Result & RunSummary;
    try {
      summary = await runJob(session, warehouse, job, runner);
    } catch (error) {
      // With jobs before or after it, what they did is told all the same.
      if (jobs.length === 1) throw error;
      const code = exitCodeOf(error);
      codes.push(code);
      summaries.push({ job: job.name, outcome: 'failed', error: (error as Error).message });
      printError(`${job.name}: ${explain(error, false)}`);
      if (code === exitCodes.doNotRetry || code === exitCodes.interrupted) break;
      continue;
    }
    codes.push(exitCodeOfOutcome(summary.outcome));
    summaries.push(summaryAsJson(summary));
    if (!session.json) print(`${describeSummary(summary)}\n`);
    // A key that is refused, or a person who interrupts, concerns the jobs that follow as well.
    if (summary.outcome === 'failed' || summary.outcome === 'interrupted') break;
  }
  if (session.json) printJson({ jobs: summaries });
  return worst(codes);
}

/** Runs one job with its progress shown; what it did, and what is left of the budget. */
export async function runJob<Result extends RunResult>(
  session: Session,
  warehouse: Warehouse,
  job: Job,
  { run, limit: limitOf }: JobRunner<Result>,
): Promise<Result & RunSummary> {
  const limit = limitOf(job);
  await using service = openService(session, warehouse, job.service, limit);
  let progress: Disposable | undefined;
  try {
    const { log, clock, stop, config } = session;
    const result = await run({
      ...{ job, warehouse, ...service, runBy, log, clock, stop, leaseSeconds: config.leaseSeconds },
      onStart: (read) => {
        progress = showProgress(job.name, read, log, session.progress);
      },
    });
    await service.ledger.settle();
    return { ...result, job, today: today(session), budget: { used: await service.ledger.used(), limit } };
  } finally {
    progress?.[Symbol.dispose]();
  }
}
