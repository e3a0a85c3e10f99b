import { openService, openWarehouse, readJobs, runBy, type Session, serviceAccess } from '../compose.ts';
import { exitCodeOfOutcome, explain, worst } from '../exit.ts';
import type { Job } from '../job/job.ts';
import { type BackfillResult, backfill } from '../pipeline/backfill.ts';
import type { PlanOptions } from '../pipeline/plan-windows.ts';
import { startOfNextMonth } from '../pipeline/request-budget.ts';
import { showProgress } from '../terminal/progress.ts';
import { count, duration, facts, number } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';

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
    summaries.push(asJson(summary));
    if (!session.json) process.stdout.write(`${describe(summary)}\n`);
    // A key that is refused, or a person who interrupts, concerns the jobs that follow as well.
    if (summary.outcome === 'failed' || summary.outcome === 'interrupted') break;
  }
  if (session.json) process.stdout.write(`${JSON.stringify({ jobs: summaries }, null, 2)}\n`);
  return worst(codes);
}

export interface BackfillSummary extends BackfillResult {
  readonly job: Job;
  readonly budget: { readonly used: number; readonly limit: number };
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
        if (session.progress !== 'none')
          progress = showProgress(job.name, read, session.log, session.progress === 'bar');
      },
    });
    await service.ledger.settle();
    return { ...result, job, budget: { used: await service.ledger.used(), limit } };
  } finally {
    progress?.[Symbol.dispose]();
  }
}

/** A summary for a person. */
export function describe(summary: BackfillSummary): string {
  const { job, totals, windows, outcome, seconds, budget, error } = summary;
  if (summary.loadId === undefined && outcome === 'done') return describeNothingToDo(summary);
  const open = windows.pending + windows.draining + windows.failed;
  const left = Math.max(0, budget.limit - budget.used);
  const lines = [
    `${job.name}: ${headline(summary)}`,
    '',
    facts([
      [
        'windows',
        [
          `${number(totals.windows_drained)} drained`,
          ...(windows.failed ? [`${number(windows.failed)} failed`] : []),
          ...(windows.refused ? [`${number(windows.refused)} refused`] : []),
          ...(open - windows.failed > 0 ? [`${number(open - windows.failed)} to go`] : []),
        ].join(', '),
      ],
      ['requests', totals.requests],
      ['records', totals.records],
      ['rows', `${number(totals.rows_inserted)} new, ${number(totals.rows_changed)} changed`],
      [
        'rejected',
        totals.records_rejected > 0
          ? `${number(totals.records_rejected)} records (gmsi.rejected_records says why)`
          : undefined,
      ],
      ['time', `${duration(seconds)}, ${number(Math.round(totals.records / seconds))} records/s`],
      ['budget left', `${number(left)} of ${number(budget.limit)} requests this month`],
    ]),
  ];
  if (error && outcome !== 'interrupted') lines.push('', explain(error, false).trimEnd());
  if (outcome === 'incomplete' && windows.failed > 0)
    lines.push(
      '',
      `Run the same command again: it takes the failed windows up at their checkpoints. gmsi status ${job.name} says why they failed.`,
    );
  if (windows.refused > 0)
    lines.push(
      '',
      `${count(windows.refused, 'window')} not asked for or refused: the service does not answer that far back. Mend start_date, or run with --retry-refused.`,
    );
  return `${lines.join('\n')}\n`;
}

function headline({ outcome, windows }: BackfillSummary): string {
  const open = windows.pending + windows.draining + windows.failed;
  switch (outcome) {
    case 'done':
      return 'done, every day asked for is loaded';
    case 'incomplete':
      return open > 0
        ? `not complete, ${count(open, 'window')} left`
        : 'complete but for the windows that the service refuses';
    case 'budget':
      return `stopped at the request budget, ${count(open, 'window')} left; goes on from ${startOfNextMonth(new Date()).toISOString().slice(0, 10)} when run again`;
    case 'interrupted':
      return `interrupted, ${count(open, 'window')} left; goes on from there when run again`;
    case 'failed':
      return 'ended by an error that a retry does not mend';
  }
}

function describeNothingToDo({ job, totals, budget }: BackfillSummary): string {
  const spent =
    totals.requests === 0
      ? 'no request was spent'
      : `${count(totals.requests, 'request')} went to the lookups`;
  return `${job.name}: everything is covered, ${spent} (${number(budget.used)} of ${number(budget.limit)} used this month)\n`;
}

function asJson({ job, scope, error, ...rest }: BackfillSummary): object {
  const series = scope ? scope.countries.length * scope.topics.length : 0;
  const { totals } = rest;
  return {
    job: job.name,
    ...rest,
    totals: { ...totals },
    period: scope && { from: scope.from, to: scope.to },
    series,
    error: error instanceof Error ? error.message : null,
  };
}
