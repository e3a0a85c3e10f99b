import type { Transaction } from 'kysely';
import { cutRefusedWindows } from '../plan/plan-windows.ts';
import type { Database, RunsTable } from '../warehouse/database.ts';
import { resolveAlert } from '../warehouse/tables/alerts.ts';
import { forgetPauses, readDefinition } from '../warehouse/tables/jobs.ts';
import {
  addTasks,
  countLabelled,
  countOpenOfRun,
  queueWindows,
  withdrawLabelled,
} from '../warehouse/tables/queue.ts';
import { finishRun, liveFailures, type Run, readRun, takeLiveSeries } from '../warehouse/tables/runs.ts';
import { countByState } from '../warehouse/tables/windows.ts';
import type { WorkerContext } from './context.ts';
import type { Parts } from './parts.ts';
import { drainTasks, exportTask, liveTasks, type RunPayload, runLabel, tendTask } from './queue.ts';

/**
 * The most windows of one run that are queued at a time; the others wait in gmsi.windows. So runs take turns, the queue stays
 * short, and pausing or reversing a run withdraws only a few tasks.
 */
const queuedAtMost = 500;

/** Seconds until a run is tended again: while it has tasks, and while other loads have its windows. */
const again = { busy: 1, waiting: 3 };

/** Keeps tasks of a run queued; ends it once nothing is left to do. */
export async function tend(context: WorkerContext, parts: Parts, { run: runId }: RunPayload): Promise<void> {
  const { warehouse, leaseSeconds } = context;
  const next = await warehouse.transaction().execute(async (trx) => {
    const run = await readRun(trx, runId, true);
    if (!run || run.finishedAt) return { is: 'over' as const };
    if (!(await readDefinition(trx, run.job))) {
      await finishRun(trx, runId, 'failed', 'The job was removed from gmsi.jobs.');
      await withdrawLabelled(trx, runLabel(runId));
      return { is: 'over' as const };
    }
    const step = await supply(trx, run, leaseSeconds);
    if (step.after !== undefined) await addTasks(trx, [tendTask(runId, step.after)]);
    return { is: step.after === undefined ? ('empty' as const) : ('supplied' as const), run };
  });
  if (next.is !== 'empty') return;
  const part = await parts.peek(runId);
  if (await cutRefusedWindows(warehouse, next.run.scope, part ? part.cutRounds++ : 0, context)) {
    await addTasks(warehouse, [tendTask(runId)]);
    return;
  }
  await end(context, next.run);
}

/** @returns the seconds after which to tend the run again; `undefined` if nothing is left to do */
async function supply(
  trx: Transaction<Database>,
  run: Run,
  leaseSeconds: number,
): Promise<{ after?: number }> {
  const { runId, scope, command, startedAt, newestFirst } = run;
  const waiting = await countLabelled(trx, runLabel(runId));
  const since = { startedAt, newestFirst, leaseSeconds };
  const room = queuedAtMost - waiting;
  const queued = room > 0 ? await queueWindows(trx, scope, since, drainTasks(runId, command), room) : 0;
  if (waiting + queued > 0) return { after: again.busy };
  // Free windows that could not be queued are in another run's queue.
  const { free, held } = await countOpenOfRun(trx, scope, since);
  if (free + held > 0) return { after: again.waiting };
  const series = await takeLiveSeries(trx, runId);
  if (series.length === 0) return {};
  await addTasks(trx, liveTasks(runId, command, series));
  return { after: again.busy };
}

/** Reads the stored definition as it is, without parsing it, because another version of the program may have stored it. */
async function hasExports(trx: Transaction<Database>, job: string): Promise<boolean> {
  const definition = await readDefinition(trx, job);
  return Array.isArray(definition?.exports) && definition.exports.length > 0;
}

async function end(context: WorkerContext, { runId, scope, job, command, startedAt }: Run): Promise<void> {
  const { warehouse, leaseSeconds, log, events } = context;
  const outcome = await warehouse.transaction().execute(async (trx) => {
    // More windows may have been planned for the run in the meantime.
    const run = await readRun(trx, runId, true);
    if (!run || run.finishedAt) return undefined;
    const left = await countOpenOfRun(trx, run.scope, { startedAt: run.startedAt, leaseSeconds });
    if (left.free + left.held > 0 || run.startedAt > startedAt) {
      await addTasks(trx, [tendTask(runId)]);
      return undefined;
    }
    const { failed, refused } = await countByState(trx, scope);
    const isWhole = failed + refused + (await liveFailures(trx, runId)) === 0;
    const outcome: RunsTable['outcome'] = isWhole ? 'done' : 'incomplete';
    await finishRun(trx, runId, outcome, null);
    await forgetPauses(trx, { job, command });
    if (await hasExports(trx, job)) await addTasks(trx, [exportTask(job)]);
    // The job has no exports any more, so an alert about a failed one is over.
    else await resolveAlert(trx, { job, kind: 'export failed' });
    return outcome;
  });
  if (!outcome) return;
  log.info({ job, command, run: runId, outcome }, 'run finished');
  events.emit({ type: 'run finished', job, command, runId, outcome });
}
