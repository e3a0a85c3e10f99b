import type { Job, JobDefinition } from '../config/job.ts';
import type { StorageSettings } from '../export/target-s3.ts';
import type { LoadContext } from '../load/load.ts';
import type { Log } from '../log.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import type { JobFiles } from './job-files.ts';

/** What all loads and exports of a worker share. */
export interface WorkerContext {
  readonly process: KeptProcess;
  readonly warehouse: PatientWarehouse;
  readonly log: Log;
  readonly clock: () => Date;
  /** The time by the database's clock: schedules, pauses and exports are due by it, whatever a worker's own machine shows. */
  readonly databaseClock: () => Promise<Date>;
  /** The longest time between two rounds, in milliseconds: 1,000; shorter in tests. */
  readonly longestRound?: number;
  /** Fires when the worker is to stop; pages in flight are still committed. */
  readonly stop: AbortSignal;
  /**
   * The job files of this worker. Only these say what it exports and to which target, because other users may write to the
   * database.
   */
  readonly jobFiles: JobFiles;
  /** For exports to S3. */
  readonly storage: StorageSettings;
  readonly openService: (
    job: Job,
    command: JobCommand,
  ) => Promise<AsyncDisposable & Pick<LoadContext, 'client' | 'log'>>;
  /** @throws JobFileError if the definition is of another version */
  readonly readDefinition: (job: string, definition: JobDefinition) => Job;
  /** Requests booked this month with the worker's key. */
  readonly usedRequests: () => Promise<number>;
  /** Ends the worker, because every other load would fail, too. */
  readonly fail: (error: unknown) => void;
}
