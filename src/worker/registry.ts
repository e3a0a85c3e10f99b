import type { Selectable } from 'kysely';
import type { WorkersTable } from '../warehouse/database.ts';
import { forLog } from '../warehouse/errors.ts';
import { unlockAbandoned } from '../warehouse/tables/queue.ts';
import { beatWorker, registerWorker, stopWorker } from '../warehouse/tables/workers.ts';
import type { WorkerContext } from './context.ts';
import type { Parts } from './parts.ts';

export type WorkerIdentity = Pick<
  Selectable<WorkersTable>,
  'worker_id' | 'run_by' | 'version' | 'key_fingerprint' | 'concurrency'
>;

/** The longest time between two heartbeats, in milliseconds. */
const longestBeat = 1_000;

/**
 * Lists a worker and keeps it listed by its heartbeat. Each beat also cleans up: tasks of workers that have ended go back to
 * the queue (graphile-worker would wait for 4 hours), and loads of runs that are over are closed.
 * @param inHand ids of the worker's present tasks
 */
export async function keepRegistered(
  context: WorkerContext,
  identity: WorkerIdentity,
  parts: Parts,
  inHand: ReadonlySet<string>,
): Promise<{ end(): Promise<void> }> {
  const { warehouse, leaseSeconds, log, events } = context;
  const { worker_id } = identity;
  await registerWorker(warehouse, identity);

  async function beat(): Promise<void> {
    await beatWorker(warehouse, worker_id);
    const tasks = await unlockAbandoned(warehouse, { workerId: worker_id, inHand }, leaseSeconds);
    if (tasks > 0) {
      log.warn({ tasks }, 'took over tasks that nobody was working on any more');
      events.emit({ type: 'tasks recovered', tasks });
    }
    await parts.closeFinished();
  }

  let beating: Promise<void> | undefined;
  const heart = setInterval(
    () => {
      beating ??= beat()
        .catch((error) => log.warn(forLog(error), "the worker's heartbeat did not reach the warehouse"))
        .finally(() => {
          beating = undefined;
        });
    },
    Math.min(longestBeat, (leaseSeconds * 1000) / 6),
  );
  return {
    async end() {
      clearInterval(heart);
      await beating;
      await stopWorker(warehouse, worker_id).catch((error) =>
        log.warn(forLog(error), 'the end of the worker could not be stored'),
      );
    },
  };
}
