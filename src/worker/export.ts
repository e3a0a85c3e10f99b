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
  return new NoJobFile(`${runBy} has no job file ${job}, and a worker exports only what its own files say.`, {
    hint: 'Put the file into jobs/ of every worker, and restart them.',
  });
}

/**
 * Exports a job as this worker's own file of it says, to each place that it names: only months that have changed, so an export
 * that failed is made good by the next one. Loads do not depend on it.
 * @param isLast if it is not tried again: then a failure raises an alert
 * @throws the first error, once all places were tried
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
  // The next worker makes it.
  if (stop.aborted) return addTasks(warehouse, [exportTask(name)]);
  const cause = { job: name, kind: 'export failed' } as const;
  const [first] = failures;
  if (!first) return resolveAlert(warehouse, cause);
  if (isLast || (first instanceof GmsiError && first.kind === 'fatal')) {
    const message = `The export of job ${name} failed: ${first.message} The next one continues it.`;
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
