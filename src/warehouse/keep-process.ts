import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import type { Warehouse } from './connect.ts';
import { forLog } from './errors.ts';
import {
  beatProcess,
  forgetProcesses,
  type Owner,
  type ProcessIdentity,
  stopProcess,
} from './tables/processes.ts';

/** A process that is registered and sends heartbeats until it is disposed. */
export type KeptProcess = Owner & AsyncDisposable;

/** Registers a command that owns something, and sends a heartbeat every sixth of the lease, so that a few beats may fail. */
export async function keepProcess(
  warehouse: Warehouse,
  about: Pick<ProcessIdentity, 'command' | 'run_by' | 'version'>,
  { leaseSeconds, log }: { readonly leaseSeconds: number; readonly log: Log },
): Promise<KeptProcess> {
  const processId = randomUUID();
  const identity = { ...about, process_id: processId, key_fingerprint: null, concurrency: null };
  await forgetProcesses(warehouse);
  await beatProcess(warehouse, identity);
  const heart = setInterval(
    () =>
      beatProcess(warehouse.plain, identity).catch((error) =>
        log.warn(forLog(error), 'the heartbeat did not reach the warehouse'),
      ),
    (leaseSeconds * 1000) / 6,
  );
  return {
    processId,
    leaseSeconds,
    async [Symbol.asyncDispose]() {
      clearInterval(heart);
      await stopProcess(warehouse.plain, processId).catch((error) =>
        log.warn(forLog(error), 'the end of the process could not be stored'),
      );
    },
  };
}
