import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { kindOf } from '../errors.ts';
import { backfill } from '../load/backfill.ts';
import type { LoadContext, LoadResult } from '../load/load.ts';
import { sync } from '../load/sync.ts';
import { startOfNextMonth } from '../service/budget.ts';
import { LookupUnreadable } from '../service/errors.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { resolveAlert } from '../warehouse/tables/alerts.ts';
import { refreshReason } from '../warehouse/tables/loads.ts';
import { type DueJob, endDue, leaveJob, markExportDue, type Pause } from '../warehouse/tables/schedules.ts';
import type { WorkerContext } from './context.ts';

/** How a load of a worker ended, and what becomes of its job. */
type Verdict =
  /** Some windows may have failed; they are tried again when the job is next due. */
  | { readonly is: 'loaded'; readonly job: Job; readonly result: LoadResult }
  /** It continues after a pause. */
  | { readonly is: 'paused'; readonly pause: Pause }
  /** It cannot run as it is defined, and is tried again when it is next due. */
  | { readonly is: 'refused'; readonly error: Error }
  /** It stays due, for this worker or another one. */
  | { readonly is: 'left' }
  /** It stays due, and the worker ends: every other load would fail, too. */
  | { readonly is: 'fatal'; readonly error: unknown };

/** Loads a due job that this worker has taken, and decides when it is due again. */
export async function loadDue(context: WorkerContext, due: DueJob): Promise<void> {
  const { warehouse, log, databaseClock } = context;
  const { processId } = context.process;
  const { job, command } = due;
  const verdict = await load(context, due);
  if (verdict.is === 'fatal') context.fail(verdict.error);
  if (verdict.is === 'fatal' || verdict.is === 'left') return leaveJob(warehouse, due, processId);

  // Before the job's turn ends, so that a worker that is killed in between loses no export.
  if (verdict.is === 'loaded') await makeExportsDue(context, verdict.job);
  const pause = verdict.is === 'paused' ? verdict.pause : undefined;
  const until = await endDue(warehouse, due, processId, { now: await databaseClock(), pause });
  if (verdict.is === 'refused') {
    const why = verdict.error.message;
    log.error({ job, command, why }, 'a job cannot run as defined; it is tried again when it is next due');
  } else if (verdict.is === 'loaded') {
    const { outcome, loadId, totals } = verdict.result;
    log.info(
      { job, command, load: loadId, outcome, requests: totals.requests, records: totals.records },
      'loaded',
    );
  } else if (until) {
    const { because, error: why } = verdict.pause;
    log.warn(
      { job, command, until, why },
      because === 'budget'
        ? 'the request budget is spent; the job continues by itself next month'
        : 'the job failed; it continues by itself after a pause',
    );
  }
}

async function load(context: WorkerContext, { job: name, command, definition }: DueJob): Promise<Verdict> {
  const { clock, process, stop, warehouse } = context;
  let job: Job;
  let result: LoadResult;
  try {
    job = context.readDefinition(name, definition);
    await using service = await context.openService(job, command);
    result = await loadAs(command, { job, warehouse, ...service, clock, process, stop });
  } catch (error) {
    return judge(context, error);
  }
  if (result.outcome === 'interrupted') return { is: 'left' };
  const { error } = result;
  const endedEarly = error !== undefined && kindOf(error) !== 'job';
  return endedEarly ? judge(context, result.error) : { is: 'loaded', job, result };
}

function loadAs(command: JobCommand, given: LoadContext): Promise<LoadResult> {
  switch (command) {
    case 'sync':
      return sync(given);
    case 'backfill':
      return backfill({ ...given, plan: { fullRefresh: false, retryRefused: false } });
    case 'refresh':
      return backfill({ ...given, plan: 'refresh', reason: refreshReason });
  }
}

/** Decides what becomes of a job whose load an error has ended. */
function judge({ stop, clock }: WorkerContext, error: unknown): Verdict {
  if (stop.aborted) return { is: 'left' };
  if (error instanceof JobFileError || error instanceof LookupUnreadable) return { is: 'refused', error };
  const kind = kindOf(error);
  if (kind === 'fatal' || kind === 'warehouse') return { is: 'fatal', error };
  const message = error instanceof Error ? error.message : String(error);
  if (kind !== 'budget') return { is: 'paused', pause: { because: 'failures', error: message } };
  // Only shown: the pause ends when requests are left (mark-due.ts).
  const resumesAt = startOfNextMonth(clock());
  return { is: 'paused', pause: { because: 'budget', error: message, resumesAt } };
}

async function makeExportsDue(
  { warehouse, databaseClock }: WorkerContext,
  { name, exports }: Job,
): Promise<void> {
  if (exports.length > 0) await markExportDue(warehouse, name, await databaseClock());
  // The job has no exports any more, so an alert about a failed one is over.
  else await resolveAlert(warehouse, { job: name, kind: 'export failed' });
}
