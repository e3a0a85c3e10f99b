import { readJobs, type Session, today } from '../compose.ts';
import { aboutExamples, jobFilesIn, typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes, explain } from '../exit.ts';
import { type BrokenJob, readAllJobs, readJobsApart } from '../plan/list-jobs.ts';
import { printError } from '../terminal/print.ts';

/** The jobs of a command, and those of several whose files are wrong: they do not stop the others. */
export interface NamedJobs {
  readonly jobs: readonly Job[];
  readonly broken: BrokenJob[];
}

/**
 * Reads the jobs that a command names, or with `all` those of the folder `jobs`.
 * @throws ConfigError if it names none, or both; JobFileError if a named file is wrong, or all of the folder are
 */
export async function namedJobs(
  session: Session,
  names: readonly string[],
  { all = false }: { readonly all?: boolean },
): Promise<NamedJobs> {
  if (names.length > 0 && all) throw new ConfigError('Name jobs, or use --all, but not both.');
  if (names.length > 0) return { jobs: await readJobs(session, names), broken: [] };
  const paths = await jobFilesIn('jobs', process.cwd());
  if (all && paths.length > 0) {
    const read = await readJobsApart(paths, process.cwd(), today(session));
    if (read.jobs.length === 0) throw read.broken[0]!.error;
    return read;
  }
  const hint =
    paths.length === 0
      ? `gmsi init makes a first job file. ${aboutExamples(process.cwd())}`
      : `Jobs in jobs: ${paths.map(typedJob).join(', ')}.`;
  throw new ConfigError(all ? 'There is no job file in the folder jobs.' : 'Name a job, or use --all.', {
    hint,
  });
}

/**
 * Does the work for each job, one by one. If the file of one of several jobs turns out to be wrong, notes that and goes on.
 * @throws any other error, and that of the first file if all are wrong
 */
export async function forEachJob<Result>(
  { jobs, broken }: NamedJobs,
  work: (job: Job) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const job of jobs) {
    try {
      results.push(await work(job));
    } catch (error) {
      if (!(error instanceof JobFileError)) throw error;
      broken.push({ path: job.path, error });
    }
  }
  if (results.length === 0) throw broken[0]!.error;
  return results;
}

/** Says which job files are wrong. @returns the exit code */
export function reportBroken(broken: readonly BrokenJob[]): number {
  for (const { error } of broken) printError(explain(error, false));
  return broken.length > 0 ? exitCodes.doNotRetry : exitCodes.done;
}

/** Reads all jobs of the working directory; those whose files are wrong come apart. */
export function ownJobs(session: Session) {
  return readAllJobs(process.cwd(), today(session));
}
