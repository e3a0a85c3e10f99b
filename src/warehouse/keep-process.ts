import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import type { PatientWarehouse, Warehouse } from './connect.ts';
import { forLog } from './errors.ts';
import { migrationStatus } from './migrate.ts';
import {
  beatProcess,
  forgetProcesses,
  type Owner,
  type ProcessIdentity,
  registerProcess,
  stopProcess,
  storeJobsOf,
} from './tables/processes.ts';

/** A process that is registered and sends heartbeats until it is disposed. */
export interface KeptProcess extends Owner, AsyncDisposable {
  /** Host, process and version. */
  readonly runBy: string;
  /**
   * Sends a heartbeat now; registers the process again if the warehouse does not know it, as after a restore.
   * @throws ConfigError once a newer program has migrated the warehouse
   */
  beat(): Promise<void>;
  /**
   * How often it has sent no heartbeat for half of the lease, now included: suspended, or with an unreachable warehouse. While
   * this stays the same, nobody can have taken what the process owns.
   */
  readonly silences: number;
  /** Says which jobs a worker runs from now on, also after a restore; `null` for every job. */
  run(jobs: readonly string[] | null): Promise<void>;
  /** Does something else with each heartbeat, until the returned function is called. */
  withEachBeat(work: (warehouse: Warehouse) => Promise<unknown>): () => void;
}

/**
 * Registers a process that owns something, and sends a heartbeat every sixth of the lease, so that a few beats may fail.
 * @throws ConfigError if a newer program has migrated the warehouse
 * @param onRestore called if the warehouse no longer knows the process, before that is registered again; may be called twice
 */
export async function keepProcess(
  warehouse: PatientWarehouse,
  about: Omit<ProcessIdentity, 'process_id'>,
  {
    leaseSeconds,
    log,
    onRestore,
  }: { readonly leaseSeconds: number; readonly log: Log; readonly onRestore?: () => Promise<void> },
): Promise<KeptProcess> {
  const processId = randomUUID();
  const beside = new Set<(warehouse: Warehouse) => Promise<unknown>>();
  let identity: ProcessIdentity = { ...about, process_id: processId };
  await forgetProcesses(warehouse);
  let lastBeat = now();
  await registerProcess(warehouse, identity);
  await migrationStatus(warehouse).catch(async (error) => {
    // Or it would count as alive until its lease is over.
    await stopProcess(warehouse.plain, processId).catch(() => {});
    throw error;
  });
  let silencesOver = 0;
  let beating: Promise<void> | undefined;

  const isSilent = () => since(lastBeat) >= (leaseSeconds * 1000) / 2;

  async function beat(by: Warehouse): Promise<void> {
    const sentAt = now();
    if (!(await beatProcess(by, processId))) {
      // Comes first, so that it is done again if it fails: the process is listed only after it.
      await onRestore?.();
      if (await registerProcess(by, identity))
        log.warn('the warehouse does not know this process, as after a restore; it is registered again');
    }
    if (isSilent()) silencesOver++;
    lastBeat = sentAt;
  }

  const heart = setInterval(
    () => {
      beating ??= Promise.all([beat(warehouse.plain), ...[...beside].map((work) => work(warehouse.plain))])
        .then(() => {})
        .catch((error) => log.warn(forLog(error), 'the heartbeat did not reach the warehouse'))
        .finally(() => {
          beating = undefined;
        });
    },
    (leaseSeconds * 1000) / 6,
  );
  return {
    processId,
    leaseSeconds,
    runBy: about.run_by,
    async beat() {
      await migrationStatus(warehouse);
      await beat(warehouse);
    },
    get silences() {
      return silencesOver + (isSilent() ? 1 : 0);
    },
    async run(jobs) {
      identity = { ...identity, jobs: jobs && [...jobs] };
      await storeJobsOf(warehouse, { processId }, jobs);
    },
    withEachBeat(work) {
      beside.add(work);
      return () => beside.delete(work);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(heart);
      await beating;
      await stopProcess(warehouse.plain, processId).catch((error) =>
        log.warn(forLog(error), 'the end of the process could not be stored'),
      );
    },
  };
}

/** Reads two clocks: the monotonic one stops while a machine sleeps, and the wall clock can be set back. */
function now() {
  return { monotonic: performance.now(), wall: Date.now() };
}

function since(then: ReturnType<typeof now>): number {
  const { monotonic, wall } = now();
  return Math.max(monotonic - then.monotonic, wall - then.wall);
}
