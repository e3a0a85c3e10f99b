import { openService, openWarehouse, runBy, type Session, serviceAccess } from '../compose.ts';
import type { PlanOptions } from '../pipeline/plan-windows.ts';
import { requestLimit } from '../pipeline/request-budget.ts';
import { print, printJson } from '../terminal/print.ts';
import { number, table } from '../terminal/table.ts';
import { openPool, type Warehouse } from '../warehouse/connect.ts';
import { registerJob } from '../warehouse/queries/schedules.ts';
import { livingWorkers } from '../warehouse/queries/workers.ts';
import type { ShortenedPeriod } from '../window/wanted-days.ts';
import { planRun } from '../worker/plan-run.ts';
import { describeHistoryLimit } from './describe-history-limit.ts';
import { type ReadJob, readWithDefinition } from './read-with-definition.ts';

interface Enqueued {
  readonly job: string;
  /** `null` where there is nothing to do. */
  readonly run: number | null;
  readonly windows: number;
  readonly historyLimit: ShortenedPeriod | null;
}

/** Plans backfills and hands them to the workers: `gmsi backfill <job>… --enqueue`. */
export async function enqueueJobs(
  session: Session,
  names: readonly string[],
  { fullRefresh = false, retryRefused = false }: Partial<PlanOptions>,
): Promise<number> {
  serviceAccess(session);
  const jobs = await Promise.all(names.map((name) => readWithDefinition(session, name)));
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  const { openQueue } = await import('../worker/open-queue.ts');
  const pool = openPool(warehouse.address, 1);
  try {
    await openQueue(db, pool, session.log, session.stop);
  } finally {
    await pool.end();
  }
  const enqueued: Enqueued[] = [];
  for (const job of jobs) enqueued.push(await enqueue(session, db, job, { fullRefresh, retryRefused }));
  const workers = (await livingWorkers(db, session.config.leaseSeconds)).length;
  if (session.json) printJson({ jobs: enqueued, workers });
  else print(describe(enqueued, workers));
  return 0;
}

async function enqueue(
  session: Session,
  db: Warehouse,
  { job, definition, parsed }: ReadJob,
  options: PlanOptions,
): Promise<Enqueued> {
  const { log, clock, stop, config } = session;

  // The schedule, if it has one, is for gmsi work to begin.
  await registerJob(db, { job, definition, schedule: undefined }, { at: clock(), by: runBy });
  await using service = openService(session, db, parsed.service, requestLimit('backfill', parsed.budget));
  const { leaseSeconds } = config;
  const context = { job: parsed, warehouse: db, ...service, log, clock, leaseSeconds, runBy, stop };
  const begun = await planRun(context, 'backfill', options);
  const { runId = null, windows = 0, historyLimit = null } = begun ?? {};
  return { job, run: runId, windows, historyLimit: historyLimit ?? null };
}

function describe(enqueued: readonly Enqueued[], workers: number): string {
  const rows = enqueued.map(({ job, run, windows }) => [
    job,
    run === null ? 'nothing to do' : String(run),
    windows,
  ]);
  const who =
    workers === 0
      ? 'No worker is running: start one with gmsi work.'
      : `${number(workers)} worker${workers === 1 ? ' is' : 's are'} at it; gmsi status --watch follows.`;
  const limits = enqueued.flatMap(({ job, historyLimit }) => {
    const limit = describeHistoryLimit(historyLimit ?? undefined);
    return limit ? [`${job}: history limit ${limit}\n`] : [];
  });
  return `${table(['job', 'run', 'windows to drain'], rows)}\n\n${limits.join('')}${who}\n`;
}
