import { unknownKey } from './describe-problems.ts';
import type { Job } from './job.ts';
import { JobFileError } from './job-file-error.ts';

/**
 * Refuses `fields` for columns that the job's feed does not have, with a `JobFileError`: a mistyped column would
 * otherwise be read as before, and nobody would know why.
 */
export function checkFields(job: Job, columns: readonly string[]): void {
  const problems = Object.keys(job.fields)
    .filter((column) => !columns.includes(column))
    .map((column) => ({
      position: job.locate(['fields', column], true),
      field: ['fields', column],
      message: unknownKey(column, columns),
    }));
  if (problems.length > 0) throw new JobFileError(job.path, problems);
}
