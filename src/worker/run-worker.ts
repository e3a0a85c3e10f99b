import { setTimeout as sleep } from 'node:timers/promises';
import { shared } from '../in-time.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { forLog } from '../warehouse/errors.ts';
import { keepProcess } from '../warehouse/keep-process.ts';
import type { ProcessIdentity } from '../warehouse/tables/processes.ts';
import { type DueJob, takeDueJobs, wantedLoads } from '../warehouse/tables/schedules.ts';
import type { WorkerContext } from './context.ts';
import { createExporter } from './export.ts';
import { loadDue } from './load-due.ts';
import { createDueMarker } from './mark-due.ts';

export interface WorkerSetting extends Omit<WorkerContext, 'fail' | 'process' | 'warehouse'> {
  readonly warehouse: Warehouse;
  readonly identity: Omit<ProcessIdentity, 'process_id'> & { readonly concurrency: number };
  readonly leaseSeconds: number;
}

interface LoadUnderWay {
  readonly job: Pick<DueJob, 'job' | 'command'>;
  readonly work: Promise<void>;
  /** Ends this load alone. */
  readonly end: AbortController;
}

const nameOf = ({ job, command }: Pick<DueJob, 'job' | 'command'>) => JSON.stringify([job, command]);

/**
 * Loads and exports what is due until it is stopped. Then commits the pages in flight, leaves its jobs to other workers, and
 * returns.
 *
 * Each round sends a heartbeat, looks for schedules that are due, and takes due jobs that no living worker has: only those that
 * its job files name, or all if it has none. One worker loads a job at a time; if it dies, another one continues at the
 * checkpoints. A load goes on only while its job is due and not paused by an operator.
 * @throws if it cannot continue: the key is refused, or the warehouse no longer answers
 */
export async function runWorker(setting: WorkerSetting): Promise<void> {
  const { log, leaseSeconds, jobFiles, longestRound = 1_000 } = setting;
  const failing = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const stop = AbortSignal.any([setting.stop, failing.signal]);
  // Once stopped, it does not wait minutes for a warehouse that is down: its lease frees what it has.
  const warehouse = setting.warehouse.patient({ log, signal: stop });
  await jobFiles.register(warehouse);
  const { running } = jobFiles;
  const identity = { ...setting.identity, jobs: running && [...running] };
  await using process = await keepProcess(warehouse, identity, {
    leaseSeconds,
    log,
    onRestore: () => jobFiles.register(warehouse),
  });
  const context: WorkerContext = {
    ...setting,
    process,
    warehouse,
    stop,
    fail(error) {
      // Once stopped, it repeats nothing, so that a connection that breaks is no reason to fail: what it has is free with its
      // end.
      if (setting.stop.aborted)
        return log.debug(forLog(error), 'the worker was stopped while it asked the warehouse');
      failure ??= { error };
      failing.abort();
    },
  };
  const { processId } = process;
  log.info({ worker: processId, concurrency: identity.concurrency, jobs: running ?? 'all' }, 'working');

  /** The loads under way, by job and command. */
  const loading = { sync: new Map<string, LoadUnderWay>(), others: new Map<string, LoadUnderWay>() };
  const underWay = () => [...loading.sync.values(), ...loading.others.values()];
  const placesOf = (command: JobCommand) => (command === 'sync' ? loading.sync : loading.others);
  const markDueJobs = createDueMarker(context);
  const makeExports = createExporter(context);
  const exportDue = shared(() =>
    makeExports().catch((error) => log.warn(forLog(error), 'exports could not be made')),
  );
  // Beside the rounds, because a file system may not answer.
  const readFiles = shared(() =>
    jobFiles
      .readAgain(warehouse, process)
      .catch((error) => log.warn(forLog(error), 'the job files could not be read again')),
  );
  let exporting: Promise<void> | undefined;
  let reading: Promise<void> | undefined;

  /** Takes as many due jobs as it may run at a time. Syncs have places of their own, so they never wait for a backfill. */
  async function takeJobs(command: JobCommand, now: Date): Promise<void> {
    const places = placesOf(command);
    const atMost = identity.concurrency - places.size;
    if (atMost <= 0 || stop.aborted) return;
    const mine = { processId, leaseSeconds, atMost, now };
    // A job whose load ends meanwhile may still be among those that the warehouse says it has.
    const before = new Set(places.keys());
    for (const due of await takeDueJobs(warehouse, command, mine))
      if (!before.has(nameOf(due)) && !places.has(nameOf(due))) begin(due);
  }

  function begin(due: DueJob): void {
    const places = placesOf(due.command);
    const end = new AbortController();
    const work = loadDue({ ...context, stop: AbortSignal.any([stop, end.signal]) }, due)
      .catch(context.fail)
      .finally(() => places.delete(nameOf(due)));
    places.set(nameOf(due), { job: due, work, end });
  }

  /** Ends the loads that nobody wants any more. They commit the pages in flight; their windows keep their checkpoints. */
  async function endUnwanted(): Promise<void> {
    const loads = underWay().filter(({ end }) => !end.signal.aborted);
    if (loads.length === 0) return;
    const wanted = new Set((await wantedLoads(warehouse, processId)).map(nameOf));
    for (const { job: of, end } of loads) {
      if (wanted.has(nameOf(of))) continue;
      const { job, command } = of;
      log.info({ job, command }, 'a load ends: its job was stopped, paused, removed or taken over');
      end.abort();
    }
  }

  async function round(): Promise<void> {
    // After a restore, a job would have to name a process that the warehouse does not know.
    await process.beat();
    if (jobFiles.isDue()) reading = readFiles();
    const now = await context.databaseClock();
    // First, so that a schedule that is due now does not make a stopped load wanted again.
    await endUnwanted();
    await markDueJobs(now);
    for (const command of ['sync', 'backfill', 'refresh'] as const) await takeJobs(command, now);
    exporting = exportDue();
  }

  const pause = Math.min(longestRound, (leaseSeconds * 1000) / 6);
  while (!stop.aborted) {
    await round().catch(context.fail);
    await sleep(pause, undefined, { signal: stop }).catch(() => {});
  }
  await Promise.all([...underWay().map(({ work }) => work), exporting]);
  // A file system that does not answer must not keep this worker's jobs from the others.
  await Promise.race([reading, sleep(1000, undefined, { ref: false })]);
  if (failure) throw failure.error;
}
