import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import type { JobCommand, WorkersTable } from '../warehouse/database.ts';
import { forLog } from '../warehouse/errors.ts';
import { type DueJob, takeDueJobs } from '../warehouse/tables/schedules.ts';
import { beatWorker, registerWorker, stopWorker } from '../warehouse/tables/workers.ts';
import { usualRound, type WorkerContext } from './context.ts';
import { createExporter } from './export.ts';
import { loadDue } from './load-due.ts';
import { createDueMarker } from './mark-due.ts';

export interface WorkerSetting extends Omit<WorkerContext, 'fail' | 'workerId'> {
  readonly identity: Omit<
    Selectable<WorkersTable>,
    'worker_id' | 'started_at' | 'heartbeat_at' | 'stopped_at'
  >;
}

/**
 * Loads and exports what is due until it is stopped. Then commits the pages in flight, leaves its jobs to other workers, and
 * returns.
 *
 * Each round sends a heartbeat, looks for schedules that are due, and takes due jobs that no living worker has. One worker
 * loads a job at a time; if it dies, another one continues at the checkpoints.
 * @throws if it cannot continue: the key is refused, or the warehouse no longer answers
 */
export async function runWorker(setting: WorkerSetting): Promise<void> {
  const { log, identity, longestRound = usualRound } = setting;
  const failing = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const stop = AbortSignal.any([setting.stop, failing.signal]);
  const context: WorkerContext = {
    ...setting,
    workerId: randomUUID(),
    // Once stopped, it does not wait minutes for a warehouse that is down: its lease frees what it has.
    warehouse: setting.warehouse.patient({ log, signal: stop }),
    stop,
    fail(error) {
      failure ??= { error };
      failing.abort();
    },
  };
  const { workerId, warehouse } = context;
  await registerWorker(warehouse, { ...identity, worker_id: workerId });
  log.info({ worker: workerId, concurrency: identity.concurrency }, 'working');

  const loading = { sync: new Set<Promise<void>>(), others: new Set<Promise<void>>() };
  const placesOf = (command: JobCommand) => (command === 'sync' ? loading.sync : loading.others);
  const markDueJobs = createDueMarker(context);
  const makeExports = createExporter(context);
  let exporting: Promise<void> | undefined;

  /** Takes as many due jobs as it may run at a time. Syncs have places of their own, so they never wait for a backfill. */
  async function takeJobs(command: JobCommand): Promise<void> {
    const atMost = identity.concurrency - placesOf(command).size;
    if (atMost === 0 || stop.aborted) return;
    const mine = { workerId, leaseSeconds: context.leaseSeconds, atMost };
    for (const due of await takeDueJobs(warehouse, command, mine)) begin(due);
  }

  function begin(due: DueJob): void {
    const places = placesOf(due.command);
    const work = loadDue(context, due)
      .catch(context.fail)
      .finally(() => places.delete(work));
    places.add(work);
  }

  async function round(): Promise<void> {
    await beatWorker(warehouse, workerId);
    await markDueJobs();
    for (const command of ['sync', 'backfill', 'refresh'] as const) await takeJobs(command);
    exporting ??= makeExports()
      .catch((error) => log.warn(forLog(error), 'exports could not be made'))
      .finally(() => {
        exporting = undefined;
      });
  }

  const pause = Math.min(longestRound, (context.leaseSeconds * 1000) / 6);
  while (!stop.aborted) {
    await round().catch(context.fail);
    await sleep(pause, undefined, { signal: stop }).catch(() => {});
  }
  // While the pages in flight are committed, the jobs stay this worker's.
  const beating = setInterval(() => beatWorker(warehouse, workerId).catch(() => {}), pause);
  await Promise.all([...loading.sync, ...loading.others, exporting]);
  clearInterval(beating);
  await stopWorker(warehouse, workerId).catch((error) =>
    log.warn(forLog(error), 'the end of the worker could not be stored'),
  );
  if (failure) throw failure.error;
}
