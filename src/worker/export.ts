import { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { wantedDays } from '../plan/days.ts';
import { scopeOf } from '../plan/scope.ts';
import { raiseAlert, resolveAlert } from '../warehouse/tables/alerts.ts';
import { rollups } from '../warehouse/tables/export-rows.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { addTasks } from '../warehouse/tables/queue.ts';
import { jobInTable } from '../warehouse/tables/series.ts';
import type { WorkerContext } from './context.ts';
import { type ExportPayload, exportTask } from './queue.ts';

/** Another worker may have the job's file, so the task is tried again. */
class NoJobFile extends GmsiError {
  override readonly kind = 'retryable';
}

function noJobFile(runBy: string, job: string): NoJobFile {
  return new NoJobFile(
    `${runBy} has no job file ${job}, and a worker exports only jobs that it has files for.`,
    {
      hint: 'Put the file into jobs/ of every worker, and restart them.',
    },
  );
}

/**
 * Exports a job to each target in this worker's own copy of the job file. Writes only months that have changed, so the next
 * export also writes what a failed one did not. Loads do not depend on exports.
 * @param isLast true for the last attempt, whose failure raises an alert
 * @throws the first error, after all targets were tried
 */
export async function exportJob(
  context: WorkerContext,
  { job: name }: ExportPayload,
  isLast: boolean,
): Promise<void> {
  const { warehouse, stop, runBy } = context;
  const job = context.ownJobs.get(name);
  const failures: Error[] = job ? [] : [noJobFile(runBy, name)];
  for (const place of job?.exports ?? []) {
    if (stop.aborted) break;
    await exportTo(context, job!, place).catch((error: Error) => {
      if (!stop.aborted)
        context.log.warn({ job: name, to: place.to, why: error.message }, 'an export failed');
      failures.push(error);
    });
  }
  // Another worker does this export.
  if (stop.aborted) return addTasks(warehouse, [exportTask(name)]);
  const cause = { job: name, kind: 'export failed' } as const;
  const [first] = failures;
  if (!first) return resolveAlert(warehouse, cause);
  if (isLast || (first instanceof GmsiError && first.kind === 'fatal')) {
    const message = `The export of job ${name} failed: ${first.message} The next export continues it.`;
    await raiseAlert(warehouse, cause, { message, details: {} });
  }
  throw first;
}

async function exportTo(
  { warehouse, log, clock, stop, storage }: WorkerContext,
  job: Job,
  { to: out, format, rollup }: Job['exports'][number],
): Promise<void> {
  // Loaded only here, because DuckDB is a large library, and is not available on every platform.
  const { exportTable } = await import('../export/export-table.ts');
  const today = Temporal.PlainDate.from(clock().toISOString().slice(0, 10));
  const window = scopeOf(job, wantedDays(job, today)!, await readLookups(warehouse));
  const { table } = feedNamed(job.feed);
  const { from, to } = window;
  const scope = {
    table: rollup ? rollups[rollup] : table,
    from,
    to,
    asOf: undefined,
    only: jobInTable(table, window),
  };
  const exported = await exportTable({ warehouse, scope, format, out, storage, mode: 'continue', stop });
  log.info({ job: job.name, to: out, ...exported.written }, 'exported');
}
