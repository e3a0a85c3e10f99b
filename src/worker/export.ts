import type { Job } from '../config/job.ts';
import { sentence, withHint } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { dayAt, wantedDays } from '../plan/days.ts';
import { scopeOf } from '../plan/scope.ts';
import { forLog } from '../warehouse/errors.ts';
import { raiseAlert, resolveAlert } from '../warehouse/tables/alerts.ts';
import { rollups } from '../warehouse/tables/export-rows.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import {
  type DueExport,
  dueExports,
  endExportDue,
  leaveExports,
  takeExports,
} from '../warehouse/tables/schedules.ts';
import { jobInTable } from '../warehouse/tables/series.ts';
import type { WorkerContext } from './context.ts';

/** Milliseconds until an export that failed is tried again. */
const triedAgainAfter = 60_000;

/**
 * Returns a function that makes the exports that are due, one after the other, unless another worker makes them. A failed one
 * is tried again every minute. A new one is left to workers that have its job file.
 */
export function createExporter(context: WorkerContext): () => Promise<void> {
  const { warehouse, databaseClock, stop, jobFiles, log } = context;
  /** When the last export of a job failed. */
  const failedAt = new Map<string, Date>();

  async function exportDue(due: DueExport): Promise<void> {
    const { job } = due;
    if (!(await takeExports(warehouse, job, context.process))) return;
    try {
      await exportJob(context, job);
      if (!stop.aborted) await endExportDue(warehouse, due);
      failedAt.delete(job);
    } catch (error) {
      log.debug({ job, ...forLog(error) }, 'the export is tried again');
      failedAt.set(job, await databaseClock());
    } finally {
      await leaveExports(warehouse, job, context.process.processId);
    }
  }

  return async () => {
    for (const due of await dueExports(warehouse, await databaseClock())) {
      const hasFailedLately = isWithin(triedAgainAfter, await databaseClock(), failedAt.get(due.job));
      const isLeft = !jobFiles.jobs.has(due.job) && due.is_new;
      if (!hasFailedLately && !isLeft && !stop.aborted) await exportDue(due);
    }
  };
}

/** Returns true if `then` is less than so many milliseconds ago. A time in the future is of a clock that was wrong. */
function isWithin(ms: number, now: Date, then: Date | undefined): boolean {
  const passed = now.getTime() - (then?.getTime() ?? Number.NEGATIVE_INFINITY);
  return passed >= 0 && passed < ms;
}

/**
 * Exports a job to each target in this worker's own copy of the job file. Writes only months that have changed, so the next
 * export also writes what a failed one did not. Loads do not depend on exports.
 * @throws the first error, after all targets were tried
 */
export async function exportJob(context: WorkerContext, name: string): Promise<void> {
  const { warehouse, stop, process } = context;
  const job = context.jobFiles.jobs.get(name);
  const noFile = `${process.runBy} has no job file ${name}, and a worker exports only jobs that it has files for.`;
  const failures = job ? [] : [new Error(noFile)];
  for (const place of job?.exports ?? []) {
    if (stop.aborted) return;
    await exportTo(context, job!, place).catch((error: Error) => {
      if (!stop.aborted)
        context.log.warn({ job: name, to: place.to, why: withHint(error) }, 'an export failed');
      failures.push(error);
    });
  }
  if (stop.aborted) return;
  const cause = { job: name, kind: 'export failed' } as const;
  const [first] = failures;
  if (!first) return resolveAlert(warehouse, cause);
  const message = `The export of job ${name} failed: ${sentence(withHint(first))} The next export continues it.`;
  await raiseAlert(warehouse, cause, { message, details: {} });
  throw first;
}

async function exportTo(
  { warehouse, log, clock, stop, storage }: WorkerContext,
  job: Job,
  { to: out, format, rollup, versions = false }: Job['exports'][number],
): Promise<void> {
  // Loaded only here, because DuckDB is a large library, and is not available on every platform.
  const { exportTable } = await import('../export/export-table.ts');
  const today = dayAt(clock());
  const window = scopeOf(job, wantedDays(job, today)!, await readLookups(warehouse));
  const { table } = feedNamed(job.feed);
  const { from, to } = window;
  const scope = {
    table: rollup ? rollups[rollup] : table,
    from,
    to,
    asOf: undefined,
    versions,
    only: jobInTable(table, window),
  };
  const exported = await exportTable({ warehouse, scope, format, out, storage, mode: 'continue', stop });
  log.info({ job: job.name, to: out, ...exported.written }, 'exported');
}
