import type { Job } from '../config/job.ts';
import type { JobDefinition } from '../config/read-job.ts';
import type { LoadEvent } from '../load/load.ts';
import type { Log } from '../log.ts';
import type { Budget } from '../rate/budget.ts';
import type { Client } from '../service/client.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand, LoadOutcome } from '../warehouse/database.ts';

/** A connection with the service for one load. */
export interface Service extends AsyncDisposable {
  readonly client: Client;
  readonly budget: Budget;
}

/** What the tasks of a worker are given. */
export interface WorkerContext {
  readonly warehouse: Warehouse;
  readonly log: Log;
  readonly clock: () => Date;
  /** What time it is by the database's clock, if that is not to be asked for. */
  readonly databaseClock?: () => Promise<Date>;
  readonly leaseSeconds: number;
  /** Host, process and version, for `loads` and `workers`. */
  readonly runBy: string;
  /** Fires when the worker is to stop in order: pages in hand are committed. */
  readonly stop: AbortSignal;
  readonly events: WorkerEvents;
  readonly openService: (job: Job, command: JobCommand) => Service;
  /** @throws JobFileError if the definition is of another version */
  readonly readDefinition: (job: string, definition: JobDefinition) => Job;
  /** Requests booked this month with the worker's key. */
  readonly usedRequests: () => Promise<number>;
  /** Ends the worker: what went wrong would go wrong with every other task, too. */
  readonly fail: (error: unknown) => void;
}

/** Which of a job's runs something is about. */
export interface OfJob {
  readonly job: string;
  readonly command: JobCommand;
}

/** What happens in a worker, as it happens; for metrics and alerts. */
export type WorkerEvent =
  | { readonly type: 'worker started'; readonly workerId: string; readonly concurrency: number }
  /** `error` is set if the worker cannot go on, such as by a key that is refused. */
  | { readonly type: 'worker stopped'; readonly workerId: string; readonly error: unknown }
  | { readonly type: 'task started'; readonly task: string; readonly key: string | null }
  | {
      readonly type: 'task finished';
      readonly task: string;
      readonly key: string | null;
      readonly ms: number;
    }
  /** `isLast`: it is not tried again. */
  | {
      readonly type: 'task failed';
      readonly task: string;
      readonly key: string | null;
      readonly error: Error;
      readonly isLast: boolean;
    }
  /** A job was due, or what had paused it is over. */
  | (OfJob & { readonly type: 'job begun'; readonly dueAt: Date })
  /** A job cannot be run as it is defined, and is left until it is due again. */
  | (OfJob & { readonly type: 'job refused'; readonly error: Error })
  | (OfJob & { readonly type: 'run planned'; readonly runId: number })
  | (OfJob & { readonly type: 'run finished'; readonly runId: number; readonly outcome: LoadOutcome })
  /** The month's requests are used up, or one window (or try to plan it) after the other failed; it goes on by itself. */
  | (OfJob & {
      readonly type: 'job paused';
      readonly because: 'budget' | 'failures';
      readonly error: Error;
      readonly resumesAt: Date;
    })
  | (OfJob & { readonly type: 'load opened'; readonly loadId: number })
  | (OfJob & { readonly type: 'load closed'; readonly loadId: number; readonly outcome: LoadOutcome })
  | (OfJob & {
      readonly type: 'window settled';
      readonly windowId: number;
      readonly loadId: number;
      readonly as: 'drained' | 'failed' | 'refused' | 'given back' | 'taken over';
      readonly error: unknown;
    })
  /** Tasks of workers that fell silent went back to the queue. */
  | { readonly type: 'tasks recovered'; readonly tasks: number }
  | { readonly type: 'load event'; readonly event: LoadEvent };

export type WorkerObserver = (event: WorkerEvent) => void;

/** Where a worker tells what happens, and others hear it. */
export interface WorkerEvents {
  /** @returns what ends the subscription */
  subscribe(observer: WorkerObserver): () => void;
  emit(event: WorkerEvent): void;
}

/** @param onBroken told of an observer that throws; the others, and the worker, are not disturbed by it */
export function createWorkerEvents(onBroken: (error: unknown) => void): WorkerEvents {
  const observers = new Set<WorkerObserver>();
  return {
    subscribe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
    emit(event) {
      for (const observer of observers) {
        try {
          observer(event);
        } catch (error) {
          onBroken(error);
        }
      }
    },
  };
}
