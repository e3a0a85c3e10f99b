import type { Temporal } from 'temporal-polyfill';
import { jobFilesIn } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { jobFromDefinition, readJob } from '../config/read-job.ts';
import { ConfigError } from '../errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { storedJobs } from '../warehouse/tables/schedules.ts';

/** A job file that cannot be read, or that names something that does not exist. */
export interface BrokenJob {
  readonly path: string;
  readonly error: Error;
}

/** Reads all job files in `jobs/`. */
export async function readAllJobs(cwd: string, today: Temporal.PlainDate) {
  return readJobsApart(await jobFilesIn('jobs', cwd), cwd, today);
}

/** Reads job files by name or path, each on its own, so that a broken one hides no other. */
export async function readJobsApart(names: readonly string[], cwd: string, today: Temporal.PlainDate) {
  const jobs: Job[] = [];
  const broken: BrokenJob[] = [];
  const read = await Promise.allSettled(names.map((name) => readJob(name, today, cwd)));
  for (const [index, one] of read.entries()) {
    if (one.status === 'fulfilled') jobs.push(one.value);
    else broken.push({ path: names[index]!, error: one.reason as Error });
  }
  return { jobs, broken };
}

/**
 * Returns the jobs whose files are known here, and those that others have stored for workers. A stored job of another version
 * of the program is omitted, because nobody here can read it.
 */
export async function withStoredJobs(
  db: Warehouse,
  files: readonly Job[],
  today: Temporal.PlainDate,
): Promise<Job[]> {
  const known = new Set(files.map(({ name }) => name));
  const stored = (await storedJobs(db)).filter(({ job }) => !known.has(job));
  const read = ({ job, definition }: (typeof stored)[number]) => {
    try {
      return jobFromDefinition(job, definition, today);
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  };
  return [...files, ...stored.flatMap(read)];
}
