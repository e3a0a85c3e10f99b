import type { Client } from '../api/client.ts';
import type { JobDefinition } from '../job/definition.ts';
import type { Job } from '../job/job.ts';
import type { Log } from '../log.ts';
import type { Ledger } from '../pipeline/request-budget.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/tables/database.ts';
import type { WorkerEvents } from './events.ts';

/** A connection with the service for one load. */
export interface Service extends AsyncDisposable {
  readonly client: Client;
  readonly ledger: Ledger;
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
  /** @throws JobFileError where the definition is of another version */
  readonly readDefinition: (job: string, definition: JobDefinition) => Job;
  /** Requests booked this month with the worker's key. */
  readonly usedRequests: () => Promise<number>;
  /** Ends the worker: what went wrong would go wrong with every other task, too. */
  readonly fail: (error: unknown) => void;
}
