import { findJobFile } from './find-job-file.ts';
import type { Job } from './job.ts';
import { type JobFacts, parseJob } from './parse-job.ts';

/** What reading a job depends on besides its file. */
export interface JobContext extends JobFacts {
  /** The working directory: where a relative path starts, and where `jobs/` is looked for. */
  readonly cwd: string;
}

/**
 * Reads and checks the job file that a user names by path, or by its name in `jobs/`. Asks the service nothing.
 * Fails with a `ConfigError` where there is no such file, and with a `JobFileError` telling all that is wrong with it.
 */
export async function readJob(nameOrPath: string, { cwd, ...facts }: JobContext): Promise<Job> {
  return parseJob(await findJobFile(nameOrPath, cwd), facts);
}
