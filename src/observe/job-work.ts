import { isDeepStrictEqual } from 'node:util';
import type { Job } from '../config/job.ts';
import { nextRun } from '../plan/next-run.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { type WorkersJob, workersByJob, workersJobs } from '../warehouse/questions/status.ts';
import { storedJobs } from '../warehouse/tables/schedules.ts';

/** Who runs a job, and when. */
export interface JobWork {
  /** True if the job file has a schedule. */
  readonly isScheduled: boolean;
  /** Living workers that run it, as scheduled or queued. */
  readonly workers: number;
  /** `null` if no worker runs it, or if nothing is scheduled or queued. */
  readonly nextRun: {
    readonly command: JobCommand;
    readonly at: Date;
    /** True if it has been due since then: it waits for a worker, or is being loaded. */
    readonly isDue: boolean;
  } | null;
  /** The process that has stored another version of the file, which workers run; else `null`. */
  readonly otherVersionBy: string | null;
}

/** Returns a function that says who runs a job, by what workers have stored. */
export async function readWork(db: Warehouse, leaseSeconds: number): Promise<(job: Job) => JobWork> {
  const all = await workersJobs(db, leaseSeconds);
  const workersOf = await workersByJob(db, leaseSeconds);
  const stored = new Map((await storedJobs(db)).map((one) => [one.job, one]));
  return ({ name, schedule, definition }) => {
    const known = all.filter(({ job }) => job === name);
    const workers = workersOf.get(name) ?? 0;
    const runs = workers === 0 ? [] : known.flatMap((one) => runOf(one) ?? []);
    const version = stored.get(name);
    // The definition of a file may have values that JSON changes.
    const isOther = version && !isDeepStrictEqual(JSON.parse(JSON.stringify(definition)), version.definition);
    return {
      isScheduled: schedule !== undefined,
      workers,
      nextRun: runs.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null,
      otherVersionBy: workers > 0 && isOther ? version.registered_by : null,
    };
  };
}

function runOf(one: WorkersJob): JobWork['nextRun'] {
  const at = one.due_at ?? one.resumes_at ?? readableRun(one);
  return at ? { command: one.command, at, isDue: one.due_at !== null } : null;
}

/** This machine may not know the time zone. */
function readableRun(one: WorkersJob): Date | undefined {
  try {
    return nextRun(one);
  } catch {
    return undefined;
  }
}
