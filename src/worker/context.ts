import type { Config } from '../config/environment.ts';
import type { Job, JobDefinition } from '../config/job.ts';
import type { Log } from '../log.ts';
import type { Budget } from '../rate/budget.ts';
import type { Client } from '../service/client.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand, LoadOutcome } from '../warehouse/database.ts';

/** A connection to the service for one load. */
export interface Service extends AsyncDisposable {
  readonly client: Client;
  readonly budget: Budget;
}

/** Everything that the tasks of a worker share. */
export interface WorkerContext {
  readonly warehouse: Warehouse;
  readonly log: Log;
  readonly clock: () => Date;
  /** Replaces the database's clock, for tests. */
  readonly databaseClock?: () => Promise<Date>;
  readonly leaseSeconds: number;
  /** Host, process and version, for `loads` and `workers`. */
  readonly runBy: string;
  /** Fires when the worker is to stop; pages in flight are still committed. */
  readonly stop: AbortSignal;
  readonly events: WorkerEvents;
  /**
   * The job files of this worker. Only these say what it exports and to which target, because other users may write to the
   * database.
   */
  readonly ownJobs: ReadonlyMap<string, Job>;
  /** For exports to S3. */
  readonly storage: Config['storage'];
  readonly openService: (job: Job, command: JobCommand) => Service;
  /** @throws JobFileError if the definition is of another version */
  readonly readDefinition: (job: string, definition: JobDefinition) => Job;
  /** Requests booked this month with the worker's key. */
  readonly usedRequests: () => Promise<number>;
  /** Ends the worker, because every other task would fail too. */
  readonly fail: (error: unknown) => void;
}

/** The job and command of a run. */
export interface OfJob {
  readonly job: string;
  readonly command: JobCommand;
}

/** The events of a worker, for metrics and alerts. */
export type WorkerEvent =
  | { readonly type: 'worker started'; readonly workerId: string; readonly concurrency: number }
  /** `error` is set if the worker cannot continue, for example because the key is refused. */
  | { readonly type: 'worker stopped'; readonly workerId: string; readonly error: unknown }
  | { readonly type: 'task started'; readonly task: string; readonly key: string | null }
  | {
      readonly type: 'task finished';
      readonly task: string;
      readonly key: string | null;
      readonly ms: number;
    }
  /** `isLast`: the task is not tried again. */
  | {
      readonly type: 'task failed';
      readonly task: string;
      readonly key: string | null;
      readonly error: Error;
      readonly isLast: boolean;
    }
  /** A job was due, or its pause is over. */
  | (OfJob & { readonly type: 'job begun'; readonly dueAt: Date })
  /** A job cannot run as defined; it is tried again when it is next due. */
  | (OfJob & { readonly type: 'job refused'; readonly error: Error })
  | (OfJob & { readonly type: 'run planned'; readonly runId: number })
  | (OfJob & { readonly type: 'run finished'; readonly runId: number; readonly outcome: LoadOutcome })
  /**
   * The month's requests are used up, or several windows (or attempts to plan the job) failed in a row; the job continues by
   * itself.
   */
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
  /** Tasks of workers without a heartbeat went back to the queue. */
  | { readonly type: 'tasks recovered'; readonly tasks: number };

export type WorkerObserver = (event: WorkerEvent) => void;

/** Sends a worker's events to its observers. */
export interface WorkerEvents {
  /** @returns a function that ends the subscription */
  subscribe(observer: WorkerObserver): () => void;
  emit(event: WorkerEvent): void;
}

/** @param onBroken called if an observer throws; the other observers and the worker continue */
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
